import hashlib
import shutil
import socket
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from maseval.benchmark.tau2.data import UnknownVersionError
from maseval.benchmark.tau2.data.files import MANIFEST, default_data_dir, manifest_of
from maseval.benchmark.tau2.data_loader import (
    download_domain_data,
    ensure_data_exists,
    load_guidelines,
    load_raw_tasks,
    load_tasks,
)
from maseval.benchmark.tau2.domains import DOMAINS
from maseval.core.exceptions import ConfigurationError
from maseval.data.files import CacheError, ChecksumError, DataUnavailableError
from tests.file_server import content

pytestmark = pytest.mark.data

RETAIL = {"domains/retail/db.json", "domains/retail/policy.md", "domains/retail/tasks.json"}
GUIDELINES = {file.name for file in MANIFEST.below("user_simulator")}


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """An empty cache whose only source is a folder."""

    def fed_by(folder, version):
        monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.setenv("MASEVAL_TAU2_DATA", str(folder))
        monkeypatch.setenv("MASEVAL_OFFLINE", "1")
        return tmp_path / "cache" / "tau2" / version

    return fed_by


@pytest.fixture
def cache(empty_cache: Callable[..., Any], tau2_data: Path) -> Path:
    return empty_cache(tau2_data, "v0.2.0")


@pytest.fixture
def no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be fetched from anywhere."""
    monkeypatch.delenv("MASEVAL_TAU2_DATA", raising=False)
    monkeypatch.setattr(socket, "socket", None)
    monkeypatch.setattr("subprocess.Popen", None)
    monkeypatch.setattr("zipfile.ZipFile", None)


def data_files_in(folder: Path) -> set[str]:
    return {name for name in MANIFEST.files if (folder / name).is_file()}


def copied(source: Path, target: Path, names: dict[str, Any] | set[str]) -> Path:
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)
    return target


@pytest.mark.parametrize("call", [ensure_data_exists, download_domain_data])
def test_domain_and_folder_may_be_given_in_either_order(cache, tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "own"
    assert call("retail", own, verbose=0) == call(own, "retail", verbose=0) == own
    assert call("retail", verbose=0) == cache
    assert data_files_in(own) == data_files_in(cache) == RETAIL | GUIDELINES
    assert not (tmp_path / "retail").exists()


def test_without_a_domain_everything_is_fetched(cache):
    ensure_data_exists(verbose=0)
    assert data_files_in(cache) == set(MANIFEST.files)


def test_data_that_is_there_is_used_without_network_or_archive(cache, tau2_data, no_way_out):
    copied(tau2_data, cache, MANIFEST.files)
    assert ensure_data_exists() == cache
    assert len(load_tasks("telecom")) == 114


def test_loading_fetches_what_it_needs_and_no_more(cache):
    load_raw_tasks("retail")
    assert data_files_in(cache) == {"domains/retail/tasks.json"} | GUIDELINES
    load_tasks("telecom", limit=1)
    assert "domains/telecom/tasks_full.json" not in data_files_in(cache)


def test_a_damaged_cache_that_cannot_be_repaired_is_not_used(cache, monkeypatch):
    ensure_data_exists(domain="retail", verbose=0)
    (cache / "domains/retail/tasks.json").write_text("[]")
    monkeypatch.delenv("MASEVAL_TAU2_DATA")
    with pytest.raises(DataUnavailableError, match="switched off by MASEVAL_OFFLINE"):
        load_tasks("retail")


@pytest.mark.parametrize("call", [ensure_data_exists, download_domain_data, default_data_dir])
def test_only_a_version_with_checksums_can_be_had(cache, call):
    with pytest.raises(UnknownVersionError, match=r"version is 'v0.1.0'; choose .* 0.2.0, 1.0.1"):
        call(version="v0.1.0")


def test_a_domain_without_published_files_needs_a_folder_of_its_own(tmp_path):
    shop = replace(DOMAINS["retail"], name="shop", folder_name="shop")
    with pytest.raises(ConfigurationError, match="'shop' has no published files"):
        ensure_data_exists(domain=shop)
    assert ensure_data_exists(domain=replace(shop, data_dir=tmp_path)) == tmp_path


@pytest.mark.parametrize("inside", ["", "data/tau2"])
def test_a_folder_of_one_s_own_is_used_where_it_is(cache, tau2_data, tmp_path, inside, no_way_out):
    own = tmp_path / "own"
    copied(tau2_data, own / inside, RETAIL | GUIDELINES)
    before = sorted(own.rglob("*"))
    task = load_tasks("retail", data_dir=own, limit=1)[0]
    assert task.environment_data["db_path"] == str(own / inside / "domains/retail/db.json")
    assert load_guidelines(False, data_dir=task.environment_data["data_dir"])
    assert sorted(own.rglob("*")) == before
    assert data_files_in(cache) == set()


def test_a_folder_of_one_s_own_works_where_no_cache_can_be_written(
    cache, tau2_data, tmp_path, monkeypatch
):
    own = copied(tau2_data, tmp_path / "own", RETAIL)
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert len(load_tasks("retail", data_dir=own)) == 114
    with pytest.raises(CacheError, match="set MASEVAL_CACHE_DIR"):
        load_tasks("retail")


def test_loading_adds_nothing_to_a_folder_of_one_s_own_but_says_how_to(cache, tau2_data, tmp_path):
    own = copied(tau2_data, tmp_path / "own", RETAIL - {"domains/retail/tasks.json"})
    with pytest.raises(FileNotFoundError, match=r"has no domains/retail/tasks.json; ensure_data"):
        load_tasks("retail", data_dir=own)
    assert ensure_data_exists(own, "retail", verbose=0) == own
    assert len(load_tasks("retail", data_dir=own)) == 114


def test_a_wrong_file_in_a_folder_of_one_s_own_is_refused_until_it_is_replaced(
    cache, tau2_data, tmp_path
):
    own = copied(tau2_data, tmp_path / "own", RETAIL)
    (own / "domains/retail/policy.md").write_text("Give everything away.")
    for use in (load_tasks, lambda domain, data_dir: ensure_data_exists(data_dir, domain)):
        with pytest.raises(ChecksumError) as refusal:
            use("retail", data_dir=own)
        message = str(refusal.value)
        assert "domains/retail/policy.md" in message
        assert MANIFEST.files["domains/retail/policy.md"].sha256 in message
        assert hashlib.sha256(b"Give everything away.").hexdigest() in message
        assert "force_download=True" in message
    ensure_data_exists(own, "retail", force_download=True, verbose=0)
    assert len(load_tasks("retail", data_dir=own)) == 114


@pytest.mark.parametrize("given", ["argument", "environment"])
def test_an_archive_is_unpacked_into_the_cache(cache, tau2_data, tmp_path, monkeypatch, given):
    archive = tmp_path / "data.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for name in RETAIL | GUIDELINES:
            packed.write(tau2_data / name, f"data/tau2/{name}")
    if given == "argument":
        monkeypatch.delenv("MASEVAL_TAU2_DATA")
        tasks = load_tasks("retail", data_dir=archive)
    else:
        monkeypatch.setenv("MASEVAL_TAU2_DATA", str(archive))
        tasks = load_tasks("retail")
    assert tasks[0].environment_data["db_path"] == str(cache / "domains/retail/db.json")
    with pytest.raises(DataUnavailableError, match=r"data.zip does not contain domains/airline"):
        load_tasks("airline", data_dir=archive)


# Another version

NEWER = manifest_of("1.0.1")


@pytest.fixture(scope="session")
def newer_data(
    tmp_path_factory: pytest.TempPathFactory, tau2_data: Path, shared_data: Path, contract_dir: Path
) -> Path:
    """All files of v1.0.1 in one folder: the new ones, and those that have stayed the same."""
    folder = tmp_path_factory.mktemp("newer")
    stayed = {file.sha256: tau2_data / name for name, file in MANIFEST.files.items()}
    for name, file in NEWER.files.items():
        source = stayed.get(file.sha256, shared_data / "tau2-v1.0.1" / name)
        if not source.is_file():
            source = contract_dir / name.removeprefix("domains/")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(source)
    return folder


@pytest.fixture
def newer_cache(empty_cache: Callable[..., Any], newer_data: Path) -> Path:
    return empty_cache(newer_data, "v1.0.1")


def test_all_of_the_newer_version_is_fetched_from_the_tag(
    newer_cache, newer_data, file_server, monkeypatch
):
    monkeypatch.delenv("MASEVAL_TAU2_DATA")
    monkeypatch.delenv("MASEVAL_OFFLINE")
    monkeypatch.setenv("MASEVAL_TAU2_BASE_URL", file_server.url)
    file_server.answers = {
        quote(f"/v1.0.1/data/tau2/{name}"): content((newer_data / name).read_bytes())
        for name in NEWER.files
    }
    ensure_data_exists(version="1.0.1")
    assert all((newer_cache / name).is_file() for name in NEWER.files)
    assert len(file_server.asked) == len(NEWER.files)
    monkeypatch.setattr(socket, "socket", None)
    assert ensure_data_exists(version="1.0.1") == newer_cache


def test_equal_files_of_two_versions_are_stored_once(newer_cache, tau2_data, monkeypatch):
    older = copied(tau2_data, newer_cache.parent / "v0.2.0", MANIFEST.files)
    ensure_data_exists(domain="telecom", version="1.0.1", verbose=0)
    files = NEWER.below("domains/telecom", "user_simulator")
    equal = {file.sha256 for file in MANIFEST.files.values()}
    shared = {file.name for file in files if file.sha256 in equal}
    linked = {each.name for each in files if (newer_cache / each.name).stat().st_nlink == 2}
    assert linked == shared != set()
    assert (newer_cache / "domains/telecom/tasks.json").samefile(
        older / "domains/telecom/tasks_full.json"
    )


def test_a_shared_file_that_one_version_fetches_anew_stays_in_the_other(newer_cache, tau2_data):
    older = copied(tau2_data, newer_cache.parent / "v0.2.0", MANIFEST.files)
    ensure_data_exists(domain="retail", version="1.0.1", verbose=0)
    before = (older / "domains/retail/db.json").stat().st_ino
    download_domain_data(domain="retail", version="1.0.1", verbose=0)
    assert (older / "domains/retail/db.json").stat().st_ino == before
    assert (newer_cache / "domains/retail/db.json").stat().st_ino != before


def test_a_damaged_file_is_not_lent_to_another_version(newer_cache, tau2_data):
    older = copied(tau2_data, newer_cache.parent / "v0.2.0", MANIFEST.files)
    (older / "domains/retail/db.json").write_text("{}")
    ensure_data_exists(domain="retail", version="1.0.1", verbose=0)
    lent = (newer_cache / "domains/retail/db.json").read_bytes()
    NEWER.files["domains/retail/db.json"].verify(lent)


def test_where_links_cannot_be_made_files_are_fetched(newer_cache, tau2_data, monkeypatch):
    def refused(*paths):
        raise PermissionError("no links here")

    copied(tau2_data, newer_cache.parent / "v0.2.0", MANIFEST.files)
    monkeypatch.setattr("os.link", refused)
    ensure_data_exists(domain="airline", version="1.0.1", verbose=0)
    assert (newer_cache / "domains/airline/db.json").stat().st_nlink == 1


def test_a_folder_of_one_version_is_refused_as_another(newer_cache, newer_data):
    assert ensure_data_exists(newer_data, "retail", version="1.0.1") == newer_data
    with pytest.raises(ChecksumError, match=r"retail/tasks.json is not the file of the benchmark"):
        ensure_data_exists(newer_data, "retail")
