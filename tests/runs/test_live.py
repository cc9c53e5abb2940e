"""What a run is doing, and what became of its worker processes."""

import os

import pytest

from maseval.core.engine.engines import WorkerEvent
from maseval.runs import RunFolder
from maseval.runs.live import (
    LIVE,
    WORKER_LOG,
    WorkerHistory,
    note_event,
    note_finished,
    publish,
    read_live,
)
from tests.runs.worlds import config


def test_all_sessions_together(tmp_path):
    note_event(tmp_path, WorkerEvent("started", "a", "process 1 on a started"))
    note_event(tmp_path, WorkerEvent("died", "a", "process 1 on a died", at="2026-01-01T00:00:00"))
    note_finished(tmp_path, {"a": 2})
    note_finished(tmp_path, {})
    note_finished(tmp_path, {"a": 1, "b": 5})

    history = WorkerHistory.of(tmp_path)

    assert history.finished == {"a": 3, "b": 5}
    assert history.incidents == ["2026-01-01T00:00:00 process 1 on a died"]


def test_a_line_that_was_cut_off_spoils_nothing(tmp_path):
    note_finished(tmp_path, {"a": 2})
    with (tmp_path / WORKER_LOG).open("a") as file:
        file.write('{"kind": "fini')

    assert WorkerHistory.of(tmp_path).finished == {"a": 2}
    note_finished(tmp_path, {"a": 1})
    assert WorkerHistory.of(tmp_path).finished == {"a": 3}


def test_a_run_in_one_process_has_none(tmp_path):
    assert WorkerHistory.of(tmp_path) == WorkerHistory()
    assert not (tmp_path / WORKER_LOG).exists()


@pytest.mark.parametrize("foreign", ['{"written by": "another program"}', "{}", "[1]", "{"])
def test_a_file_of_another_form_does_not_say_what_a_run_is_doing(tmp_path, foreign):
    known = {"cost": 1.5, "tokens": 20, "rate_limits": 2, "in_flight": []}
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        publish(folder.path, {"pid": os.getpid(), "at": "now", **known})
        assert read_live(folder.path)["tokens"] == 20

        (folder.path / LIVE).write_text(foreign)

        assert read_live(folder.path) is None
