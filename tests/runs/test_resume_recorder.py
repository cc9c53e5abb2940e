import logging
import shutil
import threading

import pytest

from maseval.runs import RunFolder, RunRecorder, RunWriteError, Simulation, run_into
from tests.core.worlds import Shop
from tests.runs.worlds import config, desk, tasks


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
