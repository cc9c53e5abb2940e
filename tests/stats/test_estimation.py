"""The one way from trials to a number with its interval."""

import pytest

from maseval.stats.intervals import mean_interval
from maseval.stats.summary import estimate, summarise
from maseval.stats.trials import Trials
from tests.stats.made_up import run

TASKS = [Trials(4, 4), Trials(4, 2), Trials(4, 0), Trials(4, 3)]


def test_the_value_is_the_mean_over_tasks_and_the_interval_is_clustered_by_task():
    found = estimate(TASKS, k=2)

    assert found.name == "pass^2"
    assert found.value == pytest.approx((1 + 1 / 6 + 0 + 1 / 2) / 4)
    assert found.interval == mean_interval([1, 1 / 6, 0, 1 / 2])
    assert found.in_brief() == {
        "value": found.value,
        "low": found.interval.low,
        "high": found.interval.high,
    }


def test_k_and_level_are_those_asked_for():
    found = estimate(TASKS, 2, level=0.8)

    assert found.name == "pass^2"
    assert found.interval.level == found.rerun.level == 0.8


def test_one_task_has_the_interval_of_its_trials():
    found = estimate([Trials(5, 4)])
    span = mean_interval([1.0] * 4 + [0.0])

    assert (found.value, found.low, found.high) == (0.8, span.low, span.high)
    assert found.rerun is not None
    assert found.interval.method == "exact, trials of one task"
    words = summarise(run([3])).interval_in_words
    assert words == "95% CI, exact, trials of one task."


@pytest.mark.parametrize("passed", range(6))
def test_the_interval_of_one_task_holds_the_value_of_every_k(passed):
    for k in range(1, 6):
        found = estimate([Trials(5, passed)], k)
        assert 0 <= found.low <= found.value <= found.high <= 1
        assert found.low < found.high


def test_there_is_no_value_where_some_task_has_fewer_than_k_trials():
    assert estimate([Trials(4, 4), Trials(2, 2)], k=2).value == 1.0
    assert estimate([Trials(4, 4), Trials(2, 2)], k=3).value is None
    assert estimate([]).value is None
