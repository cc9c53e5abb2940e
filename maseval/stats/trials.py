"""Trials of a task: how many count, and how many of these passed."""

from collections.abc import Hashable, Iterable
from typing import NamedTuple, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)


class Trials(NamedTuple):
    """How many trials of one task count, and how many of these passed."""

    total: int
    passed: int


def count_trials(results: Iterable[tuple[KeyT, bool | None]]) -> dict[KeyT, Trials]:
    """The trials of each task, in the order in which tasks appear; None does not count."""
    trials: dict[KeyT, Trials] = {}
    for task, passed in results:
        before = trials.get(task, Trials(0, 0))
        counted = passed is not None
        trials[task] = Trials(before.total + counted, before.passed + bool(passed))
    return trials


def fewest_trials(tasks: Iterable[Trials]) -> int:
    """The smallest number of trials of any task, which is the largest possible k."""
    return min((each.total for each in tasks), default=0)
