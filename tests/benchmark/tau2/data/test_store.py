import hashlib
import shutil
import socket
import zipfile
from dataclasses import replace

import pytest

from maseval.benchmark.tau2.data.files import (
    MANIFEST,
    CacheError,
    ChecksumError,
    DataUnavailableError,
)
from maseval.benchmark.tau2.data.store import (
    default_data_dir,
    download_domain_data,
    ensure_data_exists,
)
from maseval.benchmark.tau2.data_loader import load_guidelines, load_raw_tasks, load_tasks
from maseval.benchmark.tau2.domains import DOMAINS, UnknownDomainError
from maseval.core.exceptions import ConfigurationError

pytestmark = pytest.mark.data

RETAIL = {"domains/retail/db.json", "domains/retail/policy.md", "domains/retail/tasks.json"}
GUIDELINES = {file.name for file in MANIFEST.below("user_simulator")}


@pytest.fixture
def cache(tmp_path, monkeypatch, tau2_data):
    """An empty cache whose only source is a folder that has everything."""
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MASEVAL_TAU2_DATA", str(tau2_data))
    monkeypatch.setenv("MASEVAL_OFFLINE", "1")
    return tmp_path / "cache" / "tau2" / "v0.2.0"


@pytest.fixture
def no_way_out(monkeypatch):
    """Nothing can be fetched from anywhere."""
    monkeypatch.delenv("MASEVAL_TAU2_DATA", raising=False)
    monkeypatch.setattr(socket, "socket", None)
    monkeypatch.setattr("subprocess.Popen", None)
    monkeypatch.setattr("zipfile.ZipFile", None)


def data_files_in(folder):
    return {name for name in MANIFEST.files if (folder / name).is_file()}


def copied(source, target, names):
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)
    return target


def test_the_cache_lies_where_the_environment_says(cache, monkeypatch):
    assert default_data_dir() == cache
    monkeypatch.delenv("MASEVAL_CACHE_DIR")
    assert default_data_dir().parts[-3:] == ("maseval", "tau2", "v0.2.0")


def test_one_domain_is_fetched_with_the_guidelines_of_the_customer(cache):
    assert ensure_data_exists(domain="retail") == cache
    assert data_files_in(cache) == RETAIL | GUIDELINES


def test_without_a_domain_everything_is_fetched(cache):
    ensure_data_exists(verbose=0)
    assert data_files_in(cache) == set(MANIFEST.files)


def test_both_telecom_domains_share_their_files(cache):
    ensure_data_exists(domain="telecom-workflow", verbose=0)
    assert data_files_in(cache) == {file.name for file in MANIFEST.below("domains/telecom")} | (
        GUIDELINES
    )


def test_data_that_is_there_is_used_without_network_or_archive(cache, tau2_data, no_way_out):
    copied(tau2_data, cache, MANIFEST.files)
    assert ensure_data_exists() == cache
    assert len(load_tasks("telecom")) == 114


def test_loading_fetches_what_it_needs_and_no_more(cache):
    load_raw_tasks("retail")
    assert data_files_in(cache) == {"domains/retail/tasks.json"} | GUIDELINES
    load_tasks("telecom", limit=1)
    assert "domains/telecom/tasks_full.json" not in data_files_in(cache)


def test_a_damaged_cache_is_repaired(cache):
    ensure_data_exists(domain="retail", verbose=0)
    (cache / "domains/retail/tasks.json").write_text("[]")
    assert len(load_tasks("retail")) == 114


def test_a_damaged_cache_that_cannot_be_repaired_is_not_used(cache, monkeypatch):
    ensure_data_exists(domain="retail", verbose=0)
    (cache / "domains/retail/tasks.json").write_text("[]")
    monkeypatch.delenv("MASEVAL_TAU2_DATA")
    with pytest.raises(DataUnavailableError, match="switched off by MASEVAL_OFFLINE"):
        load_tasks("retail")


def test_downloading_replaces_what_is_there(cache):
    ensure_data_exists(domain="retail", verbose=0)
    before = (cache / "domains/retail/db.json").stat().st_ino
    assert download_domain_data(domain="retail", verbose=0) == cache
    assert (cache / "domains/retail/db.json").stat().st_ino != before


def test_only_the_version_with_checksums_can_be_downloaded(cache):
    with pytest.raises(ConfigurationError, match=r"version is 'v0.1.0'; choose 'v0.2.0'"):
        download_domain_data(version="v0.1.0")


@pytest.mark.parametrize("call", [ensure_data_exists, download_domain_data])
def test_an_unknown_domain_is_refused(call):
    with pytest.raises(UnknownDomainError, match="Invalid domain 'bank'"):
        call(domain="bank")


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


def test_a_folder_of_one_s_own_is_hashed_once(cache, tau2_data, tmp_path, monkeypatch):
    own = copied(tau2_data, tmp_path / "own", RETAIL)
    load_tasks("retail", data_dir=own)
    monkeypatch.setattr(hashlib, "file_digest", None)
    load_tasks("retail", data_dir=own)


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


def test_a_new_folder_can_be_filled(cache, tmp_path):
    own = tmp_path / "not" / "yet"
    assert ensure_data_exists(own, "airline", verbose=0) == own
    assert len(load_tasks("airline", data_dir=own)) == 50


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
