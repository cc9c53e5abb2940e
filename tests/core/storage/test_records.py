import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.core.exceptions import OutputExistsError, ResultFileError
from maseval.core.storage import strict_json
from maseval.core.storage.records import (
    RecordWriter,
    TornRecordWarning,
    iter_records,
    mend,
    rescue,
    seal_json,
    seal_problem,
)


def script(code: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]


def written(path: Path, *records: dict[str, Any]) -> Path:
    with RecordWriter(path) as writer:
        for record in records:
            writer.append(record)
    return path


def read_records(path: Path) -> tuple[list[dict[str, Any]], str | None]:
    """The whole records of a file, and the text of a last line that was cut off."""
    torn = []
    records = list(iter_records(path, on_torn=torn.append))
    return records, torn[0].decode("utf-8", "replace") if torn else None


def test_records_come_back_in_order(tmp_path):
    path = written(tmp_path / "deep" / "r.jsonl", {"n": 1}, {"n": 2, "text": "é\n\u2028"})

    assert read_records(path) == ([{"n": 1}, {"n": 2, "text": "é\n\u2028"}], None)
    assert path.read_bytes().count(b"\n") == 2


def test_an_existing_file_is_refused_unless_it_may_be_overwritten(tmp_path):
    path = written(tmp_path / "r.jsonl", {"n": 1})

    with pytest.raises(OutputExistsError, match=r"already exists.*overwrite=True"):
        RecordWriter(path)
    assert read_records(path)[0] == [{"n": 1}]

    with RecordWriter(path, overwrite=True) as writer:
        writer.append({"n": 2})
    assert read_records(path)[0] == [{"n": 2}]


@given(cut=st.integers(min_value=1))
def test_a_file_cut_anywhere_keeps_all_whole_records(tmp_path_factory, cut):
    path = written(tmp_path_factory.mktemp("cut") / "r.jsonl", *({"n": n} for n in range(4)))
    whole = path.read_bytes()
    kept = len(whole) - cut % len(whole)
    os.truncate(path, kept)

    records, torn = read_records(path)

    # A record whose line lacks nothing but its end is whole.
    assert records == [{"n": n} for n in range((kept + 1) // len(b'{"n": 0}\n'))]
    assert (torn is None) == (kept % len(b'{"n": 0}\n') in (0, len(b'{"n": 0}')))


@pytest.mark.parametrize("tail", [b'{"n": 3, "te', b"\0\0\0\0", b'{"n"\n', b"[1]\n"])
def test_a_torn_last_line_is_reported_and_left_out(tmp_path, tail):
    path = written(tmp_path / "r.jsonl", {"n": 1}, {"n": 2})
    with path.open("ab") as file:
        file.write(tail)

    assert read_records(path) == ([{"n": 1}, {"n": 2}], tail.decode())
    with pytest.warns(TornRecordWarning, match=rf"r\.jsonl.* {len(tail)} bytes") as caught:
        assert list(iter_records(path)) == [{"n": 1}, {"n": 2}]
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "damage",
    [
        b'{"n": 2, "te\n',
        b"[2]\n",
        b"\xff\xfe\n",
        pytest.param(b"[" * 100_000 + b"\n", id="bottomless"),
    ],
)
def test_damage_before_the_end_names_file_and_line(tmp_path, damage):
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"n": 1}\n' + damage + b'{"n": 3}\n')

    with pytest.raises(ResultFileError, match=r"r\.jsonl, line 2: not a record"):
        read_records(path)


FULL_DISK = """
    import errno, resource, signal, sys
    from maseval.core.storage.records import RecordWriter

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
    writer = RecordWriter(sys.argv[1])
    writer.append({"n": 1})
    try:
        writer.append({"n": 2, "padding": "x" * 20_000})
    except OSError as error:
        assert error.errno == errno.EFBIG, error
        print(error)
    writer.append({"n": 3})
    assert writer.count == 2
"""


def test_a_write_that_fails_half_way_leaves_no_part_and_later_records_follow(tmp_path):
    path = tmp_path / "r.jsonl"

    run = subprocess.run(script(FULL_DISK, path), capture_output=True, text=True, check=True)

    assert str(path) in run.stdout
    assert read_records(path) == ([{"n": 1}, {"n": 3}], None)


def test_a_closed_writer_says_which_file_it_cannot_write(tmp_path):
    writer = RecordWriter(tmp_path / "r.jsonl")
    writer.close()
    writer.close()

    with pytest.raises(OSError, match=r"r\.jsonl"):
        writer.append({"n": 1})


def test_no_descriptor_stays_open(tmp_path):
    before = len(os.listdir("/dev/fd"))
    for n in range(20):
        list(iter_records(written(tmp_path / f"{n}.jsonl", {"n": n})))

    assert len(os.listdir("/dev/fd")) == before


def test_a_file_can_be_resumed(tmp_path):
    path = written(tmp_path / "r.jsonl", {"n": 1})

    with RecordWriter(path, resume=True) as writer:
        assert writer.append({"n": 2}) == len(b'{"n": 1}\n')

    assert read_records(path)[0] == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize("replaced", [True, False])
def test_a_file_that_was_deleted_or_replaced_takes_no_more_records(tmp_path, replaced):
    with RecordWriter(tmp_path / "r.jsonl") as writer:
        writer.append({"n": 1})
        writer.path.unlink()
        if replaced:
            writer.path.write_bytes(b"")
        with pytest.raises(FileNotFoundError, match=r"r\.jsonl"):
            writer.append({"n": 2})


# Written by an earlier release: lines like these are in the run folders of users.
KEPT = (
    b'{"crc": 1096011214, "kind": "closed", "at": "2026-01-01", "done": 1.5, '
    b'"who": "gr\\u00fc\\ud83d"}\n'
)


def line(record: dict[str, Any]) -> bytes:
    return seal_json(strict_json.dumps(record)) + b"\n"


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_the_line_end_is_not_sealed(end):
    assert seal_problem(line({"text": "hello\n"}).rstrip() + end) is None


def test_lines_of_earlier_releases_are_intact():
    assert seal_problem(KEPT) is None


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda line: line.replace(b"hello", b"hallo"), "does not match"),
        (lambda line: line.replace(b": 7", b": 70"), "does not match"),
        (lambda line: line[:-4] + b"\n", "does not match"),
        (lambda line: line.replace(b'"crc": ', b'"crc": 1'), "does not match"),
        (lambda line: b"{}\n", "no checksum"),
        (lambda line: b"\xff\n", "no checksum"),
    ],
)
def test_a_changed_line_is_noticed(change, problem):
    assert problem in seal_problem(change(line({"text": "hello", "n": 7})))


@pytest.mark.parametrize("padding", [0, 10, 70_000, 200_000])
@pytest.mark.parametrize("whole", [b'{"n": 1}\n', b""])
def test_a_torn_line_is_moved_beside_the_file_before_it_is_resumed(tmp_path, padding, whole):
    path = tmp_path / "r.jsonl"
    path.write_bytes(whole)
    torn = b'{"n": 2, "padding": "' + b"x" * padding
    for number in (1, 2):
        with path.open("ab") as file:
            file.write(torn)

        assert mend(path) == tmp_path / f"torn-{number}.jsonl"
        assert (tmp_path / f"torn-{number}.jsonl").read_bytes() == torn
        assert path.read_bytes() == whole


@pytest.mark.parametrize("content", [b"", b'{"n": 1}\n', b'{"n": 1}', b"damaged\n"])
def test_mending_keeps_every_whole_record_and_every_line_with_an_end(tmp_path, content):
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)

    assert mend(path) is None
    assert path.read_bytes() == content.rstrip() + b"\n" * bool(content)


NOBODY = 65534
FULL = OSError(28, "No space left on device", "r.jsonl")


@pytest.fixture
def read_only_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that this process may not write to; an administrator becomes nobody for it."""
    folder, scratch = Path(tempfile.mkdtemp()), Path(tempfile.mkdtemp())
    folder.chmod(0o555)
    scratch.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    administrator = os.geteuid() == 0
    if administrator:
        os.seteuid(NOBODY)
    yield folder
    if administrator:
        os.seteuid(0)
    folder.chmod(0o755)
    shutil.rmtree(folder)
    shutil.rmtree(scratch)


def report(task_id: str) -> dict[str, Any]:
    return {"task_id": task_id, "repeat_idx": 0}


def test_results_are_kept_beside_the_intended_file_behind_what_is_there(tmp_path, caplog):
    beside = tmp_path / "r.rescued.jsonl"
    beside.write_text('{"task_id": "torn')

    assert [rescue(report(name), tmp_path / "r.jsonl", "me", FULL) for name in "ab"] == [beside] * 2

    assert read_records(beside)[0] == [report("a"), report("b")]
    assert (tmp_path / "torn-1.jsonl").read_text() == '{"task_id": "torn'
    assert "No space left" in caplog.text and str(beside) in caplog.text
    assert {record.levelname for record in caplog.records} == {"ERROR"}


def test_results_of_a_read_only_folder_are_kept_in_a_private_temporary_one(
    read_only_folder, caplog
):
    intended = read_only_folder / "r.jsonl"

    [path] = {rescue(report(name), intended, "me", FULL) for name in "ab"}

    assert path.is_relative_to(tempfile.gettempdir())
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert read_records(path)[0] == [report("a"), report("b")]
    assert str(path) in caplog.text
    assert list(read_only_folder.iterdir()) == []


NO_ROOM = """
    import resource, signal, sys, tempfile
    from pathlib import Path
    from maseval.core.storage.records import rescue

    tempfile.tempdir = sys.argv[1]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    record = {"task_id": "a", "repeat_idx": 0}
    assert rescue(record, Path(sys.argv[1]) / "r.jsonl", "me", OSError("full")) is None
"""


def test_a_disk_without_any_room_is_reported_and_left_without_empty_files(tmp_path):
    run = subprocess.run(script(NO_ROOM, tmp_path), capture_output=True, text=True, check=True)

    assert "task a, repetition 0 is only in benchmark.reports" in run.stderr
    assert list(tmp_path.rglob("*.jsonl")) == []
