"""The summary of a run: pass^k with intervals, and the counts behind them.

``estimate`` is the one way from trials to a number with its interval. Everything that shows a score
(a table, a report, a comparison, a live display) takes it from here.

"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, cast

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome, Place
from maseval.core.report import NO_VERDICT_STATUSES
from maseval.core.words import count_of, percent, score_parts
from maseval.stats.clusters import Places, in_order, interval_over, mean_of, places_of
from maseval.stats.intervals import (
    LEVEL,
    OF_ONE_TASK,
    OVER_CLUSTERS,
    OVER_TASKS,
    Interval,
    weighted_interval,
)
from maseval.stats.result import IF_KNOWN, Result
from maseval.stats.trial_noise import rerun_interval
from maseval.stats.trials import (
    Trials,
    are_shares,
    by_task,
    fewest_trials,
    mean_cost,
    mean_over_tasks,
    measure_name,
    shown_k,
    task_scores,
)


@dataclass(frozen=True)
class Estimate(Result):
    """One pass^k of one group of tasks.

    ``value`` and ``interval`` are None where some task has fewer than k trials. ``interval`` is
    about tasks like these, or about the trials of a single one, ``rerun`` about these very tasks.
    ``bounds`` is what the value can still become: every missing trial fails, every one passes; None
    if nothing is missing.
    """

    k: int
    value: float | None
    interval: Interval | None = None
    rerun: Interval | None = None
    bounds: tuple[float, float] | None = None
    label: str | None = field(default=None, metadata=IF_KNOWN)

    @property
    def name(self) -> str:
        return measure_name(self.k, self.label)

    @property
    def low(self) -> float:
        """The lower end of ``interval``; 0 without one."""
        return 0.0 if self.interval is None else self.interval.low

    @property
    def high(self) -> float:
        return 1.0 if self.interval is None else self.interval.high

    @property
    def parts(self) -> list[str]:
        """The number and what stands beside it, as every command prints them; none without one."""
        return [] if self.value is None else score_parts(self.in_brief())

    def in_brief(self) -> dict[str, float | None]:
        """Return value and interval, and ``worst`` and ``best`` if there are bounds, for JSON."""
        ends = dict(zip(("worst", "best"), self.bounds or (), strict=False))
        return {"value": self.value, "low": self.low, "high": self.high, **ends}


def estimate(
    tasks: Sequence[Trials],
    k: int = 1,
    *,
    planned: Sequence[int] | None = None,
    level: float = LEVEL,
    places: Places | None = None,
) -> Estimate:
    """Estimate pass^k of ``tasks``, with an interval over clusters: by default, over tasks.

    Args:
        tasks: The trials of each task. A task without a trial that counts is left out of the
            value.
        planned: How many trials each of them was to have; None if none is missing.
        level: That of the intervals.
        places: The cluster and the weight of each; None if all are alike, each its own cluster.
    """
    bounds = None if planned is None else _bounds(tasks, planned, k, places)
    counted = tuple(each for each in tasks if each.total)
    if not counted or k > fewest_trials(counted):
        return Estimate(k, None, bounds=bounds)
    if places is not None:
        places = tuple(p for each, p in zip(tasks, places, strict=True) if each.total)
    found = _of_counted(counted, k, level, places)
    return found if bounds is None else replace(found, bounds=bounds)


# One page shows the same trials in several tables.
@lru_cache(maxsize=256)
def _of_counted(
    tasks: tuple[Trials, ...], k: int, level: float, places: tuple[Place, ...] | None
) -> Estimate:
    scores = task_scores(tasks, k)
    value = mean_of(scores, places)
    if len(tasks) > 1:
        interval = interval_over(scores, places, level)
    else:
        interval = _interval_of_one(tasks[0], k, level)
    weights = None if places is None else [place.weight for place in places]
    return Estimate(k, value, interval, rerun_interval(tasks, k, value, level, weights))


def _interval_of_one(task: Trials, k: int, level: float) -> Interval:
    """Return the interval of one task: that of its chance to pass, of which k are taken.

    It says nothing of other tasks. The value of some k lies outside, as it is estimated without
    bias; the interval is then extended to it.
    """
    span = weighted_interval({1.0: task.passed, 0.0: task.total - task.passed}, level)
    value = mean_over_tasks([task], k)
    return Interval(min(span.low**k, value), max(span.high**k, value), level, OF_ONE_TASK)


def _bounds(
    tasks: Sequence[Trials], planned: Sequence[int], k: int, places: Places | None
) -> tuple[float, float] | None:
    pairs = list(zip(tasks, planned, strict=True))
    if all(each.total == wanted for each, wanted in pairs):
        return None
    worst = [Trials(wanted, each.passed) for each, wanted in pairs]
    best = [Trials(wanted, each.passed + wanted - each.total) for each, wanted in pairs]
    return mean_of(task_scores(worst, k), places), mean_of(task_scores(best, k), places)


Planned = int | Collection[tuple[str, str, int]]
Ks = Collection[int] | Literal["all"] | None

MISSING = "missing"


@dataclass(frozen=True)
class GroupSummary:
    """One domain, or all of them (``group`` is None); each task counts once, or by its weight.

    Of the ``planned`` simulations, those ``done`` have a verdict; ``missing`` counts the others by
    reason. ``untried`` tasks have no verdict at all and enter only the bounds. The tasks are of so
    many ``clusters``; None if each is one of its own.
    """

    group: str | None
    tasks: int
    untried: int
    planned: int
    done: int
    passed: int
    missing: dict[str, int]
    mean_cost: float | None
    estimates: list[Estimate]
    clusters: int | None = field(default=None, metadata=IF_KNOWN)

    @property
    def name(self) -> str:
        return self.group or "all"

    @property
    def verdicts(self) -> int:
        return self.done

    @property
    def recorded(self) -> int:
        return self.planned - self.missing.get(MISSING, 0)

    @property
    def failed(self) -> int:
        """The number of those recorded that are tried again on resuming."""
        return sum(self.missing.get(status, 0) for status in NO_VERDICT_STATUSES)

    @property
    def pass_hat(self) -> dict[int, Estimate]:
        """Each pass^k that has a value: for every k up to the fewest trials of any task."""
        return {each.k: each for each in self.estimates if each.value is not None}

    @property
    def pass_1(self) -> dict[str, Any] | None:
        """The one number of lists of runs, over the ``verdicts`` of ``planned``, as JSON."""
        if (found := self.pass_hat.get(1)) is None:
            return None
        return {**found.in_brief(), "verdicts": self.done, "planned": self.planned}

    def in_brief(self) -> dict[str, Any]:
        """Return the counts and every pass^k, for JSON."""
        return {
            "tasks": self.tasks,
            **({} if self.clusters is None else {"clusters": self.clusters}),
            "planned": self.planned,
            "done": self.recorded - self.failed,
            "failed": self.failed,
            "verdicts": self.done,
            "missing": dict(self.missing),
            "passed": self.passed,
            **{f"pass^{k}": each.in_brief() for k, each in self.pass_hat.items()},
        }

    @property
    def shortfall(self) -> str | None:
        """The sentence that goes with every number of these tasks if a verdict is missing."""
        if self.done == self.planned:
            return None
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.missing.items())
        if not self.done:
            return (
                f"None of the {self.planned} simulations has a verdict ({reasons}): there is no "
                "score."
            )
        counted = f"{self.done} of {self.planned} simulations have a verdict ({reasons})"
        worst, best = map(percent, self.estimate(1).bounds or ())
        return (
            f"{counted}: {self.estimate(1).name} is {worst} if all others fail, {best} if all pass."
        )

    @property
    def without_value(self) -> str | None:
        """The sentence that names each pass^k without a value, because a task has too few."""
        lost = [each.name for each in self.estimates if each.value is None]
        if not lost or not self.done:
            return None
        most = max((e.k for e in self.estimates if e.value is not None), default=0)
        trials = count_of(most, "trial")
        return f"{', '.join(lost)}: no value, as some task has only {trials} with a verdict."

    def estimate(self, k: int) -> Estimate:
        """Return one pass^k; raise ConfigurationError if there is none."""
        for each in self.estimates:
            if each.k == k:
                return each
        known = ", ".join(each.name for each in self.estimates)
        raise ConfigurationError(
            f"no {measure_name(k)} here; choose one of: {known}; others are found when "
            f'asked for: summarise(..., ks=[{k}]), or all of them: ks="all"'
        )


@dataclass(frozen=True)
class Summary(Result):
    """All groups, and all together as the last row."""

    groups: list[GroupSummary]
    level: float

    @property
    def domains(self) -> list[GroupSummary]:
        """The groups without the overall row, unless there is only one."""
        return self.groups[:-1] or self.groups

    @property
    def overall(self) -> GroupSummary:
        return self.groups[-1]

    @property
    def interval_in_words(self) -> str:
        """A sentence on level and method of the intervals."""
        found = (each.interval for group in self.groups for each in group.estimates)
        methods = dict.fromkeys(each.method for each in found if each is not None)
        words = "; ".join(methods) or OVER_TASKS
        if (clusters := self.overall.clusters) is not None:
            many = f"{count_of(clusters, 'cluster')} of {count_of(self.overall.tasks, 'task')}"
            why = f"over {many}, as tasks of one cluster are not independent"
            words = words.replace(OVER_CLUSTERS, why)
        return f"{percent(self.level, 0)} CI, {words}."


def summarise(
    outcomes: Iterable[Outcome],
    *,
    planned: Planned | None = None,
    ks: Ks = None,
    label: str | None = None,
) -> Summary:
    """Estimate pass^k by group and overall, for k from 1 to 4, 8, 16, 32, ...

    Args:
        outcomes: Those of one run.
        planned: The number of trials of each task, or every (group, task, trial) that was to be
            run; None if the run is complete.
        ks: The k to estimate, or ``all`` of them; None means 1 to 4 and the powers of two.
        label: What ``passed`` of the outcomes says, where it is not the verdict: ``resisted^k``.
    """
    run = with_gaps(outcomes, planned)
    if not run:
        raise ConfigurationError("no outcome to summarise; give at least one")
    by_name: dict[str | None, list[Outcome]] = {}
    for outcome in run:
        by_name.setdefault(outcome.domain, []).append(outcome)
    if len(by_name) > 1:
        # A row for all would repeat a single domain.
        by_name[None] = run
    groups = [_group(name, mine, ks, label) for name, mine in by_name.items()]
    return Summary(groups, LEVEL)


def with_gaps(outcomes: Iterable[Outcome], planned: Planned | None) -> list[Outcome]:
    """Add an outcome without a verdict for each planned trial that is missing."""
    outcomes = list(outcomes)
    if planned is None:
        return outcomes
    there = {(outcome.domain, outcome.task_id, outcome.trial) for outcome in outcomes}
    known = {each.key: each for each in outcomes if each.cluster is not None or each.weight != 1}
    if isinstance(planned, int):
        counts = Counter(outcome.key for outcome in outcomes)
        gaps = [
            Outcome(*key, trial=-1 - gap, passed=None, reason=MISSING)
            for key, count in counts.items()
            for gap in range(planned - count)
        ]
    else:
        gaps = [Outcome(*one, passed=None, reason=MISSING) for one in planned if one not in there]
    if known:  # a trial that is missing is one of the same case
        gaps = [
            gap._replace(cluster=same.cluster, weight=same.weight)
            if (same := known.get(gap.key))
            else gap
            for gap in gaps
        ]
    return outcomes + gaps


def _group(group: str | None, mine: list[Outcome], ks: Ks, label: str | None) -> GroupSummary:
    tasks = by_task(mine)
    missing = Counter(outcome.reason or "excluded" for outcome in mine if outcome.passed is None)
    wanted = Counter((outcome.domain, outcome.task_id) for outcome in mine)
    trials, numbers = [*tasks.values()], [wanted[key] for key in tasks]
    # Bounds are for gaps; where nothing is missing they would repeat the value.
    planned = numbers if missing else None
    places = in_order(places_of(mine), tasks)
    # Up to what was planned: a k that too few trials allow is named as missing.
    all_k = [*_wanted_k(ks, min(numbers))]
    if are_shares(trials):
        all_k = [1]  # of a share, there is no second power
    estimates = [estimate(trials, k, planned=planned, places=places) for k in all_k]
    if label is not None:
        estimates = [replace(each, label=label) for each in estimates]
    return GroupSummary(
        group=group,
        tasks=len(tasks),
        untried=sum(not each.total for each in trials),
        planned=len(mine),
        done=sum(each.total for each in trials),
        passed=_sum_of(trials),
        missing=dict(missing),
        mean_cost=mean_cost(mine),
        estimates=estimates,
        clusters=None if places is None else len({place.cluster for place in places}),
    )


def _sum_of(trials: Iterable[Trials]) -> int:
    """Return the number of passes; of a share, their sum to three digits."""
    found = sum(each.passed for each in trials)
    return found if isinstance(found, int) else cast(int, round(float(found), 3))


def _wanted_k(ks: Ks, most: int) -> Iterable[int]:
    if ks is None:
        return shown_k(most)
    return range(1, most + 1) if isinstance(ks, str) else sorted(set(ks))
