"""Decisions on the way: what a look says, and what it depends on."""

import random
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.sequential import (
    COVERAGE,
    DIFFERENCES,
    ERROR,
    NOT_ON_PAGE,
    ON_PAGE,
    PAGE,
    POWER_LOST,
    Cell,
    Found,
)
from maseval.core.exceptions import ConfigurationError
from maseval.stats import Outcome
from maseval.stats.boundaries import normal_boundaries
from maseval.stats.paired_evidence import Evidence, PairedTask
from maseval.stats.sequential import Decision, SequentialPlan, decide
from maseval.stats.trials import Trials
from tests.stats.made_up import rng

LOOKS = (1, 2, 3, 4)


def made_up(chance: float, seed: int, tasks: int = 60, trials: int = 4) -> list[Outcome]:
    """Return a run in which every trial passes with one chance."""
    numbers = rng(seed)
    return [
        Outcome("shop", str(task), trial, numbers.random() < chance)
        for task in range(tasks)
        for trial in range(trials)
    ]


def ended(
    plan: SequentialPlan, run: list[Outcome], baseline: list[Outcome] | tuple[Any, ...] = ()
) -> Decision:
    """Return the decision with which a run ends."""
    found = (decide(plan, look, run, baseline) for look in range(1, len(plan.looks) + 1))
    return next(each for each in found if each.stops)


def test_a_plan_errs_on_each_side_with_half_of_what_its_level_leaves():
    """Of two means over n and m trials the variance goes with 1/n + 1/m; the last look has all."""
    plan = SequentialPlan("better", LOOKS, 4)

    assert plan.alpha == pytest.approx(0.025)
    assert plan.shares == pytest.approx((0.5 / 1.25, 0.5 / 0.75, 0.5 / (1 / 3 + 1 / 4), 1.0))
    assert plan.boundaries == normal_boundaries(plan.shares, 0.025)
    # At the first look 2 - 2 Phi(2.2414 / sqrt(share)) of the chance is spent (Lan & DeMets 1983).
    assert plan.boundaries[0] == pytest.approx(3.3569, abs=1e-4)
    assert replace(plan, level=0.9).alpha == pytest.approx(0.05)


@pytest.mark.parametrize(("chance", "outcome"), [(0.9, "better"), (0.1, "worse")])
def test_a_clear_difference_ends_a_run_early(chance, outcome):
    plan = SequentialPlan("better", LOOKS, 4)
    found = ended(plan, made_up(chance, 1), made_up(0.5, 2))

    assert found.outcome == outcome
    assert found.looks[-1].trials < 4
    assert (chance - 0.5) in found.interval
    assert found.interval.low < found.estimate < found.interval.high
    assert found.p_value < 0.05
    assert outcome in found.reason
    assert "on these tasks" in found.method


def test_equal_systems_are_undecided_after_all_trials():
    found = ended(SequentialPlan("better", LOOKS, 4), made_up(0.5, 3), made_up(0.5, 4))

    assert found.outcome == "undecided"
    assert 0.0 in found.interval
    assert found.p_value > 0.05
    assert [look.trials for look in found.looks] == [1, 2, 3, 4]


def test_not_worse_by_a_margin_needs_no_gain():
    plan = SequentialPlan("not worse", LOOKS, 4, margin=0.25)
    run, baseline = made_up(0.5, 5), made_up(0.5, 6)
    found = ended(plan, run, baseline)

    assert found.outcome == "not worse"
    assert "not worse by 25.0 points" in found.reason
    assert found.interval.low > -0.25
    assert ended(plan, made_up(0.1, 5), made_up(0.9, 6)).outcome == "worse"


def test_a_look_depends_on_nothing_that_came_later():
    plan = SequentialPlan("better", LOOKS, 4)
    run, baseline = made_up(0.6, 7), made_up(0.5, 8)
    early = [each for each in run if each.trial < 2]
    shuffled = [random.Random(0).sample(some, len(some)) for some in (run, baseline)]

    assert decide(plan, 2, early, baseline) == decide(plan, 2, run, baseline)
    assert decide(plan, 4, *shuffled) == decide(plan, 4, run, baseline)


def test_a_round_that_is_not_complete_is_not_looked_at():
    plan = SequentialPlan("better", LOOKS, 4)
    run, baseline = made_up(0.6, 7), made_up(0.5, 8)
    gap = [each for each in run if (each.task_id, each.trial) != ("9", 1)]

    decide(plan, 1, gap, baseline)
    with pytest.raises(ConfigurationError, match="trial 1 of task 'shop/9'"):
        decide(plan, 2, gap, baseline)


def test_a_trial_without_a_verdict_does_not_count():
    plan = SequentialPlan("better", LOOKS, 4)
    run, baseline = made_up(0.9, 1), made_up(0.5, 2)
    broken = [
        Outcome("shop", each.task_id, each.trial, None, reason="provider_error")
        if each.task_id == "3" and each.trial == 0
        else each
        for each in run
    ]
    without = [[each for each in some if each.task_id != "3"] for some in (run, baseline)]
    found, left_out = decide(plan, 1, broken, baseline), decide(plan, 1, *without)

    assert found.looks[0].without == 1
    assert found.looks[0].verdicts == found.looks[0].tasks == 59
    assert found.estimate == left_out.estimate
    assert decide(plan, 2, broken, baseline).looks[1].tasks == 60


def test_tasks_of_one_run_alone_are_named():
    plan = SequentialPlan("better", LOOKS, 4)
    found = decide(plan, 1, made_up(0.9, 1), made_up(0.5, 2, tasks=50))

    assert found.looks[0].tasks == 50
    assert found.notes == ["left out: 10 tasks that only one run has"]
    with pytest.raises(ConfigurationError, match="share no task"):
        decide(plan, 1, made_up(0.9, 1), [])


def test_no_verdict_at_all_decides_nothing():
    run = [Outcome("shop", "1", 0, None, reason="provider_error")]
    found = decide(SequentialPlan("better", (1, 2), 1), 1, run, [Outcome("shop", "1", 0, True)])

    assert (found.outcome, found.stops, found.estimate) == ("undecided", False, None)


def test_one_look_at_one_trial_of_each_task_is_the_corrected_test_of_mcnemar():
    """Of 4 tasks, 3 differ: sqrt(3) / 4 is the standard error, and half a step is 1 / 4."""
    new = [Outcome("shop", str(task), 0, True) for task in range(4)]
    old = [Outcome("shop", str(task), 0, task == 0) for task in range(4)]
    found = decide(SequentialPlan("better", (1,), 1), 1, new, old)

    assert found.looks[0].boundary == pytest.approx(1.959964 * 3**0.5 / 4 + 1 / 4, abs=1e-5)
    # Chi-squared with the correction for continuity: (|3 - 0| - 1)^2 / 3, on one degree of freedom.
    assert found.p_value == pytest.approx(0.24821, abs=1e-4)


def test_no_difference_at_the_end_has_a_p_value_of_one_whatever_an_earlier_look_could_find():
    """The chances to leave at the first look count too: without them it were 0.98 here."""
    run = [
        Outcome("shop", str(task), trial, (task + trial) % 2 == 0)
        for task in range(4)
        for trial in (0, 1)
    ]
    old = [Outcome("shop", str(task), 0, task % 2 == 0) for task in range(4)]
    found = decide(SequentialPlan("better", (1, 2), 1), 2, run, old)

    assert found.p_value == pytest.approx(1.0, abs=1e-6)


def test_the_variance_of_a_difference_has_one_more_trial_on_either_side():
    """Of tasks that pass one of two trials a trial varies by 1/2; half of 1/2 more may hide."""
    half = PairedTask(Trials(2, 1), Trials(2, 1))

    assert Evidence([half, half]).variance() == pytest.approx(2 * (1 / 2 + 1 / 4) / 2 / 2)


def test_a_round_without_any_verdict_does_not_keep_a_later_one_from_deciding():
    outage = [Outcome("shop", str(task), 0, None, reason="provider_error") for task in range(60)]
    later = [Outcome("shop", str(task), 1, True) for task in range(60)]
    found = decide(SequentialPlan("better", (1, 2), 4), 2, [*outage, *later], made_up(0.5, 2))

    assert (found.outcome, found.looks[0].boundary, found.looks[0].without) == ("better", None, 60)


def test_a_precision_on_these_tasks_is_reached_with_trials():
    plan = SequentialPlan("precision", tuple(range(1, 9)), half_width=0.06)
    found = ended(plan, made_up(0.5, 9, trials=8))

    assert found.outcome == "precise"
    assert 2 <= found.looks[-1].trials < 8
    assert found.looks[-1].reached <= 0.06 < found.looks[-2].reached
    assert "on these tasks" in found.reason


def test_a_precision_that_these_tasks_cannot_give_is_answered_with_what_they_can():
    plan = SequentialPlan("precision", LOOKS, half_width=0.03, claim="on tasks like these")
    halves = [
        Outcome("shop", str(task), trial, task % 2 == 0) for task in range(50) for trial in range(4)
    ]
    found = ended(plan, halves)

    assert (found.outcome, found.looks[-1].trials) == ("undecided", 2)
    assert "not reachable with 50 tasks: with unlimited trials it would be ±14." in found.reason


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"looks": ()}, "trials per task that rise"),
        ({"looks": (2, 2)}, "trials per task that rise"),
        ({"looks": tuple(range(1, 60))}, "at most 50"),
        ({"question": "not worse"}, "margin is 0.0"),
        ({"question": "precision"}, "half_width is None"),
        ({"claim": "on tasks like these"}, "is about these tasks"),
        ({"level": 95}, "confidence level"),
        ({"baseline_trials": 0}, "has no trial"),
    ],
)
def test_a_plan_that_means_nothing_is_refused(options, words):
    with pytest.raises(ConfigurationError, match=words):
        SequentialPlan(**{"question": "better", "looks": LOOKS, "baseline_trials": 4, **options})


def test_a_look_that_is_not_planned_and_a_trial_that_appears_twice_are_refused():
    run = made_up(0.5, 1, tasks=3)
    plan = SequentialPlan("better", LOOKS, 4)
    with pytest.raises(ConfigurationError, match="give 1 to 4"):
        decide(plan, 5, run, run)
    with pytest.raises(ConfigurationError, match="appears twice"):
        decide(plan, 1, [*run, run[0]], run)


def read_table() -> dict[Cell, Any]:
    """Return what the page says of each cell."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("<!-- differences: begin -->")
    table = rest.partition("<!-- differences: end -->")[0].strip().splitlines()
    found = {}
    for line in table[2:]:
        tasks, truth, *figures = (cell.strip() for cell in line.strip("|").split("|"))
        numbers = [float(each) / 100 for figure in figures for each in figure.split(" / ")]
        found[Cell(tasks, truth)] = Found(*numbers)
    return found


def test_every_cell_of_the_page_keeps_the_promises():
    table = read_table()

    shown = [cell for cell in DIFFERENCES if cell.tasks in ON_PAGE]
    assert list(table) == [cell for cell in shown if cell.truth not in NOT_ON_PAGE]
    for cell, found in table.items():
        if cell.truth.startswith("equal"):
            assert found.high + found.low <= ERROR
        assert found.high >= found.fixed_high - POWER_LOST
        assert COVERAGE[0] <= found.held <= COVERAGE[1]
