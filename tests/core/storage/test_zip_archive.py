"""Archives from elsewhere are refused unless they hold regular files of expected names."""

import io
import stat
import struct
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from maseval.core.storage import zip_archive
from maseval.core.storage.zip_archive import ArchiveError, ArchiveWriter, FileDigest, open_archive

EXPECTED = ("a.json", "b.txt")


def written(path: Path, **files: Any) -> dict[str, Any]:
    with path.open("wb") as file:
        archive = ArchiveWriter(file)
        found = {name: archive.add(name, io.BytesIO(text)) for name, text in files.items()}
        archive.close()
    return found


def read(path: Path, name: str = "a.json", most: int | None = None) -> tuple[bytes, FileDigest]:
    with open_archive(path, EXPECTED) as archive:
        target = io.BytesIO()
        digest = archive.copy(name, target, most)
    return target.getvalue(), digest


def hostile(path: Path, *entries: tuple[str | zipfile.ZipInfo, str]) -> Path:
    """An archive with entries of any kind: (name or ZipInfo, content)."""
    with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a name that is there twice
        for name, content in entries:
            archive.writestr(name, content)
    return path


def entry(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def test_what_is_written_can_be_read(tmp_path):
    path = tmp_path / "x.zip"
    written_digests = written(path, **{"a.json": b"{}" * 9, "b.txt": b""})

    assert read(path) == (b"{}" * 9, written_digests["a.json"])
    assert read(path, "b.txt")[0] == b""


def test_equal_contents_give_equal_bytes(tmp_path):
    for name in ("x.zip", "y.zip"):
        written(tmp_path / name, **{"a.json": b"same"})

    assert (tmp_path / "x.zip").read_bytes() == (tmp_path / "y.zip").read_bytes()


@pytest.mark.parametrize(
    "name",
    [
        "../a.json",
        "/a.json",
        "x/../a.json",
        "./a.json",
        "C:\\a.json",
        "C:a.json",
        "\\\\server\\a.json",
        "..\\a.json",
        "A.JSON",
        "a.json ",
        "a.json\x00.txt",
        "a.json/",
        "other",
        "",
    ],
)
def test_a_name_that_is_not_expected_is_refused(name, tmp_path):
    path = hostile(tmp_path / "x.zip", ("a.json", "{}"), ("b.txt", ""))
    _rename_last(path, name.encode())

    with pytest.raises(ArchiveError, match="does not belong there"):
        read(path)


def _rename_last(path: Path, name: bytes) -> None:
    """Give the last entry a name byte by byte: the library would tidy some of them."""
    raw = path.read_bytes()
    first, last, end = (raw.index(b"PK\1\2"), raw.rindex(b"PK\1\2"), raw.rindex(b"PK\5\6"))
    header, tail = bytearray(raw[last : last + 46]), bytearray(raw[end:])
    struct.pack_into("<H", header, 28, len(name))
    directory = raw[first:last] + header + name
    struct.pack_into("<I", tail, 12, len(directory))
    path.write_bytes(raw[:first] + directory + tail)


MODES = (stat.S_IFLNK | 0o777, stat.S_IFDIR | 0o755, stat.S_IFIFO, stat.S_IFCHR)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        *(([(entry("a.json", mode), "/etc/passwd")], "not a regular file") for mode in MODES),
        ([("a.json", "{}"), ("a.json", "[]")], r"'a\.json' twice"),
    ],
)
def test_only_regular_files_and_each_once_are_read(entries, words, tmp_path):
    with pytest.raises(ArchiveError, match=words):
        read(hostile(tmp_path / "x.zip", *entries))


def test_an_encrypted_file_is_refused(tmp_path):
    path = hostile(tmp_path / "x.zip", ("a.json", "{}"))
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(raw)

    with pytest.raises(ArchiveError, match="encrypted"):
        read(path)


def test_a_bomb_is_noticed_while_it_is_unpacked_whatever_its_header_says(tmp_path, monkeypatch):
    path = tmp_path / "x.zip"
    written(path, **{"a.json": b"\x00" * 3_000_000})
    monkeypatch.setattr(zip_archive, "_FREE", 1_000_000)

    with pytest.raises(ArchiveError, match=r"more than 1,000,000 bytes"):
        read(path)
    raw = bytearray(path.read_bytes())
    struct.pack_into("<I", raw, raw.index(b"PK\x01\x02") + 24, 5)  # it says it is 5 bytes long
    path.write_bytes(raw)
    with pytest.raises(ArchiveError):
        read(path)


def test_all_files_together_are_limited(tmp_path, monkeypatch):
    path = tmp_path / "x.zip"
    written(path, **{"a.json": b"a" * 600, "b.txt": b"b" * 600})
    monkeypatch.setattr(zip_archive, "_MOST", 1000)
    with open_archive(path, EXPECTED) as archive:
        archive.copy("a.json", io.BytesIO())
        with pytest.raises(ArchiveError, match="more than 1,000 bytes"):
            archive.copy("b.txt", io.BytesIO())


def test_a_file_can_be_limited_by_itself(tmp_path):
    path = tmp_path / "x.zip"
    written(path, **{"a.json": b"a" * 600})

    with pytest.raises(ArchiveError, match=r"a\.json is larger"):
        read(path, most=599)
    assert read(path, most=600)[0] == b"a" * 600


def test_a_file_under_another_name_than_listed_is_refused(tmp_path):
    path = hostile(tmp_path / "x.zip", ("a.json", "{}"))
    path.write_bytes(path.read_bytes().replace(b"a.json", b"../../", 1))

    with pytest.raises(ArchiveError, match="damaged"):
        read(path)


@pytest.mark.parametrize("cut", [1, 30, 100])
def test_an_archive_that_is_cut_off_is_damaged(cut, tmp_path):
    path = tmp_path / "x.zip"
    written(path, **{"a.json": bytes(range(256)) * 9})
    path.write_bytes(path.read_bytes()[:-cut])

    with pytest.raises(ArchiveError, match="damaged"):
        read(path)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x05\x06" + b"\xff" * 18])
def test_anything_else_is_not_an_archive(content, tmp_path):
    (tmp_path / "x.zip").write_bytes(content)

    with pytest.raises(ArchiveError):
        read(tmp_path / "x.zip")


def test_any_changed_byte_is_noticed_or_changes_nothing(tmp_path):
    path = tmp_path / "x.zip"
    (digest,) = written(path, **{"a.json": b"some words " * 20}).values()
    raw = path.read_bytes()
    for position in range(len(raw)):
        damaged = bytearray(raw)
        damaged[position] ^= 0x41
        path.write_bytes(damaged)
        with suppress(ArchiveError):
            assert read(path)[1] == digest, position
