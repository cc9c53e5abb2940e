import socket
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from maseval.data.files import DataFile, DataWheel, Manifest, Recipe, SourceError
from maseval.data.sources import (
    FetchProgress,
    LocalSource,
    PackageIndexSource,
    RepositorySource,
    default_sources,
)
from tests.data.conftest import DB, EVERYTHING, FILES, POLICY, data_file
from tests.file_server import content, dripping, silence, status

SILENT = FetchProgress(0)
DB_PATH = "/v1/data/shop/domains/shop/db.json"
POLICY_PATH = "/v1/data/shop/domains/shop/policy.md"


def repository(
    url: str, version: str = "v1", inside: str = "data/shop", **settings: int
) -> RepositorySource:
    return RepositorySource(url, version, inside=inside, **{"patience": 60, **settings})


def fetched(source: tuple, files: list[DataFile] = FILES) -> dict[str, bytes]:
    return {file.name: data for file, data in source.fetch(files, SILENT)}


# The original's repository


def test_the_tag_delivers_exactly_the_files_it_is_asked_for(file_server):
    file_server.answers = {DB_PATH: content(DB), POLICY_PATH: content(POLICY)}
    assert fetched(repository(file_server.url)) == EVERYTHING
    assert file_server.asked == [DB_PATH, POLICY_PATH]


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (status(404), "db.json answered 404 Not Found"),
        (status(403), "db.json answered 403"),
        (content(DB[:5], promised=len(DB)), f"broke off after 5 of {len(DB)} bytes"),
        (content(DB[:5]), f"broke off after 5 of {len(DB)} bytes"),
        (content(DB + b"more"), "longer than the 14 bytes"),
        (status(429, retry_after=3600), "db.json answered 429"),
    ],
)
def test_a_wrong_answer_ends_the_attempt_at_once_and_is_told(file_server, answer, complaint):
    file_server.answers = {DB_PATH: answer, POLICY_PATH: content(POLICY)}
    with pytest.raises(SourceError, match=complaint):
        fetched(repository(file_server.url))
    assert file_server.asked == [DB_PATH]


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (silence(30), "not answered within 1 s"),
        (dripping(DB, pause=30), "not answered within 1 s"),
    ],
)
def test_a_server_that_keeps_us_waiting_is_given_up(file_server, answer, complaint):
    file_server.answers = {DB_PATH: answer}
    with pytest.raises(SourceError, match=complaint):
        fetched(repository(file_server.url, patience=1))


def test_a_server_that_is_not_there_is_unreachable():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(SourceError, match=r"unreachable: .*refused"):
        fetched(repository(f"http://127.0.0.1:{port}"))


def test_odd_characters_of_a_name_are_escaped_in_its_address(file_server):
    file = data_file("domains/shop/a + b (c)%.json", DB)
    path = "/v1.0.1/data/shop/domains/shop/a%20%2B%20b%20%28c%29%25.json"
    file_server.answers = {path: content(DB)}
    assert fetched(repository(file_server.url, version="v1.0.1"), [file]) == {file.name: DB}


# A folder or an archive


@pytest.mark.parametrize("inside", ["", "data/shop/"])
def test_a_folder_may_have_the_files_with_or_without_the_original_s_path(tmp_path, inside):
    for name, data in EVERYTHING.items():
        path = tmp_path / inside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert fetched(LocalSource(tmp_path, inside="data/shop")) == EVERYTHING


def zip_of(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize("inside", ["", "data/shop/", "shop-1.0/data/shop/"])
def test_an_archive_may_have_any_folder_around_the_files(tmp_path, inside):
    members = {inside + name: data for name, data in EVERYTHING.items()}
    assert fetched(LocalSource(zip_of(tmp_path / "data.zip", members))) == EVERYTHING


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda path: None, "no such file or folder"),
        (lambda path: path.write_bytes(b"neither"), "not a zip or wheel archive"),
        (lambda path: path.mkdir(), "cannot read .*db.json: No such file"),
        (lambda path: zip_of(path, {"readme": b""}), "does not contain domains/shop/db.json"),
        (lambda path: path.write_bytes(damaged_zip(path)), "is damaged"),
    ],
)
def test_a_local_source_says_what_is_wrong_with_it(tmp_path, make, complaint):
    path = tmp_path / "given"
    make(path)
    with pytest.raises(SourceError, match=complaint):
        fetched(LocalSource(path))


def damaged_zip(path: Path) -> str:
    whole = zip_of(path, EVERYTHING).read_bytes()
    return whole.replace(DB, b"?" * len(DB))


# A package index


WHEEL_FOLDER = "shop_data/files/"


def without_final_newline(data: bytes) -> bytes:
    return data.removesuffix(b"\n")


RECIPES = {
    "domains/shop/db.json": Recipe("domains/shop/db.txt", without_final_newline),
    "domains/shop/policy.md": Recipe("domains/shop/policy.md", without_final_newline),
}


def shop_wheel(requirement: str = "shop-data==1.0", recipes: dict[str, Any] = RECIPES) -> DataWheel:
    return DataWheel(requirement, 1_000, WHEEL_FOLDER, recipes)


@pytest.fixture
def local_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip set up to know one made-up wheel, and no network."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    zip_of(
        folder / "shop_data-1.0-py3-none-any.whl",
        {
            WHEEL_FOLDER + "domains/shop/db.txt": DB + b"\n",
            WHEEL_FOLDER + "domains/shop/policy.md": POLICY,
            "shop_data-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: shop-data\n"
            b"Version: 1.0\nRequires-Python: >=99\n",
            "shop_data-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: py3-none-any\n",
            "shop_data-1.0.dist-info/RECORD": b"",
        },
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_the_members_of_a_wheel_become_files_by_their_recipes(local_index):
    assert fetched(PackageIndexSource(shop_wheel("shop-data==1.0"))) == EVERYTHING


def test_what_pip_says_about_a_wheel_it_cannot_find_is_told(local_index):
    with pytest.raises(SourceError, match=r"Could not find a version .* shop-data==2.0"):
        fetched(PackageIndexSource(shop_wheel("shop-data==2.0")))


def test_a_recipe_that_fails_is_told_with_its_member(local_index):
    def fail(data):
        raise KeyError("id")

    recipes = {**RECIPES, "domains/shop/db.json": Recipe("domains/shop/db.txt", fail)}
    with pytest.raises(SourceError, match=r"shop/db.txt is damaged: KeyError\('id'\)"):
        fetched(PackageIndexSource(shop_wheel("shop-data==1.0", recipes)))


def test_an_index_that_never_answers_is_given_up(file_server, monkeypatch):
    file_server.answers = {"/shop-data/": silence(30)}
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_INDEX_URL", file_server.url)
    with pytest.raises(SourceError, match="Read timed out"):
        fetched(PackageIndexSource(shop_wheel("shop-data==1.0"), patience=1))


def test_an_environment_without_pip_uses_that_of_the_python_it_was_made_with(
    local_index, monkeypatch
):
    base = sys._base_executable
    if subprocess.run([base, "-c", "import pip"], capture_output=True).returncode:
        pytest.skip(f"{base} has no pip")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert fetched(PackageIndexSource(shop_wheel("shop-data==1.0"))) == EVERYTHING


def test_a_python_without_pip_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(sys, "_base_executable", "/nowhere/python")
    with pytest.raises(SourceError, match="python -m ensurepip"):
        fetched(PackageIndexSource(shop_wheel()))


# All of them


def manifest(wheel: DataWheel | None = None) -> Manifest:
    files = {file.name: file for file in FILES}
    return Manifest("shop", "v1", files, "https://example.invalid", "data/shop", wheel)


def test_sources_are_tried_from_the_nearest_to_the_farthest(monkeypatch, tmp_path):
    monkeypatch.setenv("MASEVAL_SHOP_DATA", str(tmp_path))
    assert [source.name for source in default_sources(manifest(shop_wheel()))] == [
        f"MASEVAL_SHOP_DATA={tmp_path}",
        "https://example.invalid/v1",
        "the package index (shop-data==1.0)",
    ]


def test_files_that_no_package_carries_are_not_sought_on_the_index():
    (original,) = default_sources(manifest())

    assert isinstance(original, RepositorySource)


def test_a_mirror_may_stand_in_for_the_original(monkeypatch, file_server):
    monkeypatch.setenv("MASEVAL_SHOP_BASE_URL", file_server.url + "/")
    file_server.answers = {DB_PATH: content(DB), POLICY_PATH: content(POLICY)}
    assert fetched(default_sources(manifest())[0]._replace(**{"patience": 60})) == EVERYTHING


@pytest.mark.parametrize(
    "source", [repository("https://example.invalid"), PackageIndexSource(shop_wheel())]
)
def test_offline_means_that_no_connection_is_tried(monkeypatch, source):
    monkeypatch.setenv("MASEVAL_OFFLINE", "1")
    monkeypatch.setattr(socket, "socket", None)
    monkeypatch.setattr("subprocess.Popen", None)
    with pytest.raises(SourceError, match="switched off by MASEVAL_OFFLINE"):
        fetched(source)
