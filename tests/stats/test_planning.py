"""What a comparison could have found, and what it would take to find more."""

import math
from dataclasses import replace
from fractions import Fraction
from statistics import variance

import pytest

from benchmarks.coverage import draw_trials
from maseval.core.exceptions import ConfigurationError
from maseval.stats import requirement
from maseval.stats.forecast import TaskSet, forecast
from maseval.stats.intervals import mean_interval
from maseval.stats.planning import Pairs, fewest_tasks, plan, reach
from maseval.stats.sign_flip import sign_flip_test
from maseval.stats.trials import Trials
from tests.stats.made_up import rng


def counts(*passed: int, trials: int = 4) -> list[Trials]:
    return [Trials(trials, each) for each in passed]


def test_the_reach_is_that_of_the_textbooks():
    assert reach(0.95) == pytest.approx(1.959964 + 0.841621, abs=1e-6)
    assert reach(0.95, 5) == pytest.approx(2.776445 + 0.841621, abs=1e-6)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.998])
@pytest.mark.parametrize("margin", [0.0, 0.2, 0.5])
def test_from_the_fewest_tasks_on_a_change_of_all_is_decided(level, margin):
    fewest = fewest_tasks(level, margin)
    for count in (fewest - 1, fewest):
        changes = [Fraction(-1)] * count
        decided = sign_flip_test(changes).p_value <= 1 - level
        if margin:
            decided = mean_interval([-1.0] * count, level, (-1.0, 1.0)).high < -margin
        pairs = Pairs(counts(*[4] * count), counts(*[0] * count))
        p_value = sign_flip_test(changes).p_value
        found = plan(pairs, p_value, level, (None, None), margin)

        assert (count == fewest) == (found.decision == "decided")
        assert decided == (count == fewest) or count == 1
        assert (f"at least {fewest} are needed" in found.advice) == (count < fewest)


def test_of_fewer_tasks_that_differ_none_is_decided_and_all_say_so():
    pairs = Pairs(counts(*[4] * 12), counts(*[0] * 3, *[4] * 9))
    p_value = sign_flip_test([Fraction(-1)] * 3 + [Fraction(0)] * 9).p_value
    for level, fewest in ((0.9, 5), (0.95, 6)):
        found = plan(pairs, p_value, level, (None, None))

        assert p_value > 1 - level
        assert found.decision == "undecidable" and found.trials is None
        assert f"3 of 12 tasks differ; at least {fewest} must differ" in found.advice
        assert found.tasks >= 12 * fewest / 3


def test_a_forecast_and_a_comparison_ask_for_the_same_trials():
    pairs = noisy()
    found = plan(pairs, 0.2, 0.95, (None, None))
    differing = max(0.0, variance(pairs.differences) - pairs.noise())
    about = TaskSet(40, 0.5, pairs.noise(1) / 2, 0.0, differing)

    (_, answer) = forecast(about, difference=abs(found.difference)).answers
    assert f"on tasks like these: {found.trials} trials per task" in answer
    few = Pairs(counts(4, 4, 4), counts(0, 0, 0))
    (words,) = forecast(replace(about, tasks=3), difference=0.2).answers
    assert plan(few, 0.25, 0.95, (None, None)).advice in words


def noisy() -> Pairs:
    """Forty tasks whose chances are a little higher in the second run."""
    numbers = rng(8)
    return Pairs(*(draw_trials([0.5 + rise] * 40, 4, numbers) for rise in (0.0, 0.08)))


def test_further_trials_are_counted_for_both_runs_and_paid_at_their_own_prices():
    found = plan(noisy(), p_value=0.2, level=0.95, costs=(0.1, 0.3))

    assert found.trials > 4
    assert found.simulations == 2 * 40 * (found.trials - 4)
    assert found.cost == pytest.approx(40 * (found.trials - 4) * 0.4)
    assert str(found.simulations) in found.advice
    assert plan(noisy(), 0.2, 0.95, (0.1, None)).cost is None


def test_beyond_a_margin_only_what_exceeds_it_is_to_be_shown():
    pairs, margin = noisy(), 0.02
    found = plan(pairs, 0.2, 0.95, (None, None), margin)
    beyond = abs(found.difference) - margin
    needed = variance(pairs.differences) * (reach(0.95, 40) / beyond) ** 2

    assert found.tasks == math.ceil(needed)
    assert found.tasks > plan(pairs, 0.2, 0.95, (None, None)).tasks


def test_the_smallest_sufficient_number_of_trials_is_found():
    pairs = noisy()
    found = plan(pairs, 0.2, 0.95, (None, None))
    real = max(0.0, variance(pairs.differences) - pairs.noise())
    allowed = 40 * (found.difference / reach(0.95, 40)) ** 2

    assert real + pairs.noise(found.trials - 1) > allowed >= real + pairs.noise(found.trials)


def test_tasks_that_differ_too_much_ask_for_more_tasks_instead():
    first, second = counts(*[4, 0] * 10, 0), counts(*[0, 4] * 10, 4)
    found = plan(Pairs(first, second), 0.9, 0.95, (1.0, 1.0))

    assert found.trials is None
    assert found.tasks > 1000
    assert "no number of trials" in found.advice


def test_one_trial_of_each_task_does_not_tell_how_many_more_are_needed():
    pairs = Pairs(counts(*[1, 0] * 4, trials=1), counts(*[0, 1] * 3, 1, 1, trials=1))
    found = plan(pairs, 1.0, 0.95, (1.0, 1.0))

    assert found.trials is None
    assert "less than 2 trials per task" in found.advice


def test_runs_of_different_numbers_of_tasks_cannot_be_paired():
    with pytest.raises(ValueError, match="shorter"):
        _ = Pairs([Trials(4, 1), Trials(4, 2)], [Trials(4, 1)]).differences


def test_what_is_missed_at_one_rate_is_met_at_none_above_it() -> None:
    tasks = [Trials(4, 1), Trials(4, 2), Trials(4, 0), Trials(4, 3)] * 5
    order = ["met", "undecided", "missed"]
    found = [requirement(tasks, step / 20) for step in range(20)]
    verdicts = [order.index(each.verdict) for each in found]
    assert verdicts == sorted(verdicts) and set(verdicts) == {0, 1, 2}
    for each in found:
        assert (each.verdict == "met") == (each.interval.low >= each.at_least)
        assert (each.verdict == "missed") == (each.interval.high < each.at_least)


def test_the_trials_it_advises_would_decide_it() -> None:
    tasks = [Trials(4, passed) for passed in (0, 1, 2, 3, 3, 4, 2, 1, 2, 2)]
    found = requirement(tasks, 0.68)
    assert found.verdict == "undecided" and "trials per task" in found.advice
    trials = int(found.advice.split()[0])
    more = [Trials(trials, round(trials * (0.5 + step / 1000))) for step in range(-5, 5)]
    assert requirement(more, 0.68).verdict == "missed"


def test_trials_cannot_stand_in_for_tasks() -> None:
    found = requirement([Trials(4, 2), Trials(4, 3), Trials(4, 2), Trials(4, 3)], 0.75)
    assert found.verdict == "undecided" and found.advice.startswith("about 9 tasks like these")
    assert requirement([Trials(1000, 625)] * 4, 0.75).verdict == "undecided"


def test_the_tasks_it_advises_would_decide_it() -> None:
    tasks = [Trials(1, 1)] * 3 + [Trials(1, 0)] * 2
    found = requirement(tasks, 0.8)
    enough = int(found.advice.split()[1])
    assert "tasks like these" in found.advice
    assert requirement(tasks * (enough // 5 + 1), 0.8).verdict == "missed"
    assert requirement(tasks * (enough // 5 - 1), 0.8).verdict == "undecided"


def test_one_task_is_judged_by_its_trials() -> None:
    assert requirement([Trials(20, 2)], 0.8).verdict == "missed"
    assert "trials per task" in requirement([Trials(4, 3)], 0.8).advice


def test_a_score_equal_to_the_rate_cannot_be_decided() -> None:
    found = requirement([Trials(2, 1)] * 6, 0.5)
    assert found.verdict == "undecided" and "no number of trials" in found.advice


@pytest.mark.parametrize(
    ("tasks", "rate", "alpha", "words"),
    [
        *((Trials(1, 1), rate, 0.05, "a share from 0 to 1") for rate in (-0.1, 80, float("nan"))),
        *((Trials(1, 1), 0.8, alpha, "give a chance below") for alpha in (0, 0.5, 5)),
        (Trials(0, 0), 0.8, 0.05, "no task has a trial"),
    ],
)
def test_what_means_nothing_is_refused(tasks, rate, alpha, words) -> None:
    with pytest.raises(ConfigurationError, match=words):
        requirement([tasks], rate, alpha)
