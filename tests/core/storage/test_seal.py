import json

import pytest

from maseval.core.storage.records import seal_problem, seal_record

# Written by an earlier release: lines like these are in the run folders and tapes of users.
KEPT = (
    b'{"crc": 1096011214, "kind": "closed", "at": "2026-01-01", "done": 1.5, '
    b'"who": "gr\\u00fc\\ud83d"}\n'
)


def line(record):
    return seal_record(record) + b"\n"


def test_the_checksum_comes_first_and_the_record_is_whole():
    items = list(json.loads(seal_record({"b": 1, "a": (2, float("nan"))})).items())
    assert items[1:] == [("b", 1), ("a", [2, "NaN"])]
    assert line({"b": 1}).startswith(b'{"crc": ')


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
