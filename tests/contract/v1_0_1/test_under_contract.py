"""The 683 recorded conversations under both releases: how many verdicts change."""

from collections import Counter

import pytest

from maseval.benchmark.tau2.rescoring import score_under
from maseval.core.scoring_options import ScoringOptions


@pytest.mark.parametrize(
    ("domain", "conversations", "up", "down", "asks_judge", "changes"),
    [
        ("airline", 366, 23, 7, 0, {"up": 23, "down": 7}),
        ("retail", 202, 2, 5, 52, {"up": 1, "down": 5, "open": 46}),
        ("telecom", 115, 0, 0, 0, {}),
    ],
)
def test_verdicts_change_as_the_differential_figures_say(
    domain, conversations, up, down, asks_judge, changes, contract_dir, data, tau2_data
):
    """Strict replay, and a judge who says yes: so the figures were recorded."""
    file = contract_dir / "conversations" / f"{domain}.jsonl.gz"

    found = score_under(
        file, ["0.2.0", "1.0.1", "1.0.1+tasks.0.2.0"], options=ScoringOptions(strict=True)
    )

    totals = found.totals["1.0.1"]
    assert totals.simulations == conversations
    assert (totals.up_if_met, totals.down, totals.asks_judge) == (up, down, asks_judge)
    assert totals.judge_is_moot == asks_judge - totals.open
    assert Counter(each.direction for each in found.changes("1.0.1")) == Counter(changes)
    assert found.changes("1.0.1+tasks.0.2.0") == []


def test_re_grading_leniently_asks_the_judge_about_one_conversation_more(
    contract_dir, data, tau2_data
):
    """Of retail task 36, which neither release can replay strictly."""
    file = contract_dir / "conversations" / "retail.jsonl.gz"

    found = score_under(file, ["0.2.0", "1.0.1", "1.0.1+tasks.0.2.0"])

    assert (found.totals["1.0.1"].asks_judge, found.totals["1.0.1"].up_if_met) == (53, 3)
    open_now = [each.trial.task_id for each in found.changes("1.0.1") if each.after is None]
    assert "36" in open_now
    (change,) = found.changes("1.0.1+tasks.0.2.0")
    assert (change.trial.task_id, change.direction) == ("36", "up")
