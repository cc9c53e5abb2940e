"""Evidence for a difference between two systems: the counts of all tasks at one look."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from maseval.stats.trials import Trials


class PairedTask(NamedTuple):
    """One task at one look: trials of the new system so far, and all of the finished baseline."""

    new: Trials
    baseline: Trials

    @property
    def rates(self) -> tuple[float, float]:
        return self.new.passed / self.new.total, self.baseline.passed / self.baseline.total


class Evidence:
    """The counts of all tasks at one look; those without a verdict on both sides are left out."""

    def __init__(
        self,
        tasks: Iterable[PairedTask] | Mapping[PairedTask, int],
        weights: Sequence[float] = (),
    ) -> None:
        """Count the tasks, one by one or with the number of tasks of each kind.

        With ``weights``, the tasks are a sequence, and each counts so much in the mean.
        """
        counted = [(each, n, 1.0) for each, n in Counter(tasks).items()]
        if weights:
            counted = [(each, 1, w) for each, w in zip(tasks, weights, strict=True)]
        self._kinds = Counter[PairedTask]()
        # A mean has shares by weight, and its variance by their squares, as of so many tasks of one
        # weight (Kish 1965).
        self._shares, self._squares = dict[PairedTask, float](), dict[PairedTask, float]()
        for each, n, w in counted:
            if each.new.total and each.baseline.total:
                self._kinds[each] += n
                self._shares[each] = self._shares.get(each, 0.0) + n * w
                self._squares[each] = self._squares.get(each, 0.0) + n * w * w
        self.tasks = self._kinds.total()
        whole = math.fsum(self._shares.values())
        self._size = whole * whole / math.fsum(self._squares.values()) if self.tasks else 0.0

    def _mean(self, score: Callable[[PairedTask], float]) -> float:
        return _mean_by(self._shares, score)

    @cached_property
    def difference(self) -> float:
        """The mean over tasks of new - baseline; every task counts once."""
        return self._mean(lambda each: each.rates[0] - each.rates[1]) if self.tasks else 0.0

    @cached_property
    def trials(self) -> int:
        """The trials of the new system that count."""
        return sum(n * each.new.total for each, n in self._kinds.items())

    def variance(self) -> float:
        """Return the variance of the difference if only the trials are repeated.

        That of one more trial is added on either side, as luck may hide where all agree.
        """
        new = _mean_by(self._squares, lambda each: 1 / each.new.total)
        old = _mean_by(self._squares, lambda each: 1 / each.baseline.total)
        mine, theirs = self._trial_variances
        return ((mine + new / self._size) * new + (theirs + old / self._size) * old) / self._size

    @cached_property
    def _trial_variances(self) -> tuple[float, float]:
        """The variances of one trial, given the task, of the new system and of the baseline."""
        new, old = self._trial_variance(0), self._trial_variance(1)
        both = self._mean(_chance_to_differ) - self.difference**2
        # One trial of each task on both sides shows only the sum of the variances: each gets half.
        if new is None and old is None:
            return max(0.0, both / 2), max(0.0, both / 2)
        if new is None:
            return max(0.0, both - (old or 0.0)), old or 0.0
        return new, max(0.0, both - new) if old is None else old

    def _trial_variance(self, side: int) -> float | None:
        """Return that of one side, from tasks tried twice; None if these are less than half."""
        kinds = [(each[side], n) for each, n in self._kinds.items() if each[side].total > 1]
        count = sum(n for _, n in kinds)
        if 2 * count < self.tasks:
            return None
        return math.fsum(n * (y * (t - y) / (t * (t - 1))) for (t, y), n in kinds) / count

    @cached_property
    def exchange_spread(self) -> tuple[float, float]:
        """The variance of the difference if a task's outcomes are exchanged, and its least step.

        Source: Mantel & Haenszel 1959, with all tasks of equal weight.
        """
        # Half of the least step between two possible differences corrects for continuity.
        step = min((a.total + b.total) / (a.total * b.total) for a, b in self._kinds)
        return _mean_by(self._squares, _of_exchanges) / self._size, step / self.tasks


def _mean_by(shares: Mapping[PairedTask, float], score: Callable[[PairedTask], float]) -> float:
    return math.fsum(n * score(each) for each, n in shares.items()) / math.fsum(shares.values())


def _of_exchanges(task: PairedTask) -> float:
    size, passed = (a + b for a, b in zip(task.new, task.baseline, strict=True))
    return passed * (size - passed) / (task.new.total * task.baseline.total * (size - 1))


def _chance_to_differ(task: PairedTask) -> float:
    a, b = task.rates
    return a * (1 - b) + b * (1 - a)
