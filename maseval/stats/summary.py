"""The summary of a run: pass^k and pass@k with intervals, and the counts behind them."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal, NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.core.figures import percent
from maseval.core.outcome import Outcome, Score
from maseval.core.words import count_of
from maseval.stats.estimation import Estimate, estimate
from maseval.stats.intervals import LEVEL, OVER_TASKS, OVER_TASKS_IN_WORDS
from maseval.stats.result import Result
from maseval.stats.trials import (
    MEASURES,
    Measure,
    Trials,
    by_task,
    mean_cost,
    measure_name,
    shown_k,
)

Planned = int | Collection[tuple[str, str, int]]
Ks = Collection[int] | Literal["all"] | None

MISSING = "missing"


@dataclass(frozen=True)
class GroupSummary:
    """One domain, or all of them (``group`` is None); each task counts once.

    Of the ``planned`` simulations, those ``done`` have a verdict; ``missing`` counts the others by
    reason. ``untried`` tasks have no verdict at all and enter only the bounds.
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

    @property
    def scores(self) -> dict[int, Score]:
        """Each pass^k that has a value, as lists of runs show it."""
        return {
            each.k: _score(each, each.value, self.done, self.planned)
            for each in self.estimates
            if each.measure == "pass^k" and each.value is not None
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
        low, high = self.estimate("pass^k", 1).bounds or (0.0, 1.0)
        worst, best = percent(low), percent(high)
        return f"{counted}: pass^1 is {worst} if all others fail, {best} if all pass."

    @property
    def without_value(self) -> str | None:
        """The sentence that names each pass^k without a value, because a task has too few."""
        lost = [e.name for e in self.estimates if e.measure == "pass^k" and e.value is None]
        if not lost or not self.done:
            return None
        most = max((e.k for e in self.estimates if e.value is not None), default=0)
        trials = count_of(most, "trial")
        return f"{', '.join(lost)}: no value, as some task has only {trials} with a verdict."

    def estimate(self, measure: Measure, k: int) -> Estimate:
        """Return one estimate; raise ConfigurationError if there is none."""
        for each in self.estimates:
            if (each.measure, each.k) == (measure, k):
                return each
        known = ", ".join(each.name for each in self.estimates)
        raise ConfigurationError(
            f"no {measure_name(measure, k)} here; choose one of: {known}; others are found when "
            f'asked for: summarise(..., ks=[{k}]), or all of them: ks="all"'
        )


@dataclass(frozen=True)
class Summary(Result):
    """All groups, and all together as the last row; ``notes`` state methods and omissions."""

    groups: list[GroupSummary]
    level: float
    notes: list[str]

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
        words = "; ".join(methods).replace(OVER_TASKS, OVER_TASKS_IN_WORDS) or OVER_TASKS_IN_WORDS
        return f"{percent(self.level, 0)} CI, {words}."


def summarise(
    outcomes: Iterable[Outcome],
    *,
    planned: Planned | None = None,
    level: float = LEVEL,
    ks: Ks = None,
    pass_at: bool = True,
) -> Summary:
    """Estimate pass^k and pass@k by group and overall, for k from 1 to 4, 8, 16, 32, ...

    Args:
        outcomes: Those of one run.
        planned: The number of trials of each task, or every (group, task, trial) that was to be
            run; None if the run is complete.
        ks: The k to estimate, or ``all`` of them; None means 1 to 4 and the powers of two.
        pass_at: Whether pass@k is wanted beside pass^k.
    """
    run = with_gaps(outcomes, planned)
    if not run:
        raise ConfigurationError("no outcome to summarise; give at least one")
    by_name: dict[str, list[Outcome]] = {}
    for outcome in run:
        by_name.setdefault(outcome.domain, []).append(outcome)
    how = _How(level, ks, tuple(MEASURES) if pass_at else ("pass^k",))
    by_group = {name: _count_tasks(mine) for name, mine in by_name.items()}
    groups = [_group(name, mine, by_group[name], how) for name, mine in by_name.items()]
    if len(groups) > 1:
        groups.append(_overall(run, by_group, groups, how))
    return Summary(groups, level, _notes(groups))


def with_gaps(outcomes: Iterable[Outcome], planned: Planned | None) -> list[Outcome]:
    """Add an outcome without a verdict for each planned trial that is missing."""
    outcomes = list(outcomes)
    if planned is None:
        return outcomes
    there = {(outcome.domain, outcome.task_id, outcome.trial) for outcome in outcomes}
    if isinstance(planned, int):
        counts = Counter(outcome.task for outcome in outcomes)
        gaps = [
            Outcome(*key, trial=-1 - gap, passed=None, reason=MISSING)
            for key, count in counts.items()
            for gap in range(planned - count)
        ]
    else:
        gaps = [Outcome(*one, passed=None, reason=MISSING) for one in planned if one not in there]
    return outcomes + gaps


class _How(NamedTuple):
    """The numbers that are wanted of each group."""

    level: float
    ks: Ks
    measures: Sequence[Measure]


class _Counted(NamedTuple):
    """The trials of a task that have a verdict, and the number of all that it was to have."""

    trials: Trials
    planned: int


_Tasks = Mapping[tuple[str, str], _Counted]


def _count_tasks(mine: list[Outcome]) -> _Tasks:
    wanted = Counter((each.domain, each.task_id) for each in mine)
    return {key: _Counted(trials, wanted[key]) for key, trials in by_task(mine).items()}


def _overall(
    run: list[Outcome], by_group: Mapping[str, _Tasks], groups: Sequence[GroupSummary], how: _How
) -> GroupSummary:
    # In the order of the run, as resampling draws tasks by their places.
    order = dict.fromkeys((each.domain, each.task_id) for each in run)
    summary = _group(None, run, {key: by_group[key[0]][key] for key in order}, how)
    by_name = [{each.name: each.value for each in group.estimates} for group in groups]
    estimates = [
        replace(each, mean_of_groups=_mean_of_all([group.get(each.name) for group in by_name]))
        for each in summary.estimates
    ]
    return replace(summary, estimates=estimates)


def _mean_of_all(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None


def _group(group: str | None, mine: list[Outcome], tasks: _Tasks, how: _How) -> GroupSummary:
    missing = Counter(outcome.reason or "excluded" for outcome in mine if outcome.passed is None)
    trials, numbers = [e.trials for e in tasks.values()], [e.planned for e in tasks.values()]
    planned = numbers if missing else None
    estimates = [
        estimate(trials, measure, k, planned=planned, level=how.level)
        for measure in how.measures
        for k in _wanted_k(how.ks, min(numbers))
    ]
    return GroupSummary(
        group=group,
        tasks=len(tasks),
        untried=sum(not each.total for each in trials),
        planned=len(mine),
        done=sum(each.total for each in trials),
        passed=sum(each.passed for each in trials),
        missing=dict(missing),
        mean_cost=mean_cost(mine),
        estimates=estimates,
    )


def _wanted_k(ks: Ks, most: int) -> Iterable[int]:
    if ks is None:
        return shown_k(most)
    return range(1, most + 1) if isinstance(ks, str) else sorted(set(ks))


def _score(found: Estimate, value: float, verdicts: int, planned: int) -> Score:
    score = Score(value=value, low=found.low, high=found.high, verdicts=verdicts, planned=planned)
    if found.bounds is not None:
        score["worst"], score["best"] = found.bounds
    return score


def _notes(groups: Sequence[GroupSummary]) -> list[str]:
    overall = groups[-1]
    found = [each for each in overall.estimates if each.value is not None]
    methods = dict.fromkeys(
        f"{what}: {interval.method}, {percent(interval.level, 0)}"
        for what in ("interval", "rerun")
        for each in found
        if (interval := getattr(each, what)) is not None
    )
    notes = ["every task counts once, however many trials it has", *methods]
    if overall.untried:
        notes.append(f"left out: {count_of(overall.untried, 'task')} without any verdict")
    return [*notes, *filter(None, (overall.without_value, overall.shortfall))]
