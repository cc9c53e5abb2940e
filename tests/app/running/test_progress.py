"""How far a run is."""

import pytest

from maseval.app.results.run_summary import run_summary
from maseval.app.running.progress import RunProgress
from maseval.core.outcome import Outcome
from tests.app.results.test_run_summary import line, planned


def status_after(lines: list[Outcome]) -> RunProgress:
    progress = RunProgress(len(lines))
    for each in lines:
        progress.recall(each)
    return progress


@pytest.mark.parametrize("trials", [1, 4])
def test_the_live_number_is_the_one_that_the_finished_run_shows(trials):
    outcomes = {"1": "pass", "2": "fail", "3": "pass"}
    lines = [line(task, n, kind) for task, kind in outcomes.items() for n in range(trials)]

    live = status_after(lines).pass_1
    final = run_summary(lines, planned(*outcomes, trials=trials)).overall.pass_hat[1]

    assert live.in_brief() == final.in_brief()


def test_a_task_counts_once_while_its_trials_are_under_way():
    lines = [line("1", 0), line("2", 0, "fail"), line("2", 1, "fail")]

    assert status_after(lines).pass_1.value == 0.5


@pytest.mark.parametrize(
    "lines", [[], [line("1", 0, "error", status="setup_failed"), line("2", 0, "unjudged")]]
)
def test_without_any_verdict_there_is_no_number(lines):
    assert status_after(lines).pass_1 is None
