import os
import signal
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.core.exceptions import OutputExistsError, ResultFileError
from maseval.core.storage.records import (
    RecordWriter,
    TornRecordWarning,
    iter_records,
    new_record_file,
    read_records,
)


def script(code: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]


def written(path, *records):
    with RecordWriter(path) as writer:
        for record in records:
            writer.append(record)
    return path


def test_records_come_back_in_order(tmp_path):
    path = written(tmp_path / "deep" / "r.jsonl", {"n": 1}, {"n": 2, "text": "é\n\u2028"})

    assert read_records(path) == ([{"n": 1}, {"n": 2, "text": "é\n\u2028"}], None)
    assert path.read_bytes().count(b"\n") == 2


def test_a_file_without_records_is_empty_and_whole(tmp_path):
    assert read_records(written(tmp_path / "r.jsonl")) == ([], None)


def test_an_existing_file_is_refused_unless_it_may_be_overwritten(tmp_path):
    path = written(tmp_path / "r.jsonl", {"n": 1})

    with pytest.raises(OutputExistsError, match=r"already exists.*overwrite=True"):
        RecordWriter(path)
    assert read_records(path).records == [{"n": 1}]

    with RecordWriter(path, overwrite=True) as writer:
        writer.append({"n": 2})
    assert read_records(path).records == [{"n": 2}]


def test_a_taken_name_gets_a_number(tmp_path):
    writers = [new_record_file(tmp_path / "r.jsonl") for _ in range(3)]
    for writer in writers:
        writer.close()

    assert [writer.path.name for writer in writers] == ["r.jsonl", "r-2.jsonl", "r-3.jsonl"]


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


def test_reading_holds_one_record_at_a_time(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"n": 1}\n' + b"damaged\n" + b'{"n": 3}\n')

    assert next(iter_records(path)) == {"n": 1}


def test_a_killed_writer_leaves_every_finished_record(tmp_path):
    path = tmp_path / "r.jsonl"
    code = """
        import sys
        from maseval.core.storage.records import RecordWriter
        writer = RecordWriter(sys.argv[1])
        for n in range(10**9):
            writer.append({"n": n, "padding": "x" * 200_000})
            print(end=".", flush=True)
    """
    with subprocess.Popen(script(code, path), stdout=subprocess.PIPE) as process:
        confirmed = len(process.stdout.read(5))
        process.send_signal(signal.SIGKILL)
        confirmed += len(process.stdout.read())

    records, torn = read_records(path)

    assert [record["n"] for record in records] == list(range(len(records)))
    assert 5 <= confirmed <= len(records) <= confirmed + 1
    assert torn is None or len(torn) < 200_100


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

    assert read_records(path).records == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize("replaced", [True, False])
def test_a_file_that_was_deleted_or_replaced_takes_no_more_records(tmp_path, replaced):
    with RecordWriter(tmp_path / "r.jsonl") as writer:
        writer.append({"n": 1})
        writer.path.unlink()
        if replaced:
            writer.path.write_bytes(b"")
        with pytest.raises(FileNotFoundError, match=r"r\.jsonl"):
            writer.append({"n": 2})
