"""What a comparison could have found, and what it would take to find more."""

from fractions import Fraction
from math import sqrt
from statistics import NormalDist, fmean, stdev, variance

import pytest

from maseval.stats.planning import Pairs, detectable_difference, plan, reach
from maseval.stats.sign_flip import sign_flip_test
from maseval.stats.trials import Trials
from tests.stats.made_up import chances, drawn, rng


def counts(*passed, trials=4):
    return [Trials(trials, each) for each in passed]


def test_the_reach_is_that_of_the_textbooks():
    assert reach(0.95) == pytest.approx(1.959964 + 0.841621, abs=1e-6)


def test_a_detectable_difference_is_so_many_standard_errors():
    differences = [0.25, -0.5, 0.0, 0.25, 0.75, 0.0, 0.0, 0.25]
    expected = reach(0.95) * stdev(differences) / sqrt(8)

    assert detectable_difference(differences, 0.95) == pytest.approx(expected)


@pytest.mark.parametrize("differences", [[0.5], [0.0] * 9, [], [0.5, 1.0, 0.25, 0.75, 1.0]])
def test_without_a_spread_or_with_too_few_tasks_nothing_can_be_found(differences):
    assert detectable_difference(differences, 0.95) is None


def test_five_tasks_are_too_few_and_six_are_not():
    for count, too_few in ((5, True), (6, False)):
        pairs = Pairs(counts(*[0] * count), counts(*[4] * count))
        p_value = sign_flip_test([Fraction(1)] * count).p_value
        advice = plan(pairs, p_value, 0.95, (None, None)).advice

        assert ("too few" in advice) is too_few
        assert (p_value > 0.05) is too_few


def noisy():
    """Forty tasks whose chances are a little higher in the second run."""
    numbers = rng(8)
    return Pairs(*(drawn([0.5 + rise] * 40, 4, numbers) for rise in (0.0, 0.08)))


def test_further_trials_are_counted_for_both_runs_and_paid_at_their_own_prices():
    found = plan(noisy(), p_value=0.2, level=0.95, costs=(0.1, 0.3))

    assert found.trials > 4
    assert found.simulations == 2 * 40 * (found.trials - 4)
    assert found.cost == pytest.approx(40 * (found.trials - 4) * 0.4)
    assert str(found.simulations) in found.advice


def test_unknown_prices_leave_the_cost_open():
    assert plan(noisy(), 0.2, 0.95, (0.1, None)).cost is None


def test_the_smallest_sufficient_number_of_trials_is_found():
    pairs = noisy()
    found = plan(pairs, 0.2, 0.95, (None, None))
    real = max(0.0, variance(pairs.differences) - pairs.noise())
    allowed = 40 * (found.difference / reach(0.95)) ** 2

    assert real + pairs.noise(found.trials - 1) > allowed >= real + pairs.noise(found.trials)


def test_tasks_that_differ_too_much_ask_for_more_tasks_instead():
    first, second = counts(*[4, 0] * 10, 0), counts(*[0, 4] * 10, 4)
    found = plan(Pairs(first, second), 0.9, 0.95, (1.0, 1.0))

    assert found.trials is None
    assert found.tasks > 1000
    assert "no number of trials" in found.advice


def test_one_trial_of_each_task_does_not_tell_how_many_more_are_needed():
    pairs = Pairs(counts(*[1, 0] * 4, trials=1), counts(1, 1, *[1, 0] * 3, trials=1))
    found = plan(pairs, 1.0, 0.95, (1.0, 1.0))

    assert found.trials is None
    assert "run two or more" in found.advice


@pytest.mark.slow
def test_a_design_finds_its_detectable_difference_in_four_of_five_cases():
    numbers = rng(4)
    shift, told, found = 0.08, [], 0
    for _ in range(400):
        fixed = [0.2 + 0.4 * p for p in chances(80, 1, 1, numbers)]
        pairs = Pairs(*(drawn([p + s for p in fixed], 4, numbers) for s in (0.0, shift)))
        told.append(detectable_difference(pairs.differences, 0.95))
        found += decided(pairs)
    # From the difference found in four of five cases to how often this one is found.
    standard_errors_away = shift / fmean(told) * reach(0.95)
    expected = 1 - NormalDist().cdf(1.96 - standard_errors_away)

    assert found / 400 == pytest.approx(expected, abs=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_with_the_trials_that_a_plan_asks_for_the_difference_is_decided_in_four_of_five_cases(seed):
    numbers = rng(seed)
    fixed = [0.3 + 0.3 * p for p in chances(100, 1, 1, numbers)]
    known = Pairs(*(drawn([p + s for p in fixed], 4, numbers) for s in (0.0, 0.05)))
    real = variance(known.differences) - known.noise()
    found = plan(known, 1.0, 0.95, (None, None))
    again = sum(
        decided(Pairs(*(drawn([p + s for p in fixed], found.trials, numbers) for s in shifts)))
        for shifts in [(0.0, found.difference)] * 200
    )

    # Where tasks seem to differ in the difference, the plan allows for it; here they do not.
    assert found.trials > 4
    assert 0.7 <= again / 200 <= (0.9 if real < 0 else 1.0)


def decided(pairs):
    exact = [
        Fraction(b.passed - a.passed, a.total)
        for a, b in zip(pairs.first, pairs.second, strict=True)
    ]
    return sign_flip_test(exact).p_value <= 0.05


def test_runs_of_different_numbers_of_tasks_cannot_be_paired():
    with pytest.raises(ValueError, match="shorter"):
        _ = Pairs([Trials(4, 1), Trials(4, 2)], [Trials(4, 1)]).differences
