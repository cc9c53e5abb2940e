"""A tape survives crashes, says where it is damaged, and is opened without parsing it."""

import json
import os
import stat
import sys
import threading
import zlib

import pytest

from maseval.core.storage.records import TornRecordWarning
from maseval.server.tape import Exchange, Tape, TapeError


def exchange(number, text="hello"):
    return Exchange(f"{number:032x}", {"messages": [text]}, {"choices": [text]})


@pytest.fixture
def path(tmp_path):
    """A tape with three exchanges."""
    path = tmp_path / "tape.jsonl"
    tape = Tape(path, growing=True)
    for number in range(3):
        tape.append(exchange(number, "grüße \ud83d"))
    tape.close()
    return path


def contents(tape):
    found = [one for _, one in tape.since()]
    tape.close()
    return found


def test_what_was_recorded_is_there(path):
    assert contents(Tape(path)) == [exchange(number, "grüße \ud83d") for number in range(3)]


def test_a_tape_is_json_lines_under_a_header(path):
    header, *records = [json.loads(line) for line in path.read_text().splitlines()]

    assert header == {"format": "maseval-tape", "version": 1}
    assert [list(record) for record in records] == [["crc", "key", "request", "answer"]] * 3


@pytest.mark.skipif(sys.platform == "win32", reason="modes are those of POSIX")
def test_only_its_owner_may_read_a_new_tape(path):
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_tape_resumes_where_it_ended(path):
    tape = Tape(path, growing=True)
    place = tape.append(exchange(1, "again"))

    assert place.line == 5
    answers = [tape.at(one, exchange(1).key).answer for one in tape.places[exchange(1).key]]
    assert [answer["choices"] for answer in answers] == [["grüße \ud83d"], ["again"]]
    assert len(contents(tape)) == 4


def test_folders_are_made(tmp_path):
    Tape(tmp_path / "a" / "b" / "tape.jsonl", growing=True).close()

    assert (tmp_path / "a" / "b" / "tape.jsonl").exists()


@pytest.mark.parametrize("cut", [1, 2, 30, 100])
def test_a_torn_last_line_is_left_out_with_a_warning(path, cut):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - cut - 1])

    with pytest.warns(TornRecordWarning, match="cut off"):
        tape = Tape(path)

    assert len(contents(tape)) == 2


def test_a_last_line_that_lacks_only_its_end_counts(path):
    path.write_bytes(path.read_bytes().rstrip(b"\n"))

    assert len(contents(Tape(path))) == 3


def test_recording_resumes_after_a_torn_line_and_nothing_is_thrown_away(path):
    content = path.read_bytes()
    path.write_bytes(content[:-20])

    with pytest.warns(TornRecordWarning, match=r"torn-1\.jsonl"):
        tape = Tape(path, growing=True)
    tape.append(exchange(7))

    assert [one.key[-1] for one in contents(tape)] == ["0", "1", "7"]
    assert (path.parent / "torn-1.jsonl").read_bytes() == content.splitlines()[-1][:-19]
    assert len(contents(Tape(path))) == 3


@pytest.mark.parametrize("end", [0, 1, 20])
def test_recording_starts_anew_if_even_the_header_is_torn(path, end):
    path.write_bytes(path.read_bytes()[:end])

    tape = None
    if end:
        with pytest.warns(TornRecordWarning):
            tape = Tape(path, growing=True)
    else:
        tape = Tape(path, growing=True)
    tape.append(exchange(1))

    assert contents(tape) == [exchange(1)]
    assert len(contents(Tape(path))) == 1


def changed(path, line, change):
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line - 1] = change(lines[line - 1])
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize("growing", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        lambda line: line.replace(b"gr", b"GR"),
        lambda line: line[:40] + b"\n",
        lambda line: b"{}\n",
        lambda line: b"[1]\n",
        lambda line: b"\xff\xfe\n",
        lambda line: line.replace(b'"crc": ', b'"crc": 1'),
    ],
    ids=["edited", "cut", "empty", "list", "binary", "checksum"],
)
def test_damage_is_named_with_its_line_and_the_way_out(path, change, growing):
    changed(path, 3, change)

    with pytest.raises(TapeError, match=r"tape\.jsonl, line 3: .*(record it again)"):
        Tape(path, growing=growing)


def test_the_way_out_works(path):
    changed(path, 3, lambda line: b"")

    assert len(contents(Tape(path))) == 2


def test_line_ends_of_another_system_do_no_harm(path):
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    assert len(contents(Tape(path))) == 3


@pytest.mark.parametrize("growing", [False, True])
@pytest.mark.parametrize(
    "content", ["# A page\n\nof text", '{"a": 1}\n{"b": 2}', "[]\n", '"format"\n'], ids=str
)
def test_a_file_that_is_not_a_tape_is_refused_and_left_alone(tmp_path, content, growing):
    path = tmp_path / "notes.md"
    path.write_text(content)

    with pytest.raises(TapeError, match="line 1: not a tape file"):
        Tape(path, growing=growing)

    assert path.read_text() == content and os.listdir(tmp_path) == ["notes.md"]


def test_a_tape_of_the_future_says_so(path):
    changed(path, 1, lambda line: b'{"format": "maseval-tape", "version": 9}\n')

    with pytest.raises(TapeError, match=r"format 9, and this maseval reads 1"):
        Tape(path)


def test_a_missing_tape_says_how_to_make_one(tmp_path):
    with pytest.raises(TapeError, match=r"there is no tape .*--record --upstream URL"):
        Tape(tmp_path / "tape.jsonl")
    with pytest.raises(TapeError, match="is not a file"):
        Tape(tmp_path)


def test_an_empty_file_is_not_a_tape_to_play(tmp_path):
    (tmp_path / "tape.jsonl").touch()

    with pytest.raises(TapeError, match="not a tape file"):
        Tape(tmp_path / "tape.jsonl")


def test_a_tape_that_changes_while_it_is_played_is_noticed(path):
    tape = Tape(path)
    key = exchange(2).key
    place = tape.places[key][0]
    changed(path, 4, lambda line: line.replace(b"gr", b"GR"))

    with pytest.raises(TapeError, match="line 4: it was changed"):
        tape.at(place, key)
    tape.close()


def test_a_tape_for_playing_takes_nothing(path):
    tape = Tape(path)

    with pytest.raises(TapeError, match="growing=True"):
        tape.append(exchange(1))
    tape.close()


@pytest.mark.skipif(sys.platform == "win32", reason="there it is not noticed")
def test_only_one_may_record_and_others_may_play_meanwhile(path):
    first = Tape(path, growing=True)
    with pytest.raises(TapeError, match="recorded to by another server"):
        Tape(path, growing=True)
    assert len(contents(Tape(path))) == 3
    first.close()

    Tape(path, growing=True).close()


def test_many_threads_may_record_and_play(path):
    tape = Tape(path, growing=True)

    def work(number):
        for turn in range(20):
            new = exchange(100 + number * 20 + turn, f"{number} {turn}")
            assert tape.at(tape.append(new), new.key) == new

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(contents(tape)) == len(contents(Tape(path))) == 163


def test_opening_a_tape_checks_every_line_and_parses_none(path):
    content = b'"key": "' + b"f" * 32 + b'", this is not JSON}'
    line = b'{"crc": %d, %s\n' % (zlib.crc32(b"{" + content), content)
    with path.open("ab") as file:
        file.write(line)

    tape = Tape(path)
    tape.close()

    assert len(tape) == 4
