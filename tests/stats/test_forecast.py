"""What a question would cost, held against simulated runs and against what is known."""

import math
from dataclasses import replace

import pytest

from benchmarks.sequential import Cell
from maseval.core.exceptions import ConfigurationError
from maseval.stats.forecast import (
    TaskSet,
    forecast,
    observed_tasks,
    stated_tasks,
)
from maseval.stats.trials import Trials
from tests.stats.made_up import rng


def as_hard_as(domain: str) -> TaskSet:
    """Return the tasks of the simulations in docs/cheaper.md."""
    chances = Cell(domain, "equal").chances[0]
    rate, square = (sum(p**k for p in chances) / len(chances) for k in (1, 2))
    return TaskSet(len(chances), rate, rate - square, square - rate * rate)


def test_a_precision_that_the_tasks_cannot_give_is_answered_with_what_they_can():
    (here, like) = forecast(as_hard_as("airline"), precision=0.03).answers

    assert here == "±3.0 points, on these tasks: 12 trials per task of one run, 600 simulations"
    assert "not reachable with 50 tasks: even unlimited trials leave ±10.3" in like
    assert "on tasks like these" in like


def test_more_trials_help_on_these_tasks_and_only_more_tasks_on_those_like_them():
    rows = forecast(as_hard_as("retail")).rows

    assert [row.trials for row in rows] == list(range(1, 9))
    assert rows[3].half_width == pytest.approx(rows[0].half_width / 2)
    assert rows[7].half_width_like > rows[0].half_width_like / 2
    assert rows[0].detectable / rows[3].detectable == pytest.approx(2)


def test_systems_that_differ_from_task_to_task_are_not_told_apart_by_trials():
    about = replace(as_hard_as("airline"), differing=0.04, cost=0.5, seconds=36.0)
    (here, like) = forecast(about, difference=0.05).answers

    assert here.endswith("on these tasks: 17 trials per task, 1700 simulations, $850.00, 17.0 h")
    assert "cannot be shown with these tasks by any number of trials" in like


def test_a_finished_baseline_limits_what_can_be_shown():
    about = replace(as_hard_as("airline"), trials=2)

    assert "against this baseline of 2 trials" in forecast(about, difference=0.05).answers[0]
    assert forecast(about).rows[0].simulations == 50
    assert forecast(replace(about, trials=None)).rows[0].simulations == 100


def test_what_is_found_follows_from_the_luck_of_both_runs_and_of_all_cells():
    two_sided = 1.959964 + 0.841621  # standard errors for 80% power
    for_two = 50 * two_sided**-2

    new = replace(as_hard_as("airline"), luck=0.1)
    known = replace(new, trials=2)
    assert new.detectable(4) == pytest.approx(math.sqrt(0.1 * 2 / 4 / for_two), abs=1e-6)
    assert known.detectable(4) == pytest.approx(math.sqrt(0.1 * 3 / 4 / for_two), abs=1e-6)
    three = new.in_cells(3)
    assert three.detectable(4) == pytest.approx(new.detectable(4) / math.sqrt(3))
    assert three.simulations(4) == 3 * new.simulations(4) == 3 * 50 * 4 * 2


def test_tasks_that_pass_always_leave_the_width_that_so_few_leave():
    about = observed_tasks([Trials(4, 4)] * 5)

    assert forecast(about).rows[0].half_width_like == pytest.approx((1 - 0.478) / 2, abs=1e-3)
    assert about.luck > 0, "it may still be luck that all passed"


def test_what_no_system_and_no_test_can_do_is_said():
    assert "no system can" in forecast(stated_tasks(50, 0.95), difference=0.1).answers[0]
    assert (
        "4 tasks can never decide it" in forecast(stated_tasks(4, 0.5), difference=0.3).answers[0]
    )
    assert forecast(stated_tasks(4, 0.5)).rows[0].detectable is None
    one = forecast(stated_tasks(1, 0.5), precision=0.1).answers[1]
    assert "not reachable with 1 task; it takes at least" in one
    huge = forecast(stated_tasks(10, 0.5), difference=0.005).answers[0]
    assert "cannot be shown with these tasks: it would take" in huge


def test_a_pilot_tells_luck_from_tasks():
    numbers = rng(5)
    chances = [0.1, 0.9] * 300
    pilot = [Trials(4, sum(numbers.random() < p for _ in range(4))) for p in chances]
    found = observed_tasks(pilot)

    assert (found.tasks, found.trials, found.notes) == (600, 4, ())
    assert found.luck == pytest.approx(0.09, abs=0.02)
    assert math.sqrt(found.between) == pytest.approx(0.4, abs=0.03)


def test_the_scatter_of_a_pilots_rates_is_divided_into_luck_and_tasks():
    """Rates 0, 1/2 and 1 vary by 1/4, of which half of 1/2 - 1/3 is the luck of two trials."""
    found = observed_tasks([Trials(2, 0), Trials(2, 1), Trials(2, 2)])

    assert found.luck == pytest.approx(1 / 6)
    assert found.between == pytest.approx(1 / 4 - 1 / 12)


def test_one_trial_of_each_task_needs_an_assumption():
    found = observed_tasks([Trials(1, passed) for passed in (0, 1, 1, 1)])

    assert "assumed" in found.notes[0]
    assert found.luck + found.between == pytest.approx(0.75 * 0.25)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: stated_tasks(0, 0.5), "tasks is 0"),
        (lambda: stated_tasks(5, 60), "rate is 60"),
        (lambda: observed_tasks([Trials(0, 0)]), "no task of the pilot has a verdict"),
        (lambda: forecast(stated_tasks(50, 0.5), difference=5), "difference is 5"),
        (lambda: forecast(stated_tasks(50, 0.5), precision=0), "precision is 0"),
    ],
)
def test_what_cannot_be_is_refused_with_the_value(wrong, words):
    with pytest.raises(ConfigurationError, match=words):
        wrong()
