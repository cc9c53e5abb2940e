import errno
import logging
import os
import shutil
import tempfile
import threading

import pytest

from maseval.core.storage.records import RecordWriter, Rescue
from maseval.runs import RunFolder, RunRecorder, RunWriteError, Simulation, run_into
from tests.core.worlds import Shop
from tests.runs.worlds import config, desk, report, tasks


def test_a_recorder_can_be_used_like_any_callback(tmp_path):
    with RunFolder.open(tmp_path / "run", config("a", trials=2)) as folder:
        desk(callbacks=[RunRecorder(folder)], n_task_repeats=2).run(tasks("a"))

        assert not folder.missing()


def test_a_folder_that_vanishes_stops_the_run_and_loses_no_report(tmp_path, caplog):
    benchmark = Shop(lambda query: shutil.rmtree(tmp_path / "run", ignore_errors=True) or "done")
    with (
        caplog.at_level(logging.CRITICAL),
        RunFolder.open(tmp_path / "run", config("a", "b", trials=2)) as folder,
        pytest.raises(
            RunWriteError, match=r"run cannot store more results: No such file"
        ) as caught,
    ):
        run_into(folder, benchmark, tasks("a", "b"))

    assert len(benchmark.reports) == 1
    [rescued] = caught.value.rescued
    again = RunFolder.open(tmp_path / "again", config("a", "b", trials=2))
    assert again.adopt(rescued) == [Simulation("", "a", 0)]
    assert len(again.missing()) == 3
    [adopted] = again.reports()
    assert adopted["config"]["benchmark"] == benchmark.reports[0]["config"]["benchmark"]
    again.close()


@pytest.fixture
def full_disk(tmp_path, monkeypatch):
    """A disk on which the run folder lies, and which can be full; not so the temporary folder."""
    state, write = {"full": False}, RecordWriter._write

    def write_or_refuse(self, line):
        if state["full"] and tmp_path / "run" in self.path.parents:
            os.write(self._descriptor, line[:40])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(self, line)

    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    monkeypatch.setattr(RecordWriter, "_write", write_or_refuse)
    return state


def test_the_next_start_takes_over_what_a_full_disk_sent_to_the_temporary_folder(
    tmp_path, full_disk, caplog
):
    """A success is rescued although the log has a failure of the same simulation."""

    def answer(query):
        full_disk["full"] = query == "do b"
        return "done"

    with RunFolder.open(tmp_path / "run", config("a", "b", "c")) as folder:
        folder.append(report("b", status="user_error", started_at="2020-01-01T00:00:00"))
        with pytest.raises(RunWriteError, match="No space left") as caught:
            run_into(folder, Shop(answer), tasks("a", "b", "c"))
    [rescued] = caught.value.rescued
    full_disk["full"] = False

    found = RunFolder.read(tmp_path / "run")
    assert rescued.is_relative_to(tmp_path / "scratch")
    assert found.report(Simulation("", "b", 0))["status"] == "user_error"
    [note] = found.notes
    assert f"1 more report was rescued to {rescued}; resuming the run takes" in note

    with RunFolder.open(tmp_path / "run", config("a", "b", "c")) as folder:
        assert folder.missing() == [Simulation("", "c", 0)]
        assert f"took over what was rescued to {rescued} (reports: 1)" in caplog.text
    assert RunFolder.read(tmp_path / "run").report(Simulation("", "b", 0))["status"] == "success"
    assert RunFolder.read(tmp_path / "run").notes == []
    assert os.listdir(tmp_path / "scratch") == []


def test_an_older_rescued_report_and_those_of_another_run_are_left_alone(tmp_path):
    one, other = (tmp_path / name for name in ("run", "other"))
    for path in (one, other):
        RunFolder.open(path, config("a", "b")).close()
    with RunFolder.open(one, config("a", "b")) as folder:
        folder.append(report("a", started_at="2025-01-02T00:00:00", final_answer="later"))
        older, new = report("a", started_at="2025-01-01T00:00:00"), report("b")
        rescue = Rescue(folder.log, folder.id)
        for each in (older, new):
            rescue.keep(folder.whole_record(each), OSError("full"))
        rescue.close()

    for path in (one, other):
        RunFolder.open(path, config("a", "b")).close()

    found = {each["task_id"]: each["final_answer"] for each in RunFolder.read(one).reports()}
    assert found == {"a": "later", "b": new["final_answer"]}
    assert list(RunFolder.read(other).reports()) == []


def test_a_rescued_evaluation_of_a_recorded_conversation_is_taken_over(tmp_path, full_disk):
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        folder.append(report("a", status="evaluation_failed", eval=None))
        rescue = Rescue(folder.log / "nowhere", folder.id)
        rescue.keep(folder.whole_record(report("a")), OSError("full"))
        rescue.close()

    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        assert folder.adopt(rescue.paths[0]) == [Simulation("", "a", 0)]
        assert folder.unevaluated() == folder.missing() == []
        assert folder.adopt(rescue.paths[0]) == []


def test_a_temporary_folder_of_somebody_else_is_not_believed(tmp_path, full_disk, monkeypatch):
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        rescue = Rescue(folder.log / "nowhere", folder.id)
        rescue.keep(folder.whole_record(report("a")), OSError("full"))
        rescue.close()
    monkeypatch.setattr(os, "getuid", lambda: 65534)

    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        assert folder.missing() == [Simulation("", "a", 0)]
    assert rescue.paths[0].exists()


def test_a_log_that_comes_back_gets_the_reports_that_had_to_wait(tmp_path, caplog):
    """Moved away under the first report, moved back under the second."""
    log, away = tmp_path / "run" / "log.jsonl", tmp_path / "away"
    second = threading.Event()

    def move(query):
        if query == "do a":
            log.rename(away)
            second.wait(60)
        else:
            second.set()
            while not stopped.is_set():
                stopped.wait(0.01)
            away.rename(log)
        return "done"

    stopped = threading.Event()
    benchmark = Shop(move, num_workers=2)
    stop = benchmark.stop
    benchmark.stop = lambda: (stop(), stopped.set())
    with RunFolder.open(tmp_path / "run", config("a", "b", "c")) as folder:
        assert len(run_into(folder, benchmark, tasks("a", "b", "c"))) == 2

    assert RunFolder.read(tmp_path / "run").missing() == [Simulation("", "c", 0)]
