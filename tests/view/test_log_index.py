import os

import pytest

pytest.importorskip("starlette")

from maseval.runs import RunFolder
from maseval.view import reading
from maseval.view.reading import IndexedRun
from tests.runs.worlds import config, finished_run, report

pytestmark = pytest.mark.needs(library="starlette")


def index_of(path):
    index = IndexedRun(path)
    index.refresh()
    return index


def names(index):
    return [(entry.key.task_id, entry.trial) for entry in index.entries.values()]


def without_reading(monkeypatch):
    """From now on, only the last line of a log and what follows may be read."""
    read = []
    real = reading.lines_of

    def noted(path, after=None):
        for line in real(path, after):
            read.append(line.number)
            yield line

    monkeypatch.setattr(reading, "lines_of", noted)
    return read


def test_a_log_that_grows_is_read_from_where_it_ended(tmp_path, monkeypatch):
    with RunFolder.open(tmp_path / "run", config("a", "b")) as folder:
        folder.append(report("a"))
        index = index_of(folder.path)
        read = without_reading(monkeypatch)
        folder.append(report("b"))

        assert index.refresh() and not index.refresh()

    assert names(index) == [("a", "0"), ("b", "0")]
    assert len(read) == 1


def test_a_report_that_replaces_another_comes_last_and_alone(tmp_path):
    with RunFolder.open(tmp_path / "run", config("a", "b")) as folder:
        folder.append(report("a", status="environment_error", eval=None))
        index = index_of(folder.path)
        folder.append(report("b"))
        folder.append(report("a"))

        index.refresh()

    assert names(index) == names(index_of(folder.path)) == [("b", "0"), ("a", "0")]
    assert [*index.entries] == sorted(index.entries)


def test_damage_that_is_found_as_a_log_grows_makes_its_index_anew(tmp_path):
    path = finished_run(tmp_path / "run", *"abc")
    log = path / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:3]))
    index = index_of(path)
    with log.open("ab") as file:
        file.write(lines[3].replace(b'"kind"', b'"KIND"') + lines[4])

    index.refresh()

    assert index.contents.damaged and names(index) == names(index_of(path))


def test_an_edit_that_keeps_size_and_time_is_noticed_by_the_next_server(tmp_path):
    path = finished_run(tmp_path / "run", *"abcdef")
    log, before = path / "log.jsonl", (path / "log.jsonl").stat()
    assert not index_of(path).damaged

    log.write_bytes(log.read_bytes().replace(b'"task_id": "b"', b'"task_id": "B"', 1))
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert len(index_of(path).damaged) == 1


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
    assert [str(each) for each in index.contents.damaged] == [
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
