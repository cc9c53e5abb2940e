"""The 683 recorded conversations under both releases: how many verdicts change."""

import pytest

from maseval.benchmark.tau2.rescoring import score_under
from maseval.core.scoring_options import ScoringOptions


@pytest.mark.parametrize(
    ("domain", "conversations", "up", "down", "asks_judge", "decided_by_judge"),
    [("airline", 366, 23, 7, 0, 0), ("retail", 202, 2, 5, 52, 46), ("telecom", 115, 0, 0, 0, 0)],
)
def test_verdicts_change_as_the_differential_figures_say(
    domain, conversations, up, down, asks_judge, decided_by_judge, contract_dir, data, tau2_data
):
    """Strict replay, and a judge who says yes: so the figures were recorded."""
    file = contract_dir / "conversations" / f"{domain}.jsonl.gz"

    found = score_under(
        file, ["0.2.0", "1.0.1", "1.0.1+tasks.0.2.0"], options=ScoringOptions(strict=True)
    )

    totals = found.totals["1.0.1"]
    assert totals.simulations == conversations
    assert (totals.up_if_met, totals.down, totals.asks_judge) == (up, down, asks_judge)
    assert totals.open == decided_by_judge
    assert found.changes("1.0.1+tasks.0.2.0") == []


def test_re_grading_leniently_asks_the_judge_about_one_conversation_more(
    contract_dir, data, tau2_data
):
    """Of retail task 36, which neither release can replay strictly."""
    file = contract_dir / "conversations" / "retail.jsonl.gz"

    found = score_under(file, ["0.2.0", "1.0.1", "1.0.1+tasks.0.2.0"])

    assert (found.totals["1.0.1"].asks_judge, found.totals["1.0.1"].up_if_met) == (53, 3)
    (change,) = found.changes("1.0.1+tasks.0.2.0")
    assert (change.trial.task_id, change.direction) == ("36", "up")
