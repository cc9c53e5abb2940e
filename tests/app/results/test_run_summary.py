"""A run in numbers."""

import pytest

from maseval.app.results.run_summary import run_summary
from maseval.benchmark.tau2.evaluator import compute_pass_hat_k
from maseval.commands import tau2
from maseval.core.outcome import Outcome, verdict_for
from maseval.runs import RunFolder, Simulation
from maseval.runs.recording import outcomes_in


def line(
    task: str,
    trial: int,
    outcome: str = "pass",
    *,
    domain: str = "shop",
    status: str = "success",
    cost: float = 0.0,
    tokens: int = 0,
) -> Outcome:
    passed, reason = verdict_for(outcome, status)
    row = Outcome(domain, task, trial, passed, cost, reason, status=status, kind=outcome)
    return row._replace(seconds=1.0, tokens=tokens)


def planned(*tasks: str, trials: int = 2, domain: str = "shop") -> list[Simulation]:
    return [Simulation(domain, task, trial) for task in tasks for trial in range(trials)]


def test_every_domain_and_all_of_them_have_their_numbers():
    lines = [line("1", 0), line("1", 1, "fail"), line("1", 0, domain="bank", tokens=7, cost=0.5)]

    summary = run_summary(lines, [*planned("1"), Simulation("bank", "1", 0)])

    assert [score.name for score in summary.groups] == ["shop", "bank", "all"]
    assert summary.domains[0].pass_hat[1].value == 0.5 and summary.domains[0].pass_hat[2].value == 0
    assert summary.overall.pass_hat[1].value == 0.75
    assert (summary.cost, summary.tokens) == (0.5, 7)


@pytest.mark.parametrize(
    "status", ["task_timeout", "provider_error", "content_filtered", "evaluation_failed"]
)
def test_what_is_tried_again_has_no_verdict_and_is_never_the_agents_failure(status):
    lines = [line("1", 0), line("2", 0, "error", status=status)]

    summary = run_summary(lines, planned("1", "2", trials=1))

    overall = summary.overall
    assert (overall.failed, overall.passed, overall.verdicts) == (1, 1, 1)
    assert overall.in_brief()["done"] == 1
    assert overall.pass_hat[1].value == 1.0
    assert overall.in_brief()["pass^1"]["worst"] == 0.5
    assert summary.method.endswith(
        f"1 of 2 simulations have a verdict (1 {status}): pass^1 is 50.0% if all others fail, "
        "100.0% if all pass."
    )


@pytest.mark.parametrize("status", ["agent_error", "context_overflow"])
def test_what_the_agent_broke_off_is_its_failure(status):
    lines = [line("1", 0), line("2", 0, "error", status=status)]

    overall = run_summary(lines, planned("1", "2", trials=1)).overall

    assert (overall.failed, overall.verdicts, overall.pass_hat[1].value) == (0, 2, 0.5)


def test_the_range_covers_whatever_has_no_verdict():
    """Never run, to be run again, unjudged, evaluation failed: each may still pass or fail."""
    lines = [
        *(line("1", 0), line("2", 0, "fail"), line("3", 0, "error", status="quota_exhausted")),
        *(line("4", 0, "unjudged"), line("5", 0, "error", status="evaluation_failed")),
    ]

    summary = run_summary(lines, planned("1", "2", "3", "4", "5", "6", trials=1))

    assert summary.overall.pass_hat[1].value == 0.5
    assert summary.overall.pass_hat[1].bounds == pytest.approx((1 / 6, 5 / 6))
    assert summary.overall.missing == {
        **{"quota_exhausted": 1, "unjudged": 1, "evaluation_failed": 1, "missing": 1}
    }


def test_without_any_verdict_there_is_no_number():
    lines = [line("1", 0, "error", status="setup_failed"), line("1", 1, "unjudged")]

    summary = run_summary(lines, planned("1"))

    assert summary.overall.pass_hat == summary.domains[0].pass_hat == {}
    assert "None of the 2 simulations has a verdict" in summary.method
    assert "%" not in summary.method.split("None of")[1]
    assert "pass^1" not in summary.overall.in_brief()


def test_the_numbers_are_those_of_the_benchmark(tmp_path):
    result = tau2.run(domain="library", agent="noisy", trials=3, output=tmp_path / "r")

    folder = RunFolder.read(result.folder)
    expected = compute_pass_hat_k(folder.reports())
    found = {f"pass^{k}": each.value for k, each in result.summary.overall.pass_hat.items()}
    assert found == pytest.approx(expected)
    assert len(outcomes_in(folder)) == 36
