import hashlib
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from maseval.data import folder as folder_module
from maseval.data.files import CacheError, DataUnavailableError, Manifest
from maseval.data.folder import DataFolder, fill, forget_hashes
from maseval.data.sources import FetchProgress, LocalSource, RepositorySource
from tests.data.conftest import DB, EVERYTHING, FILES, POLICY, data_file
from tests.file_server import FileServer, content, status
from tests.waiting import wait_until

DB_FILE, POLICY_FILE = FILES
MANIFEST = Manifest("shop", "v1", {file.name: file for file in FILES})
DB_PATH = "/v1/domains/shop/db.json"
POLICY_PATH = "/v1/domains/shop/policy.md"


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path / "cache", MANIFEST)


@pytest.fixture
def mirror(file_server: FileServer) -> FileServer:
    file_server.answers = {DB_PATH: content(DB), POLICY_PATH: content(POLICY)}
    return file_server


def tag(server: FileServer) -> RepositorySource:
    return RepositorySource(server.url, "v1", patience=30)


def filled(folder: DataFolder, *sources: tuple, **options: bool) -> DataFolder:
    fill(folder, FILES, sources, FetchProgress(0), **options)
    return folder


def files_in(folder: DataFolder) -> dict[str, bytes]:
    """Everything that is there, except what we keep for ourselves."""
    found = (path for path in folder.root.rglob("*") if path.is_file() and path.name != ".lock")
    return {path.relative_to(folder.root).as_posix(): path.read_bytes() for path in found}


def test_an_empty_folder_is_filled_and_then_needs_no_source(folder, mirror):
    filled(folder, tag(mirror))
    assert files_in(folder) == EVERYTHING
    mirror.asked.clear()
    filled(folder, tag(mirror))
    assert mirror.asked == []
    filled(folder, tag(mirror), force=True)
    assert mirror.asked == [DB_PATH, POLICY_PATH]


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that were written just now are as good as older ones."""
    monkeypatch.setattr(folder_module, "_SETTLED_AFTER_NS", 0)


def test_a_file_is_hashed_once_and_then_trusted_while_it_is_unchanged(
    folder, mirror, settled, monkeypatch
):
    filled(folder, tag(mirror))
    assert folder.lacking(FILES) == []
    hashed = []
    monkeypatch.setattr(hashlib, "file_digest", lambda stream, name: hashed.append(stream.name))
    assert folder.lacking(FILES) == []
    assert hashed == []


@pytest.mark.parametrize("other", [b"", DB[:-1], b'{"orders": []}', DB + b"\n"])
def test_a_file_that_was_changed_is_noticed_and_fetched_again(folder, mirror, other):
    filled(folder, tag(mirror))
    folder.path(DB_FILE).write_bytes(other)
    assert folder.lacking(FILES) == [DB_FILE]
    filled(folder, tag(mirror))
    assert files_in(folder) == EVERYTHING


def test_a_file_that_was_touched_is_hashed_again_and_stays(folder, mirror):
    filled(folder, tag(mirror))
    os.utime(folder.path(DB_FILE), (1, 1))
    assert folder.lacking(FILES) == []


def edit_unnoticed(path: Path) -> None:
    """Change a file, and keep its size and its times of access and change."""
    state, content = path.stat(), path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def test_an_edited_file_of_the_same_size_and_time_is_noticed(folder, mirror):
    filled(folder, tag(mirror))
    assert folder.lacking(FILES) == []
    edit_unnoticed(folder.path(DB_FILE))

    assert folder.lacking(FILES) == [DB_FILE]


def test_hashes_that_are_forgotten_are_computed_again(folder, mirror, settled, monkeypatch):
    filled(folder, tag(mirror))
    assert folder.lacking(FILES) == []
    monkeypatch.setattr(hashlib, "file_digest", lambda stream, name: hashlib.sha256(b"other"))

    assert folder.lacking(FILES) == []
    forget_hashes()
    assert folder.lacking(FILES) == FILES


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (content(b"x" * len(DB)), "is not the file of the benchmark"),
        (content(DB[:3], promised=len(DB)), "broke off after 3 of 14 bytes"),
        (status(404), "404 Not Found"),
        (status(500), "500 Internal Server Error"),
    ],
)
def test_without_any_source_the_error_tells_what_each_answered(
    folder, mirror, tmp_path, answer, told
):
    mirror.answers[DB_PATH] = answer
    with pytest.raises(DataUnavailableError) as failure:
        filled(folder, LocalSource(tmp_path / "nowhere"), tag(mirror))
    message = str(failure.value)
    assert "could not get domains/shop/db.json and 1 more" in message
    assert f"{tmp_path / 'nowhere'}: no such file or folder" in message
    assert f"{mirror.url}/v1: " in message
    assert told in message
    assert "set MASEVAL_SHOP_DATA to a folder or archive" in message
    assert "run ensure_data_exists() once" in message
    assert files_in(folder) == {}


def test_what_one_source_lacks_the_next_one_adds(folder, mirror, tmp_path):
    partial = tmp_path / "partial" / DB_FILE.name
    partial.parent.mkdir(parents=True)
    partial.write_bytes(DB)
    filled(folder, LocalSource(tmp_path / "partial"), tag(mirror))
    assert mirror.asked == [POLICY_PATH]


def test_a_failed_repair_leaves_the_good_files_alone(folder, mirror):
    filled(folder, tag(mirror))
    mirror.answers = {}
    with pytest.raises(DataUnavailableError):
        filled(folder, tag(mirror), force=True)
    assert files_in(folder) == EVERYTHING
    assert folder.lacking(FILES) == []


def test_a_source_that_brings_everything_is_asked_for_all_that_is_missing(folder):
    class Everything:
        name = "everything"
        brings_all = True

        def fetch(self, files, progress):
            yield from ((file, EVERYTHING[file.name]) for file in files)

    fill(folder, [POLICY_FILE], [Everything()], FetchProgress(0))
    assert files_in(folder) == EVERYTHING


def test_a_cache_that_cannot_be_a_folder_is_an_error_with_a_way_out(tmp_path, mirror):
    (tmp_path / "file").write_text("in the way")
    folder = DataFolder(tmp_path / "file" / "cache", MANIFEST)
    with pytest.raises(CacheError, match=r"cannot write .*file.*set MASEVAL_CACHE_DIR"):
        filled(folder, tag(mirror))
    assert mirror.asked == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_cache_can_be_read_but_not_filled(folder, mirror):
    folder.store(DB_FILE, DB)
    for path in (folder.root, folder.path(DB_FILE).parent):
        path.chmod(0o555)
    try:
        assert folder.lacking(FILES) == [POLICY_FILE]
        with pytest.raises(CacheError, match="Permission denied; set MASEVAL_CACHE_DIR"):
            filled(folder, tag(mirror))
    finally:
        for path in (folder.root, folder.path(DB_FILE).parent):
            path.chmod(0o755)


def test_a_full_disk_is_an_error_with_a_way_out_and_leaves_nothing_behind(folder, mirror):
    """The operating system refuses files above a size, as it does when a disk is full."""
    large = b"x" * 200_000
    file = data_file("domains/shop/large.json", large)
    allowed, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    filled(folder, tag(mirror))
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, most))
    try:
        with pytest.raises(CacheError, match="the disk is full; set MASEVAL_CACHE_DIR"):
            folder.store(file, large)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (allowed, most))
    assert files_in(folder) == EVERYTHING


FILL = """
import sys
from pathlib import Path
from maseval.data.files import DataFile, Manifest
from maseval.data.folder import DataFolder, fill
from maseval.data.sources import FetchProgress
from maseval.data.sources import RepositorySource

root, url, *files = sys.argv[1:]
files = {n: DataFile(n, int(s), h) for n, s, h in (f.split() for f in files)}
manifest = Manifest("shop", "v1", files)
folder = DataFolder(Path(root), manifest)
fill(folder, list(manifest.files.values()), [RepositorySource(url, "v1")], FetchProgress(1))
assert folder.lacking(manifest.files.values()) == []
"""


def test_several_processes_fill_one_folder_and_each_file_is_downloaded_once(
    folder, mirror, tmp_path
):
    told = tmp_path / "told"

    def once_the_others_wait(request):
        wait_until(lambda: told.read_text().count("waiting for another process") == 2)
        content(DB)(request)

    mirror.answers = {DB_PATH: once_the_others_wait, POLICY_PATH: content(POLICY)}
    files = [f"{file.name} {file.size} {file.sha256}" for file in FILES]
    command = [sys.executable, "-c", FILL, str(folder.root), mirror.url, *files]
    with told.open("ab") as errors:
        processes = [subprocess.Popen(command, stderr=errors) for _ in range(3)]
    assert [process.wait(300) for process in processes] == [0, 0, 0]
    assert files_in(folder) == EVERYTHING
    assert sorted(mirror.asked) == [DB_PATH, POLICY_PATH]


@pytest.mark.parametrize(("verbose", "lines"), [(0, 0), (1, 1), (2, 3)])
def test_a_download_tells_as_much_as_it_is_asked_to(folder, mirror, capsys, verbose, lines):
    fill(folder, FILES, [tag(mirror)], FetchProgress(verbose))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == lines
