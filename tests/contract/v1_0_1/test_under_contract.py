"""The 683 recorded conversations under both releases: how many verdicts change."""

from typing import Any

import pytest

from maseval.benchmark.tau2.rescoring.recount import Recount
from maseval.benchmark.tau2.results import read_results
from maseval.benchmark.tau2.results.writing import Tau2Report
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.scoring.score import score_simulation
from maseval.core.scoring_options import ScoringOptions

OLD, NEW, MIXED = "0.2.0", "1.0.1", "1.0.1+tasks.0.2.0"


def verdicts(file: Any, release: Any) -> list[Any]:
    """Whether each conversation passes; None if a judge decides."""
    found = Recount(read_results(file), ScoringOptions(data_version=release))
    return [None if each.open else each.passed for _, each in found.judge_all()]


def strict_verdict(each: Any, release: Any) -> Any:
    """The same where what cannot be replayed raises what the original raises."""
    options = {"domain": each.domain_name, "solo": each.solo, "version": release}
    try:
        found = score_simulation(each.conversation, strict=True, **options)
        return found["reward"] == 1.0
    except Exception as error:  # of any kind, as the original's
        judge = error.__cause__
        return None if isinstance(judge, NoJudgeError) and judge.so_far["reward"] else False


@pytest.mark.parametrize(
    ("domain", "conversations", "up", "down", "decided_by_judge"),
    [("airline", 366, 23, 7, 0), ("retail", 202, 2, 5, 46), ("telecom", 115, 0, 0, 0)],
)
def test_verdicts_change_as_the_differential_figures_say(
    domain, conversations, up, down, decided_by_judge, contract_dir, data, tau2_data
):
    """Strict replay, and a judge who says yes: so the figures were recorded."""
    file = contract_dir / "conversations" / f"{domain}.jsonl.gz"

    every = [Tau2Report(each) for each in read_results(file).reports()]
    old, new, mixed = ([strict_verdict(each, name) for each in every] for name in (OLD, NEW, MIXED))

    changes = list(zip(old, new, strict=True))
    assert len(changes) == conversations
    assert changes.count((False, True)) + changes.count((False, None)) == up
    assert changes.count((True, False)) == down
    assert new.count(None) == decided_by_judge
    assert mixed == old


def test_re_graded_leniently_one_conversation_more_may_pass(contract_dir, data, tau2_data):
    """Of retail task 36, which neither release can replay strictly."""
    file = contract_dir / "conversations" / "retail.jsonl.gz"

    old, new, mixed = (verdicts(file, each) for each in (OLD, NEW, MIXED))

    changes = list(zip(old, new, strict=True))
    assert changes.count((False, True)) + changes.count((False, None)) == 3
    assert [pair for pair in zip(old, mixed, strict=True) if pair[0] != pair[1]] == [(False, True)]
