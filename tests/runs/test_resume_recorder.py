import errno
import logging
import os
import shutil
import tempfile
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from maseval.core.engine.engines import Job
from maseval.core.engine.repetition import Repetition, RepetitionResult
from maseval.core.storage import records
from maseval.core.storage.records import RecordWriter, rescue, rescued_files
from maseval.core.tracing import JsonObject
from maseval.runs import RunFolder, RunRecorder, RunWriteError, Simulation, run_into
from tests.core.worlds import Shop, Worker
from tests.runs.worlds import Desk, config, desk, report, tasks


def test_a_recorder_can_be_used_like_any_callback(tmp_path):
    with RunFolder.open(tmp_path / "run", config("a", trials=2)) as folder:
        desk(callbacks=[RunRecorder(folder)], n_task_repeats=2).run(tasks("a"))

        assert not folder.missing()


def test_a_folder_that_vanishes_stops_the_run_and_loses_no_report(tmp_path, caplog):
    benchmark = Shop(lambda query: shutil.rmtree(tmp_path / "run", ignore_errors=True) or "done")
    with (
        caplog.at_level(logging.CRITICAL),
        RunFolder.open(tmp_path / "run", config("a", "b", trials=2)) as folder,
        pytest.raises(RunWriteError, match=r"run cannot store more results: No such file"),
    ):
        run_into(folder, benchmark, tasks("a", "b"))

    assert len(benchmark.reports) == 1
    [rescued] = rescued_files(folder.log, folder.id)
    again = RunFolder.open(tmp_path / "again", config("a", "b", trials=2))
    assert again.adopt(rescued) == ([Simulation("", "a", 0)], True)
    assert len(again.missing()) == 3
    [adopted] = again.reports()
    assert adopted["config"]["benchmark"] == benchmark.reports[0]["config"]["benchmark"]
    again.close()


@pytest.fixture
def full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
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
        with pytest.raises(RunWriteError, match="No space left"):
            run_into(folder, Shop(answer), tasks("a", "b", "c"))
    [rescued] = rescued_files(folder.log, folder.id)
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
        for each in (older, new):
            rescue(folder.whole_record(each), folder.log, folder.id, OSError("full"))

    for path in (one, other):
        RunFolder.open(path, config("a", "b")).close()

    found = {each["task_id"]: each["final_answer"] for each in RunFolder.read(one).reports()}
    assert found == {"a": "later", "b": new["final_answer"]}
    assert list(RunFolder.read(other).reports()) == []


def test_a_rescued_evaluation_of_a_recorded_conversation_is_taken_over(tmp_path, full_disk):
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        folder.append(report("a", status="evaluation_failed", eval=None))
        nowhere = folder.log / "nowhere"
        kept = rescue(folder.whole_record(report("a")), nowhere, folder.id, OSError("full"))

    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        assert folder.adopt(kept)[0] == [Simulation("", "a", 0)]
        assert folder.unevaluated() == folder.missing() == []
        assert folder.adopt(kept)[0] == []


def test_a_temporary_folder_of_somebody_else_is_not_believed(tmp_path, full_disk, monkeypatch):
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        nowhere = folder.log / "nowhere"
        kept = rescue(folder.whole_record(report("a")), nowhere, folder.id, OSError("full"))
    monkeypatch.setattr(os, "geteuid", lambda: 65534)

    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        assert folder.missing() == [Simulation("", "a", 0)]
    assert kept.exists()


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


class Nested(Worker):
    """An agent whose trace nobody can follow to its end."""

    def gather_traces(self) -> JsonObject:
        deep = []
        for _ in range(5_000):
            deep = [deep]
        return {**super().gather_traces(), "deep": deep}


def test_a_trace_that_cannot_be_written_whole_holds_up_no_report(tmp_path):
    shop = Shop(setup_agents=lambda *args, **more: ([one := Nested()], {"worker": one}))
    with RunFolder.open(tmp_path / "run", config("a", "b")) as folder:
        run_into(folder, shop, tasks("a", "b"))

    for each in (found := list(RunFolder.read(tmp_path / "run").reports())):
        assert "<nested too deeply>" in str(each["traces"]["agents"]["worker"]["deep"])
    assert len(found) == 2


def test_a_report_that_cannot_be_written_is_named_and_holds_up_no_other(tmp_path, caplog):
    broken = {**report("b"), "config": 7}
    with RunFolder.open(tmp_path / "run", config("a", "b", "c", "d")) as folder:
        recorder, shop = RunRecorder(folder), Shop()
        recorder.store_reports(shop, [report("a"), broken, report("c")])
        recorder.store_reports(shop, [report("d")])
        recorder.on_run_end(shop, [])

    assert RunFolder.read(tmp_path / "run").missing() == [Simulation("", "b", 0)]
    assert isinstance(recorder.error, RunWriteError)
    assert "the report on task b, trial 0 cannot be written (TypeError: 'int'" in caplog.text
    assert "resuming the run runs it again" in str(recorder.error)


class TogetherEngine:
    """An engine with which all repetitions that are under way finish at the same moment."""

    size = 3

    def workers(self, job: Job) -> "TogetherEngine":
        self._run, self._started, self._finished = job.run, [], []
        return self

    def open(self) -> nullcontext:
        return nullcontext()

    def submit(self, repetition: Repetition) -> None:
        self._started.append(repetition)

    def wait(self) -> None:
        self._finished = [(each, self._run(each)) for each in self._started]
        self._started = []

    def take(self) -> tuple[Repetition, RepetitionResult] | None:
        return self._finished.pop(0) if self._finished else None


class WatchedDisk:
    """A log of which every state is noted, with what had been reported as finished until then.

    Only some bytes are written at a time, as a disk may do. ``kept`` is what a power failure
    leaves: all that was there when the disk was last waited for.
    """

    def __init__(self, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log, self.told, self.waits, self.kept = log, [], 0, b""
        self.states: list[tuple[bytes, bytes, list[Simulation]]] = []
        self._os_write, self._os_fsync = os.write, os.fsync
        monkeypatch.setattr(records.os, "write", self._write)
        monkeypatch.setattr(records.os, "fsync", self._fsync)

    def _is_log(self, descriptor: int) -> bool:
        return self.log.exists() and os.path.samestat(os.fstat(descriptor), self.log.stat())

    def _note(self) -> None:
        self.states.append((self.log.read_bytes(), self.kept, list(self.told)))

    def _write(self, descriptor: int, content: bytes | memoryview) -> int:
        written = self._os_write(descriptor, content[: 1 + len(content) // 3])
        if self._is_log(descriptor):
            self._note()
        return written

    def _fsync(self, descriptor: int) -> None:
        self._os_fsync(descriptor)
        if self._is_log(descriptor):
            self.waits, self.kept = self.waits + 1, self.log.read_bytes()
            self._note()

    def on_task_repeat_end(self, benchmark: Desk, report: dict[str, Any]) -> None:
        self.told.append(Simulation.of(report))
        self._note()


def test_one_wait_for_the_disk_serves_all_that_finished_meanwhile(tmp_path, monkeypatch):
    with RunFolder.open(tmp_path / "run", config("a", trials=9)) as folder:
        disk = WatchedDisk(folder.log, monkeypatch)
        benchmark = desk()
        benchmark.add_callback(disk)
        run_into(folder, benchmark, tasks("a"), engine=TogetherEngine())

    # What the reports share, three times three reports, and the end of the session.
    assert disk.waits == 1 + 3 + 1
    assert not RunFolder.read(tmp_path / "run").missing()


def test_at_every_moment_the_log_has_what_was_reported_as_finished(tmp_path, monkeypatch):
    plan = config("a", "b", trials=3)
    with RunFolder.open(tmp_path / "run", plan) as folder:
        disk = WatchedDisk(folder.log, monkeypatch)
        benchmark = desk()
        benchmark.add_callback(disk)
        run_into(folder, benchmark, tasks("a", "b"), engine=TogetherEngine())
    monkeypatch.undo()
    whole = list(RunFolder.read(tmp_path / "run").reports())
    states = {
        (content, tuple(told)) for killed, cut, told in disk.states for content in (killed, cut)
    }

    for number, (content, told) in enumerate(sorted(states, key=lambda state: len(state[0]))):
        victim = tmp_path / f"victim{number}"
        victim.mkdir()
        shutil.copy(tmp_path / "run" / "config.json", victim)
        (victim / "log.jsonl").write_bytes(content)

        found = RunFolder.read(victim)
        assert found.recorded.keys() >= set(told)
        assert found.damaged == []
        assert all(report in whole for report in found.reports())
    assert any(0 < len(told) < 6 for _, told in states)


def test_of_a_group_that_does_not_fit_the_disk_what_fits_is_written(tmp_path, monkeypatch):
    write, room = RecordWriter._write, 2

    def write_or_refuse(self, lines):
        nonlocal room
        reports = lines.count(b'"kind": "report"') if self.path.name == "log.jsonl" else 0
        if reports > room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        room -= reports
        write(self, lines)

    monkeypatch.setattr(RecordWriter, "_write", write_or_refuse)
    with (
        RunFolder.open(tmp_path / "run", config("a", trials=3)) as folder,
        pytest.raises(RunWriteError, match="No space left"),
    ):
        run_into(folder, desk(), tasks("a"), engine=TogetherEngine())

    [rescued] = rescued_files(folder.log, folder.id)
    assert len(RunFolder.read(tmp_path / "run").recorded) == 2
    assert rescued.read_text().count("\n") == 1
