"""A run in numbers: pass^k and pass@k with intervals, and what they were counted from."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, get_args

from maseval.core.exceptions import ConfigurationError
from maseval.stats.bootstrap import bootstrap_nested, bootstrap_tasks
from maseval.stats.intervals import LEVEL, Interval, mean_interval
from maseval.stats.outcomes import Outcome, TaskKey, Trials, by_task, mean_cost
from maseval.stats.pass_k import MEASURES, Measure, named
from maseval.stats.result import Result
from maseval.stats.trial_noise import rerun_interval

Method = Literal["tasks", "resampled", "nested"]
Planned = int | Collection[tuple[str, str, int]]

NOT_RUN = "not run"


@dataclass(frozen=True)
class Estimate:
    """One measure of one group.

    ``value`` and ``interval`` are None where some task has fewer than k trials. ``interval`` is
    about tasks like these, ``rerun`` about these very tasks. ``bounds`` is what the value can
    still become: every missing trial fails, every one passes; None if nothing is missing.
    """

    measure: Measure
    k: int
    value: float | None
    interval: Interval | None
    rerun: Interval | None
    bounds: tuple[float, float] | None
    mean_of_groups: float | None = None

    @property
    def name(self) -> str:
        """``pass^1`` and the like."""
        return named(self.measure, self.k)


@dataclass(frozen=True)
class GroupSummary:
    """One domain, or all of them (``group`` is None); each task counts once.

    ``untried`` tasks have no trial that counts, so only the bounds know of them. Of the
    simulations ``planned``, those ``done`` count; ``missing`` says why how many others do not.
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

    def estimate(self, measure: Measure, k: int) -> Estimate:
        """The estimate asked for."""
        for each in self.estimates:
            if (each.measure, each.k) == (measure, k):
                return each
        known = ", ".join(each.name for each in self.estimates)
        raise ConfigurationError(f"there is no {named(measure, k)} here; there is {known}")


@dataclass(frozen=True)
class Summary(Result):
    """All groups, and all together as the last row; ``notes`` state methods and omissions."""

    groups: list[GroupSummary]
    level: float
    notes: list[str]

    @property
    def overall(self) -> GroupSummary:
        """All tasks together."""
        return self.groups[-1]


def summarise(
    outcomes: Iterable[Outcome],
    *,
    planned: Planned | None = None,
    level: float = LEVEL,
    method: Method = "tasks",
) -> Summary:
    """pass^k and pass@k for every possible k, by group and overall.

    Args:
        outcomes: Those of one run.
        planned: The number of trials of each task, or every (group, task, trial) that was to be
            run; None if the run is as it was meant to be.
        method: ``tasks`` needs no random numbers; ``resampled`` is a bootstrap over tasks, and
            ``nested`` one over tasks and trials within tasks.
    """
    if method not in get_args(Method):
        raise ConfigurationError(
            f"unknown method {method!r}; choose one of: {', '.join(get_args(Method))}"
        )
    run = _with_gaps(list(outcomes), planned)
    if not run:
        raise ConfigurationError("there is no outcome to summarise; give at least one")
    names = dict.fromkeys(outcome.group for outcome in run)
    groups = [_group(name, run, level, method) for name in names]
    if len(groups) > 1:
        groups.append(_overall(run, groups, level, method))
    return Summary(groups, level, _notes(groups))


def _with_gaps(outcomes: list[Outcome], planned: Planned | None) -> list[Outcome]:
    """The outcomes, and one that does not count for each planned trial that is not there."""
    if planned is None:
        return outcomes
    there = {(outcome.group, outcome.task, outcome.trial) for outcome in outcomes}
    if isinstance(planned, int):
        counts = Counter(outcome.key for outcome in outcomes)
        gaps = [
            Outcome(*key, trial=-1 - gap, passed=None, reason=NOT_RUN)
            for key, count in counts.items()
            for gap in range(planned - count)
        ]
    else:
        gaps = [
            Outcome(group, task, trial, passed=None, reason=NOT_RUN)
            for group, task, trial in planned
            if (group, task, trial) not in there
        ]
    return outcomes + gaps


def _overall(
    run: list[Outcome], groups: Sequence[GroupSummary], level: float, method: Method
) -> GroupSummary:
    summary = _group(None, run, level, method)
    by_name = [{each.name: each.value for each in group.estimates} for group in groups]
    estimates = [
        Estimate(**{**vars(each), "mean_of_groups": _mean([g.get(each.name) for g in by_name])})
        for each in summary.estimates
    ]
    return GroupSummary(**{**vars(summary), "estimates": estimates})


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None


def _group(group: str | None, run: list[Outcome], level: float, method: Method) -> GroupSummary:
    mine = [outcome for outcome in run if group in (None, outcome.group)]
    tasks = by_task(mine)
    wanted = Counter(outcome.key for outcome in mine)
    missing = Counter(outcome.reason or "excluded" for outcome in mine if outcome.passed is None)
    estimates = [
        _estimate(measure, k, tasks, wanted, level, method)
        for measure in MEASURES
        for k in range(1, min(wanted.values()) + 1)
    ]
    return GroupSummary(
        group=group,
        tasks=len(tasks),
        untried=sum(not each.total for each in tasks.values()),
        planned=len(mine),
        done=sum(each.total for each in tasks.values()),
        passed=sum(each.passed for each in tasks.values()),
        missing=dict(missing),
        mean_cost=mean_cost(mine),
        estimates=estimates,
    )


def _estimate(
    measure: Measure,
    k: int,
    tasks: Mapping[TaskKey, Trials],
    wanted: Mapping[TaskKey, int],
    level: float,
    method: Method,
) -> Estimate:
    counted = [each for each in tasks.values() if each.total]
    bounds = _bounds(measure, k, tasks, wanted)
    if not counted or k > min(each.total for each in counted):
        return Estimate(measure, k, None, None, None, bounds)
    scores = [float(MEASURES[measure](*each, k)) for each in counted]
    value = fmean(scores)
    interval = {
        "tasks": lambda: mean_interval(scores, level),
        "resampled": lambda: bootstrap_tasks(scores, level),
        "nested": lambda: bootstrap_nested(counted, measure, k, level),
    }[method]()
    rerun = rerun_interval(counted, measure, k, value, level)
    return Estimate(measure, k, value, interval, rerun, bounds)


def _bounds(
    measure: Measure, k: int, tasks: Mapping[TaskKey, Trials], wanted: Mapping[TaskKey, int]
) -> tuple[float, float] | None:
    if all(each.total == wanted[key] for key, each in tasks.items()):
        return None
    score = MEASURES[measure]
    low = fmean(float(score(wanted[key], each.passed, k)) for key, each in tasks.items())
    high = fmean(
        float(score(wanted[key], each.passed + wanted[key] - each.total, k))
        for key, each in tasks.items()
    )
    return low, high


def _notes(groups: Sequence[GroupSummary]) -> list[str]:
    overall = groups[-1]
    found = [each for each in overall.estimates if each.value is not None]
    methods = dict.fromkeys(
        f"{what}: {interval.method}, {interval.level:.0%}"
        for what in ("interval", "rerun")
        for each in found
        if (interval := getattr(each, what)) is not None
    )
    notes = ["every task counts once, however many trials it has", *methods]
    left_out = [each.name for each in overall.estimates if each.value is None]
    if left_out:
        notes.append(f"{', '.join(left_out)}: no value, as some task has fewer trials that count")
    if overall.untried:
        notes.append(f"{overall.untried} tasks without a trial that counts are not in the values")
    if overall.missing:
        reasons = ", ".join(f"{count} {reason}" for reason, count in overall.missing.items())
        notes.append(
            f"{overall.done} of {overall.planned} simulations count ({reasons}); "
            "bounds: all others fail, all others pass"
        )
    return notes
