import json
import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from maseval.core.storage import strict_json
from maseval.core.storage.records import seal_json
from maseval.runs import RunFolder, recording
from maseval.runs.report_line import Link, Seal
from maseval.view.viewed import ViewedRun
from tests.runs.worlds import config, finished_run, report

pytestmark = pytest.mark.needs(library="starlette")


def index_of(path: Path) -> ViewedRun:
    index = ViewedRun(path, "run")
    index.refresh()
    return index


def names(index: ViewedRun) -> list[tuple[str, str]]:
    return [(entry.key.task_id, entry.trial) for entry in index.entries()]


def without_reading(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """From now on, only the last line of a log and what follows may be read."""
    read = []
    real = recording.lines_of

    def noted(path, after=None):
        for line in real(path, after):
            read.append(line.number)
            yield line

    monkeypatch.setattr(recording, "lines_of", noted)
    return read


def test_a_log_that_grows_is_read_from_where_it_ended(tmp_path, monkeypatch):
    with RunFolder.open(tmp_path / "run", config("a", "b")) as folder:
        folder.append(report("a"))
        index = index_of(folder.path)
        read = without_reading(monkeypatch)
        folder.append(report("b"))

        index.refresh()
        index.refresh()

    assert names(index) == [("a", "0"), ("b", "0")] and index.version == 2
    assert len(read) == 1


def test_a_report_that_replaces_another_comes_last_and_alone(tmp_path):
    with RunFolder.open(tmp_path / "run", config("a", "b")) as folder:
        folder.append(report("a", status="environment_error", eval=None))
        index = index_of(folder.path)
        folder.append(report("b"))
        folder.append(report("a"))

        index.refresh()

    assert names(index) == names(index_of(folder.path)) == [("b", "0"), ("a", "0")]
    places = [entry.at for entry in index.entries()]
    assert places == sorted(places)


def test_damage_that_is_found_as_a_log_grows_makes_its_index_anew(tmp_path):
    path = finished_run(tmp_path / "run", *"abc")
    log = path / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:3]))
    index = index_of(path)
    with log.open("ab") as file:
        file.write(lines[3].replace(b'"kind"', b'"KIND"') + lines[4])

    index.refresh()

    assert index.source.damaged and names(index) == names(index_of(path))


def test_an_edit_that_keeps_size_and_time_is_noticed_by_the_next_server(tmp_path):
    path = finished_run(tmp_path / "run", *"abcdef")
    log, before = path / "log.jsonl", (path / "log.jsonl").stat()
    assert not index_of(path).source.damaged

    log.write_bytes(log.read_bytes().replace(b'"task_id": "b"', b'"task_id": "B"', 1))
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert len(index_of(path).source.damaged) == 1


def test_a_log_that_was_written_anew_is_read_anew(tmp_path):
    path = finished_run(tmp_path / "run", *"abc")
    index = index_of(path)
    other = finished_run(tmp_path / "other", *"xyzw")
    (path / "log.jsonl").write_bytes((other / "log.jsonl").read_bytes())

    index.refresh()

    assert [task for task, _ in names(index)] == [*"xyzw"]
    assert names(index_of(path)) == names(index)


def test_an_edit_that_keeps_the_length_is_noticed_by_the_time_of_the_file(tmp_path):
    path = finished_run(tmp_path / "run", *"abc")
    index = index_of(path)
    log = path / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"task_id": "b"', b'"task_id": "B"', 1))
    os.utime(log, ns=(1, 1))

    index.refresh()

    assert "b" not in [task for task, _ in names(index)]
    assert [str(each) for each in index.source.damaged] == [
        str(each) for each in RunFolder.read(path).damaged
    ]


def test_a_torn_last_line_counts_once_it_is_whole(tmp_path):
    path = finished_run(tmp_path / "run", *"abc")
    log = path / "log.jsonl"
    whole = log.read_bytes()
    lines = whole.splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-2]) + lines[-2][:50])
    index = index_of(path)
    before = names(index)
    log.write_bytes(whole)
    index.refresh()

    assert before == [("a", "0"), ("b", "0")]
    assert names(index) == [("a", "0"), ("b", "0"), ("c", "0")]


def test_a_log_without_a_simulation_has_an_empty_index(tmp_path):
    for trials in (1, 2):
        with RunFolder.open(tmp_path / "run", config("a", trials=trials)) as folder:
            pass
    assert names(index_of(folder.path)) == names(index_of(folder.path)) == []


def test_a_last_line_that_was_changed_after_its_session_does_not_count(tmp_path):
    path = finished_run(tmp_path / "run", "a")
    with RunFolder.open(path, config("a", "b")) as folder:
        folder.append(report("b"))
        log = folder.log
    *lines, _ = log.read_bytes().splitlines(keepends=True)
    changed = json.loads(lines[-1])
    del changed["crc"]
    text = strict_json.dumps({**changed, "eval": [{"reward": 0.0}]})
    log.write_bytes(b"".join([*lines[:-1], seal_json(text) + b"\n"]))
    Seal.write(log, Link(len(lines), "another hash"))

    assert names(index_of(path)) == [("a", "0")]
    assert [one.task_id for one in RunFolder.read(path).recorded] == ["a"]


def test_the_attempts_before_a_simulation_was_run_again_are_shown_and_counted(tmp_path):
    usage = {"models": {"m": {"cost": 0.5, "input_tokens": 7}}}
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        folder.append(report("a", status="provider_error", eval=None, usage=usage))
        index = index_of(folder.path)
        folder.append(report("a", usage=usage))

        index.refresh()

    (shown,) = index.packet("", "a")["trials"]
    assert [each["status"] for each in shown["attempts"]] == ["provider_error"]
    assert index.tally() == {"done": 1, "failed": 0, "cost": 1.0, "tokens": 14}
