"""Measures: numbers beside the verdict, as verdicts, shares and quantities."""

from typing import Any

import pytest

from maseval.core.exceptions import ConfigurationError, TaskFormatError
from maseval.core.outcome import RecordedReport
from maseval.core.task import Task
from maseval.stats import Measure, Outcome, compare, summarise
from maseval.stats.comparison import quantity_difference
from maseval.stats.measures import (
    NO_VALUE,
    mean_of_quantity,
    measured,
)
from tests.stats.made_up import rng

RESISTED = Measure("resisted", complement="attack success")
CARE = Measure("care", kind="share")
CALLS = Measure("calls", kind="quantity", higher_is_better=False)


def outcome(task: str = "1", trial: int = 0, passed: bool = True, **measures: float) -> Outcome:
    return Outcome("bank", task, trial, passed, measures=measures)


def report(evaluation: dict[str, Any], **task: Any) -> dict[str, Any]:
    return {
        "task_id": "1",
        "repeat_idx": 0,
        "status": "success",
        "task": {"metadata": {}, **task},
        "eval": [evaluation],
    }


def test_the_numbers_of_an_evaluation_are_its_measures():
    evaluation = {"passed": True, "reward": 1.0, "resisted": False, "calls": 7, "note": "late"}
    evaluation["measures"] = {"care": 0.5, "nothing": float("nan")}

    found = RecordedReport(report(evaluation)).outcome

    assert found.measures == {"resisted": 0.0, "calls": 7, "care": 0.5}


def test_what_did_not_run_to_its_end_has_no_measures():
    broken = {**report({"passed": True, "calls": 7}), "status": "provider_error"}

    assert RecordedReport(broken).outcome.measures is None


@pytest.mark.parametrize("weight", [-3, 0, 1e200, "much", float("nan"), None])
def test_a_weight_in_a_record_that_is_none_counts_as_one(weight):
    found = RecordedReport(report({"passed": True}, cluster=5, weight=weight)).outcome

    assert (found.cluster, found.weight) == ("5", 1.0)


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), 1e200, 1e-200, "2", True])
def test_a_task_with_an_impossible_weight_is_refused(weight):
    with pytest.raises(TaskFormatError, match=r"the weight of task 'rent' is .*; give a number"):
        Task("Pay.", id="rent", weight=weight)


def test_a_task_is_read_with_its_cluster_and_weight():
    task = Task.from_dict({"query": "Pay.", "cluster": 3, "weight": 2})

    assert (task.cluster, task.weight) == ("3", 2)


def test_a_verdict_takes_the_place_of_the_official_one():
    run = [outcome("1", 0, resisted=1.0), outcome("1", 1, resisted=0.0), outcome("2", 0)]

    found = measured(run, RESISTED)

    assert [each.passed for each in found] == [True, False, None]
    assert found[2].reason == NO_VALUE
    estimate = summarise(found, label=RESISTED.label).overall.estimate(1)
    assert (estimate.name, estimate.value) == ("resisted^1", 0.5)


def test_what_the_agent_broke_off_has_the_worst_value():
    broken = Outcome("bank", "1", 0, False, kind="error", status="agent_error")

    assert RESISTED.of(broken) is False and CARE.of(broken) is False
    assert CALLS.of(broken) is None


def test_a_share_is_a_mean_and_has_no_power():
    first = [outcome(str(task), trial, care=0.25) for task in range(8) for trial in range(2)]
    second = [outcome(str(task), trial, care=0.5) for task in range(8) for trial in range(2)]
    runs = measured(first, CARE), measured(second, CARE)

    found = compare(*runs)

    assert (found.main.first, found.main.second) == (0.25, 0.5)
    assert found.main.test.p_value == 2 / 2**8
    assert len(found.differences) == 1
    assert summarise(runs[0]).overall.passed == 4.0
    with pytest.raises(ConfigurationError, match=r"a share has no pass\^2"):
        compare(*runs, k=2)


def test_a_quantity_has_a_mean_over_tasks_and_is_compared_by_task():
    first = [outcome(str(task), 0, calls=task) for task in range(8)]
    second = [outcome(str(task), 0, calls=task + 1 + task % 2) for task in range(8)]

    mean, difference = mean_of_quantity(first, CALLS), quantity_difference(first, second, CALLS)

    # Student's t for seven degrees of freedom is 2.3646.
    assert mean.value == 3.5
    assert mean.interval.half_width == pytest.approx(2.3646 * (6 / 8) ** 0.5, rel=1e-4)
    assert (difference.difference, difference.test.p_value) == (1.5, 2 / 2**8)
    assert difference.interval.half_width == pytest.approx(
        2.3646 * (4 * 0.5 / 7 / 8) ** 0.5, rel=1e-4
    )


def test_a_quantity_of_one_task_has_no_interval_and_without_values_no_mean():
    assert mean_of_quantity([outcome(calls=3)], CALLS).interval is None
    assert mean_of_quantity([outcome()], CALLS) is None
    assert quantity_difference([outcome(calls=3)], [outcome()], CALLS) is None
    assert quantity_difference([outcome(calls=3)], [outcome(calls=4)], CALLS) is None


@pytest.mark.parametrize(
    ("measure", "value", "wanted"),
    [(RESISTED, 0.5, "True or False"), (CARE, 1.5, "from 0 to 1"), (CALLS, 3, "is a quantity")],
)
def test_a_value_that_is_none_of_its_kind_is_refused(measure, value, wanted):
    with pytest.raises(ConfigurationError, match=wanted):
        measured([outcome(**{measure.name: value})], measure)


def test_a_verdict_of_which_less_is_better_is_declared_by_its_opposite():
    with pytest.raises(ConfigurationError, match="complement='attacked'"):
        Measure("attacked", higher_is_better=False)


def test_a_share_that_rounding_made_a_little_more_than_one_is_one():
    [found] = measured([outcome(care=sum([0.1] * 3 + [0.7]) + 2e-16)], CARE)

    assert found.passed == 1


def test_only_a_verdict_decides():
    with pytest.raises(ConfigurationError, match="'care' cannot decide"):
        Measure("care", kind="share", decides=True)


def test_the_mean_of_a_quantity_is_as_sure_as_its_heavy_clusters_are_many():
    def weighed(weights):
        return [
            Outcome("bank", str(at), 0, True, weight=w, measures={"calls": float(at % 3)})
            for at, w in enumerate(weights)
        ]

    few = mean_of_quantity(weighed([100.0] * 6 + [1e-6] * 30), CALLS).interval
    six = mean_of_quantity(weighed([1.0] * 6), CALLS).interval
    one = mean_of_quantity(weighed([1e6] + [1.0] * 6), CALLS).interval

    assert few.half_width == pytest.approx(six.half_width, rel=1e-3)
    assert one is None


def test_equal_quantities_have_no_interval():
    assert mean_of_quantity([outcome(str(at), calls=5) for at in range(4)], CALLS).interval is None


def test_quantities_of_unequal_clusters_are_within_their_interval():
    random, held, number = rng(5), 0, 400
    for _ in range(number):
        run = [
            Outcome("bank", str(at), 0, True, weight=w, measures={"calls": random.gauss(0, 1)})
            for at, w in enumerate(random.choice((1, 30)) for _ in range(10))
        ]
        span = mean_of_quantity(run, CALLS).interval
        held += span is None or 0 in span
    assert held >= 0.93 * number
