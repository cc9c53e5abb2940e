"""Labels of failures are there before any failure was opened."""

from pathlib import Path
from typing import Any

import pytest

from maseval.core.report import Report
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import VerdictChecker

pytest.importorskip("starlette")

from maseval.app.results.explained import Review
from maseval.commands import BenchmarkSupport, Finding
from maseval.runs import RunFolder
from maseval.view import viewed
from tests.report.reading import rows_of
from tests.runs.worlds import config, report
from tests.view.builders import finish_background_work, viewer

pytestmark = pytest.mark.needs(library="starlette")

WRONG = [{"reward": 0.0}]


class Examining(BenchmarkSupport):
    """Finds something in every failure and every verdict right, and notes what it was asked."""

    def __init__(self) -> None:
        self.labelled, self.checked = [], []

    def review(self, report: Report, *, explain_pass: bool = False) -> Review:
        self.labelled.append(report["task_id"])
        return Review([Finding("cause", "agent", "wrong arguments", "", "")])

    def verdict_checker(self, folder: Recording) -> VerdictChecker | None:
        return lambda report: self.checked.append(report["task_id"])


@pytest.fixture
def support(monkeypatch: pytest.MonkeyPatch) -> Examining:
    found = Examining()
    monkeypatch.setattr(viewed, "support_for", lambda run: found)
    return found


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two of three simulations failed."""
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    with RunFolder.open(tmp_path / "runs" / "run", config("a", "b", "c")) as folder:
        folder.append(report("a"))
        folder.append(report("b", eval=WRONG))
        folder.append(report("c", eval=WRONG))
    return folder.path


def labels_once_known(client: Any, number: int) -> list[list[str]]:
    """Open the run, wait for its labels, and return those of each simulation."""
    client.get("/api/run/index", params={"run": "run"})
    finish_background_work("maseval-labels")
    found = client.get("/api/run/index", params={"run": "run"}).json()
    assert found["live"]["labelled"] == number
    return [row["labels"] for row in rows_of(found)]


def test_all_simulations_of_an_opened_run_get_their_labels(run, support):
    client = viewer(run.parent)

    assert labels_once_known(client, 3) == 3 * [["agent: wrong arguments"]]
    assert sorted(support.labelled) == ["a", "b", "c"]
    assert support.labelled[-1] == "a"  # it passed, and can wait
    assert client.get("/api/run/live", params={"run": "run"}).json()["labelled"] == 3


def test_results_can_be_asked_for_without_a_row_for_each_simulation(run):
    client = viewer(run.parent)
    index = client.get("/api/run/index", params={"run": "run"}).json()

    results = client.get("/api/run/results", params={"run": "run"}).json()

    assert results["live"]["planned"] == 3
    assert {**index, **results, "live": None} == {**index, "live": None}
    assert not results.keys() & {"tasks", "simulations"}


def test_verdicts_that_held_are_not_checked_again_after_a_restart_while_the_log_is_the_same(
    run, support
):
    def open_run():
        support.checked.clear()
        viewer(run.parent).get("/api/run/index", params={"run": "run"})
        finish_background_work("maseval-labels")
        return len(support.checked)

    assert (open_run(), open_run()) == (3, 0)
    with (run / "log.jsonl").open("ab") as log:
        log.write(b"\n")
    assert open_run() == 3
