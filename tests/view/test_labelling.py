"""Labels of failures are there before any failure was opened."""

import pytest

pytest.importorskip("starlette")

from maseval.core.outcome import RecordedReport
from maseval.runs import RunFolder
from maseval.runs.verdict_check import RunCheck
from maseval.view.reading import RunReader
from tests.report.reading import rows_of
from tests.runs.worlds import config, report
from tests.view.builders import finish_background_work, viewer

pytestmark = pytest.mark.needs(library="starlette")

WRONG = [{"reward": 0.0}]


class Labelling(RunReader):
    """Labels what it is asked about, and notes that."""

    def __init__(self):
        self.asked = []

    def complete_report(self, run, report, key=None):
        self.asked.append(report["task_id"])
        return {**report, "labels": ["agent: wrong arguments"]}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Two of three simulations failed."""
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    with RunFolder.open(tmp_path / "runs" / "run", config("a", "b", "c")) as folder:
        folder.append(report("a"))
        folder.append(report("b", eval=WRONG))
        folder.append(report("c", eval=WRONG))
    return folder.path


def labels_once_known(client, number):
    """Open the run, wait for its labels, and return those of each simulation."""
    client.get("/api/run/index", params={"run": "run"})
    finish_background_work("maseval-labels")
    found = client.get("/api/run/index", params={"run": "run"}).json()
    assert found["live"]["labelled"] == number
    return [row["labels"] for row in rows_of(found)]


def test_all_simulations_of_an_opened_run_get_their_labels(run):
    reader = Labelling()
    client = viewer(run.parent, reader=reader)

    assert labels_once_known(client, 3) == 3 * [["agent: wrong arguments"]]
    assert sorted(reader.asked) == ["a", "b", "c"]
    assert reader.asked[-1] == "a"  # it passed, and can wait
    assert client.get("/api/run/live", params={"run": "run"}).json()["labelled"] == 3


def test_results_can_be_asked_for_without_a_row_for_each_simulation(run):
    client = viewer(run.parent)
    index = client.get("/api/run/index", params={"run": "run"}).json()

    results = client.get("/api/run/results", params={"run": "run"}).json()

    assert results["live"]["planned"] == 3
    assert {**index, **results, "live": None} == {**index, "live": None}
    assert not results.keys() & {"tasks", "simulations"}


class Checking(RunReader):
    """Finds every verdict right, and notes whose it was asked about."""

    def __init__(self):
        self.asked = []

    def begin_check(self, run):
        return RunCheck(run)

    def check_verdict(self, checking, run, report, key):
        checking.add(RecordedReport(report).outcome, None)
        self.asked.append(report["task_id"])


def test_verdicts_that_held_are_not_checked_again_after_a_restart_while_the_log_is_the_same(run):
    for expected in (3, 0):
        reader = Checking()
        viewer(run.parent, reader=reader).get("/api/run/index", params={"run": "run"})
        finish_background_work("maseval-labels")
        assert len(reader.asked) == expected

    with (run / "log.jsonl").open("ab") as log:
        log.write(b"\n")
    viewer(run.parent, reader=reader).get("/api/run/index", params={"run": "run"})
    finish_background_work("maseval-labels")

    assert len(reader.asked) == 3
