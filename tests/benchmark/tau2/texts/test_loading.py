import json
import shutil
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.data import UnknownVersionError
from maseval.benchmark.tau2.texts import loading
from maseval.benchmark.tau2.texts.loading import (
    Edition,
    cached_texts,
    edition_of,
    load_texts,
    texts_at,
)
from maseval.benchmark.tau2.texts.texts import Texts, TextsError
from maseval.data.sources import FetchProgress, RepositorySource
from tests.file_server import FileServer, content

pytestmark = pytest.mark.data

AGENT = "src/tau2/agent/llm_agent.py"


@pytest.fixture(autouse=True)
def only_what_the_test_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("MASEVAL_OFFLINE", "MASEVAL_TAU2_DATA", "MASEVAL_TAU2_TEXTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def mirror(file_server: FileServer, tree: Callable[..., Any]) -> FileServer:
    """A server that has the invented tree under the tag."""
    file_server.answers = {f"/v1.0.1/{name}": content(c) for name, c in tree("1.0.1").items()}
    return file_server


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "tau2" / "v1.0.1" / "source"


def fetched(edition: Edition, root: Path, mirror: FileServer) -> Texts:
    source = RepositorySource(mirror.url, "v1.0.1", patience=30)
    return cached_texts(edition, root, [source], FetchProgress(0))


def test_the_source_files_are_fetched_once_and_kept_with_the_licence_and_the_texts(
    edition, root, mirror
):
    texts = fetched(edition, root, mirror)
    assert texts.sha256 == edition.sha256
    assert sorted(mirror.asked) == sorted(f"/v1.0.1/{name}" for name in edition.manifest.files)
    kept = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    assert kept - {".lock"} == {*edition.manifest.files, "texts.json"}
    mirror.asked.clear()
    assert fetched(edition, root, mirror) == texts
    assert mirror.asked == []


def test_texts_that_are_kept_need_neither_network_nor_source_files(
    edition, root, mirror, monkeypatch
):
    texts = fetched(edition, root, mirror)
    shutil.rmtree(root / "src")
    monkeypatch.setattr(socket, "socket", None)
    loading._read.cache_clear()
    assert cached_texts(edition, root, [], FetchProgress(0)) == texts


@pytest.mark.parametrize("damage", ["", "{", "null", "[" * 100_000, "{}", "x" * 5_000_000])
def test_damaged_texts_in_the_cache_are_made_again_from_the_files_beside_them(
    edition, root, mirror, damage
):
    texts = fetched(edition, root, mirror)
    (root / "texts.json").write_text(damage)
    mirror.asked.clear()
    assert fetched(edition, root, mirror) == texts
    assert mirror.asked == []
    assert json.loads((root / "texts.json").read_bytes())["version"] == "1.0.1"


def test_files_with_the_right_checksums_but_other_texts_are_refused(edition, root, mirror):
    other = edition._replace(sha256="0" * 64)
    with pytest.raises(TextsError, match=f"expected the SHA-256 {'0' * 64}, found"):
        fetched(other, root, mirror)
    assert not (root / "texts.json").exists()


# Named by the caller


def test_a_checkout_or_an_archive_of_the_original_may_be_named(edition, synthetic, tmp_path):
    tree = synthetic / "tree"
    archive = tmp_path / "tau2.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for file in (each for each in tree.rglob("*") if each.is_file()):
            packed.write(file, f"tau2-bench-1.0.1/{file.relative_to(tree)}")
    for path in (tree, archive):
        assert texts_at(path, edition).sha256 == edition.sha256
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("name", ["texts.json", "v1.0.1.json"])
def test_a_file_of_extracted_texts_may_be_named_or_its_folder(edition, expected, tmp_path, name):
    """As it was recorded: with more at the top than the texts."""
    path = tmp_path / name
    path.write_text(json.dumps({"commit": "abc", **expected("1.0.1")}))
    named = tmp_path if name.startswith("v") else path
    assert texts_at(named, edition).sha256 == edition.sha256


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            lambda t: t["prompts"].update(judge_system="Be kind."),
            "does not have the texts of v1.0.1",
        ),
        (lambda t: t.update(version="0.2.0"), "does not have the texts of v1.0.1"),
        (lambda t: t.update(format="maseval-tau2-texts/2"), "not a file of texts: its format"),
        (lambda t: t.pop("prompts"), "not a file of texts: 'prompts'"),
    ],
)
def test_a_file_of_other_texts_is_refused_by_name(edition, expected, tmp_path, change, complaint):
    texts = expected("1.0.1")
    change(texts)
    path = tmp_path / "texts.json"
    path.write_text(json.dumps(texts))
    with pytest.raises(TextsError, match=complaint) as refusal:
        texts_at(path, edition)
    assert str(path) in str(refusal.value)


def test_a_file_that_is_not_there_is_named(edition, tmp_path):
    with pytest.raises(TextsError, match=r"cannot read .*none\.json: No such file"):
        texts_at(tmp_path / "none.json", edition)


# The real versions


@pytest.mark.parametrize("version", ["0.2.0", "1.0.1"])
def test_the_recorded_texts_have_the_hash_that_is_known_in_advance(
    version, shared_data, monkeypatch
):
    recorded = shared_data / "tau2-texts"
    texts = load_texts(version, recorded)
    assert texts.version == version
    monkeypatch.setenv("MASEVAL_TAU2_TEXTS", str(recorded))
    assert load_texts(version) is texts
    files = json.loads((recorded / f"v{version}.json").read_text())["files"]
    assert files == {
        name: {"bytes": file.size, "sha256": file.sha256}
        for name, file in edition_of(version).manifest.files.items()
    }


def test_an_unknown_version_is_refused():
    with pytest.raises(UnknownVersionError, match=r"known: 0\.2\.0, 1\.0\.1"):
        load_texts("2.0.0")
