"""A run in numbers."""

import pytest

from maseval.app.results.recording import SimulationLine, lines_of
from maseval.app.results.results import run_summary
from maseval.benchmark.tau2.metrics import compute_pass_hat_k
from maseval.commands import tau2
from maseval.runs import RunFolder, Simulation


def line(task, trial, outcome="pass", *, domain="shop", status="success", cost=0.0, tokens=0):
    return SimulationLine(domain, task, trial, status, outcome, None, None, 1.0, cost, tokens, None)


def planned(*tasks, trials=2, domain="shop"):
    return [Simulation(domain, task, trial) for task in tasks for trial in range(trials)]


def test_every_domain_and_all_of_them_have_their_numbers():
    lines = [line("1", 0), line("1", 1, "fail"), line("1", 0, domain="bank", tokens=7, cost=0.5)]

    summary = run_summary(lines, [*planned("1"), Simulation("bank", "1", 0)])

    assert [score.name for score in summary.rows] == ["shop", "bank", "all"]
    assert summary.domains[0].pass_hat[1].value == 0.5 and summary.domains[0].pass_hat[2].value == 0
    assert summary.overall.pass_hat[1].value == 0.75
    assert (summary.cost, summary.tokens) == (0.5, 7)


def test_a_task_that_lacks_trials_limits_k():
    summary = run_summary([line("1", 0), line("1", 1), line("2", 0)], planned("1", "2"))

    assert list(summary.overall.pass_hat) == [1]
    assert (summary.overall.recorded, summary.overall.planned) == (3, 4)


def test_what_is_tried_again_counts_as_failed_and_not_passed():
    lines = [line("1", 0), line("2", 0, "error", status="task_timeout")]

    overall = run_summary(lines, planned("1", "2", trials=1)).overall

    assert (overall.failed, overall.passed) == (1, 1)
    assert overall.to_dict()["done"] == 1
    assert overall.pass_hat[1].value == 0.5


def test_what_a_provider_let_down_is_counted_and_the_score_without_it_is_shown():
    lines = [
        *(line("1", 0), line("2", 0, "fail"), line("3", 0, "error", status="context_overflow")),
        line("4", 0, "error", status="provider_error"),
        line("5", 0, "error", status="content_filtered"),
    ]

    summary = run_summary(lines, planned("1", "2", "3", "4", "5", trials=1))

    assert summary.overall.pass_hat[1].value == pytest.approx(1 / 5)
    assert summary.provider_failures.pass_1.value == pytest.approx(1 / 3)
    assert summary.overall.failed == 2
    assert "2 simulations failed at the provider (1 provider_error, 1 content_filtered)" in (
        summary.method
    )
    assert "without them overall pass^1 is 33.3% (95% CI" in summary.method
    assert summary.provider_failures.to_dict()["counts"] == {
        "provider_error": 1,
        "content_filtered": 1,
    }


def test_a_run_without_such_failures_says_nothing_of_them():
    summary = run_summary([line("1", 0)], planned("1", trials=1))

    assert summary.provider_failures is None and "provider" not in summary.method


def test_if_every_simulation_was_let_down_there_is_no_second_score():
    summary = run_summary([line("1", 0, "error", status="provider_error")], planned("1", trials=1))

    assert summary.provider_failures.pass_1 is None
    assert "no other simulation has a verdict" in summary.method


def test_an_incomplete_run_says_between_which_numbers_it_may_end():
    summary = run_summary([line("1", 0), line("1", 1, "fail")], planned("1", "2"))
    complete = run_summary([line("1", 0), line("1", 1)], planned("1"))

    assert "2 of 4 planned simulations are missing" in summary.method
    assert "25.0% if all of them fail, 75.0% if all pass" in summary.method
    assert "missing" not in complete.method


def test_nothing_run_is_no_number():
    assert run_summary([], planned("1")).overall.pass_hat == {}


def test_without_any_verdict_there_is_no_number():
    lines = [line("1", 0, "error", status="setup_failed"), line("1", 1, "unjudged")]

    summary = run_summary(lines, planned("1"))

    assert summary.overall.pass_hat == summary.domains[0].pass_hat == {}
    assert "None of the 2 planned simulations has a verdict" in summary.method
    assert "%" not in summary.method.split("None of")[1]
    assert "pass^1" not in summary.overall.to_dict()


def test_the_numbers_are_those_of_the_benchmark(tmp_path):
    result = tau2.run(domain="library", agent="noisy", trials=3, output=tmp_path / "r")

    folder = RunFolder.read(result.folder)
    expected = compute_pass_hat_k(folder.reports())
    found = {f"pass^{k}": each.value for k, each in result.summary.overall.pass_hat.items()}
    assert found == pytest.approx(expected)
    assert len(lines_of(folder)) == 36
