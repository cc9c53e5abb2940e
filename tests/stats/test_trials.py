"""Trials counted task by task."""

from maseval.stats.trials import Trials, count_trials, fewest_trials


def test_trials_are_counted_task_by_task_and_none_does_not_count():
    results = [("b", True), ("a", False), ("b", None), ("b", True), ("c", None)]

    assert list(count_trials(results).items()) == [
        ("b", Trials(2, 2)),
        ("a", Trials(1, 0)),
        ("c", Trials(0, 0)),
    ]


def test_the_fewest_trials_of_any_task_are_zero_without_tasks():
    assert fewest_trials([Trials(4, 4), Trials(3, 0)]) == 3
    assert fewest_trials([]) == 0
