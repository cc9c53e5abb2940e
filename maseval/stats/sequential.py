"""Decisions on the way: trials come in rounds, and after each round it is asked if that is enough.

A look happens when a round is complete: every planned trial of it has a verdict, or is recorded as
one that has none and is not tried again. What happened later is not looked at, so a decision is a
function of the plan and of the outcomes up to the look, whenever and wherever it is made.

The claim is about **these tasks**: new trials of them would show the same. Two systems are told
apart by all trials of a finished baseline and those of the new one so far, stratified by task
(Mantel & Haenszel 1959), and a margin is tested with the variance of the trials (Wald 1943), both
with the boundaries of the normal law. The
estimate and the interval allow for the stopping: results are ordered by the look at which they
come, and then by size (Tsiatis, Rosner & Mehta 1984; Jennison & Turnbull 2000, section 8.5).
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import NormalDist
from typing import Literal

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome, TaskKey
from maseval.core.words import count_of, in_percent, in_points, p_is, percent
from maseval.stats.boundaries import Band, exits, normal_boundaries
from maseval.stats.clusters import Places, in_order, places_of
from maseval.stats.intervals import LEVEL, Interval, check_level
from maseval.stats.paired_evidence import Evidence, PairedTask
from maseval.stats.planning import least_half_width
from maseval.stats.result import Result
from maseval.stats.summary import estimate
from maseval.stats.trials import Trials, by_trial

Question = Literal["better", "not worse", "precision"]
"""Is it better (or worse), is it not worse by a margin, or how good is it, to within a width."""

Claim = Literal["on these tasks", "on tasks like these"]

SequentialOutcome = Literal["better", "worse", "not worse", "precise", "undecided"]

_METHODS = {
    "better": "test stratified by task, normal boundaries over all looks",
    "not worse": "test of the margin with the variance of the trials, normal boundaries",
}
_STAGEWISE = "adjusted for the looks, ordered by look and size"

_MOST_LOOKS = 50

# An end of an interval is found to within a thousandth of a point, in a few steps.
_CLOSE = 1e-5
_MOST_STEPS = 40

# The least variance: that of more trials than anybody runs.
_LEAST = 1e-12


@dataclass(frozen=True)
class SequentialPlan(Result):
    """A question and the looks at which it may be answered; it is fixed before the first trial.

    ``looks`` are the trials of each task at each look, such as ``(1, 2, 3, 4)``. The baseline is
    finished, with ``baseline_trials`` of each task. ``margin`` is the loss that "not worse"
    tolerates and ``half_width`` the precision that is wanted, both as shares: 0.05 is five points.
    """

    question: Question
    looks: tuple[int, ...]
    baseline_trials: int | None = None
    margin: float = 0.0
    half_width: float | None = None
    claim: Claim = "on these tasks"
    level: float = LEVEL

    def __post_init__(self) -> None:
        check_level(self.level)
        looks = self.looks
        if not looks or looks[0] < 1 or any(a >= b for a, b in pairwise(looks)):
            raise ConfigurationError(
                f"the looks are {list(looks)}; give trials per task that rise, like 1, 2, 4"
            )
        if len(looks) > _MOST_LOOKS:
            raise ConfigurationError(
                f"{len(looks)} looks are planned; give at most {_MOST_LOOKS}: more save nothing"
            )
        if self.question != "precision" and (self.baseline_trials or 0) < 1:
            raise ConfigurationError(
                "the finished baseline has no trial; give a run that has one, and its trials of "
                "each task as baseline_trials"
            )
        if self.question == "not worse" and not 0 < self.margin < 1:
            raise ConfigurationError(
                f"margin is {self.margin}; give the loss that is tolerated, like 0.05"
            )
        if self.question == "precision":
            if self.half_width is None or not 0 < self.half_width < 1:
                raise ConfigurationError(
                    f"half_width is {self.half_width}; give the precision wanted, like 0.04"
                )
        elif self.claim != "on these tasks":
            raise ConfigurationError(
                f"a comparison with interim looks is about these tasks, not {self.claim!r}: "
                "run all trials and compare the two runs for that"
            )

    @property
    def alpha(self) -> float:
        """The chance to err on each side."""
        return (1 - self.level) / 2

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of the information at each look.

        It is the inverse of the variance of the difference between the two systems' means.
        """
        last = self._variance(self.looks[-1])
        return tuple(last / self._variance(trials) for trials in self.looks)

    def _variance(self, trials: int) -> float:
        # Only ratios of these are used, so without a baseline a common factor does not matter.
        return 1 / trials + 1 / (self.baseline_trials or trials)

    @property
    def boundaries(self) -> tuple[float, ...]:
        """The standard errors from the question's value at which each look decides, by the normal
        law.
        """
        return normal_boundaries(self.shares, self.alpha)


@dataclass(frozen=True)
class LookResult(Result):
    """One look: the trials of each task so far, the estimate, and what would decide.

    Of the planned trials so far ``verdicts`` count, and those ``without`` a verdict do not.
    ``boundary`` is the difference from the question's value that would have decided, None if none
    would; of a precision, it is the half-width wanted and ``reached`` the one found.
    """

    trials: int
    tasks: int
    verdicts: int
    without: int
    value: float | None
    boundary: float | None
    reached: float | None


@dataclass(frozen=True)
class Decision(Result):
    """The answer at a look, and if the run ends with it.

    ``estimate`` and ``interval`` are of the difference, new - baseline, or of pass^1 if that is the
    question; they allow for the stopping. ``p_value`` is two-sided and allows for the looks. Before
    the end of a comparison there is neither an interval nor a p-value.
    """

    plan: SequentialPlan
    outcome: SequentialOutcome
    stops: bool
    reason: str
    looks: list[LookResult]
    estimate: float | None
    interval: Interval | None
    p_value: float | None
    method: str
    notes: list[str] = field(default_factory=list)


def decide(
    plan: SequentialPlan, look: int, outcomes: Iterable[Outcome], baseline: Iterable[Outcome] = ()
) -> Decision:
    """Answer the plan's question at a look, counted from 1, from the outcomes up to it.

    Trials are numbered from 0, and those of later rounds are left aside; all of the baseline count.
    A trial without a verdict does not count, nor does a task that only one run has. Raise
    ConfigurationError if the look is not complete.
    """
    if not 1 <= look <= len(plan.looks):
        raise ConfigurationError(f"look {look} is not planned; give 1 to {len(plan.looks)}")
    outcomes, looks = list(outcomes), plan.looks[:look]
    new, old, places = by_trial(outcomes), by_trial(baseline), places_of(outcomes)
    if plan.question == "precision":
        _check_complete(looks[-1], new)
        rounds = [[_count(task, range(n)) for task in new.values()] for n in looks]
        return decide_precision(plan, rounds, in_order(places, new))
    shared = [key for key in new if key in old]
    if not shared:
        raise ConfigurationError("the run and its baseline share no task; give the same tasks")
    _check_complete(looks[-1], {key: new[key] for key in shared})
    # Trials of these very tasks vary by themselves: weights matter here, and clusters do not.
    weights = [place.weight for place in in_order(places, shared) or ()]
    evidence = []
    for n in looks:
        tasks = [
            PairedTask(_count(new[key], range(n)), _count(old[key], old[key])) for key in shared
        ]
        evidence.append(Evidence(tasks, weights))
    found = decide_difference(plan, evidence, len(shared))
    alone = len(new) + len(old) - 2 * len(shared)
    if alone:
        found.notes.append(f"left out: {count_of(alone, 'task')} that only one run has")
    return found


_ByTrial = Mapping[int, bool | None]


def _check_complete(trials: int, tasks: Mapping[TaskKey, _ByTrial]) -> None:
    missing = [(key, t) for key, mine in tasks.items() for t in range(trials) if t not in mine]
    if missing:
        key, trial = missing[0]
        raise ConfigurationError(
            f"the round is not complete: {count_of(len(missing), 'simulation')} of the first "
            f"{count_of(trials, 'trial')} missing, such as trial {trial} of task {str(key)!r}"
        )


def _count(task: _ByTrial, trials: Collection[int]) -> Trials:
    verdicts = [task[t] for t in trials if task.get(t) is not None]
    return Trials(len(verdicts), sum(map(bool, verdicts)))


def decide_difference(plan: SequentialPlan, looks: Sequence[Evidence], shared: int = 0) -> Decision:
    """Answer the question at the last of these looks, each with the evidence of all trials so far.

    ``shared`` tasks are in both runs, by default those that count.
    """
    last, final = looks[-1], len(looks) == len(plan.looks)
    # "Not worse" is a test against the loss that is tolerated, the others are against none.
    centre = -plan.margin if plan.question == "not worse" else 0.0
    edges = [_edges(plan, at, each, centre) for at, each in enumerate(looks)]
    shown = []
    for trials, each, (_, high) in zip(plan.looks, looks, edges, strict=False):
        edge = high - centre
        shown.append(
            LookResult(
                trials=trials,
                tasks=each.tasks,
                verdicts=each.trials,
                without=(shared or each.tasks) * trials - each.trials,
                value=each.difference if each.tasks else None,
                boundary=edge if math.isfinite(edge) else None,
                reached=each.difference - centre if each.tasks else None,
            )
        )

    def answer(
        outcome: SequentialOutcome,
        stops: bool,
        reason: str,
        value: float | None = None,
        span: Interval | None = None,
        p_value: float | None = None,
    ) -> Decision:
        method = _METHODS[plan.question] if last.tasks else "none"
        method = f"{method}; O'Brien-Fleming type spending; claim: {plan.claim}"
        return Decision(plan, outcome, stops, reason, shown, value, span, p_value, method)

    if not last.tasks:
        return answer("undecided", final, "no task has a verdict on both sides")
    found, (low, high) = last.difference, edges[-1]
    outcome: SequentialOutcome = "undecided"
    if found >= high:
        outcome = "not worse" if plan.question == "not worse" else "better"
    elif found <= low:
        outcome = "worse"
    at = _at_look(plan, len(looks))
    if outcome == "undecided" and not final:
        return answer(
            outcome, False, f"{at}: {in_points(found)} points do not decide it yet", found
        )
    # Runs stop at extremes: an estimate that ignored it would lie too far from zero.
    value, span = _stagewise(plan, looks, edges)
    p = _p_value(plan, len(looks) - 1, last, centre)
    return answer(outcome, True, f"{at}: {_words(plan, outcome)}, {p_is(p)}", value, span, p)


def _at_look(plan: SequentialPlan, look: int) -> str:
    trials = count_of(plan.looks[look - 1], "trial")
    return f"look {look} of {len(plan.looks)}, {trials} per task"


def _words(plan: SequentialPlan, outcome: SequentialOutcome) -> str:
    margin = f" by {in_percent(plan.margin)} points"
    if outcome == "undecided":
        return "undecided after all planned looks"
    if plan.question == "not worse":
        return f"not worse{margin}" if outcome == "not worse" else f"worse{margin} or more"
    return f"{outcome} than the baseline"


def _error_and_step(plan: SequentialPlan, look: Evidence) -> tuple[float, float]:
    """Return the standard error of the difference under the test, and its least step."""
    better = plan.question == "better"
    variance, step = look.exchange_spread if better else (look.variance(), 0.0)
    return math.sqrt(variance), step


def _edges(
    plan: SequentialPlan, position: int, look: Evidence, centre: float
) -> tuple[float, float]:
    """Return the differences at which a look decides on either side."""
    if not look.tasks:
        return -math.inf, math.inf
    error, step = _error_and_step(plan, look)
    reach = plan.boundaries[position] * error + step / 2
    return centre - reach, centre + reach


def _p_value(plan: SequentialPlan, position: int, look: Evidence, centre: float) -> float:
    error, step = _error_and_step(plan, look)
    distance = max(0.0, abs(look.difference - centre) - step / 2)
    # Without any variance a difference is either certain or impossible.
    if not error:
        return 1.0 if not distance else 0.0
    last, bands = plan.shares[position], []
    for share, z in zip(plan.shares[:position], plan.boundaries, strict=False):
        bands.append(Band(share, -z / math.sqrt(share), z / math.sqrt(share)))
    before, at_end = exits(bands, 0.0)
    beyond = at_end(Band(last, -math.inf, distance / error / math.sqrt(last))).above
    # The bands are symmetric, so both sides have the same chance.
    return min(1.0, 2 * (math.fsum(each.above for each in before) + beyond))


def _stagewise(
    plan: SequentialPlan, looks: Sequence[Evidence], edges: Sequence[tuple[float, float]]
) -> tuple[float, Interval]:
    """Return the median-unbiased estimate and the interval.

    A result that crosses upwards at an earlier look is higher, one that crosses downwards is lower.
    """
    shares, stage, found = plan.shares, len(looks) - 1, looks[-1].difference
    variance = max(_LEAST, looks[-1].variance())
    now, error = 1 / variance, math.sqrt(variance)
    bands = [
        Band(now * share / shares[stage], low, high)
        for share, (low, high) in zip(shares, edges[:stage], strict=False)
    ]
    end = Band(now, -math.inf, found)

    def chance(effect: float) -> float:
        """Return the chance of a result as high as this one, if this is the true difference."""
        before, at_end = exits(bands, effect)
        return math.fsum([*(each.above for each in before), at_end(end).above])

    def solve(wanted: float) -> float:
        aim = _probit(wanted)
        return _root(lambda effect: _probit(chance(effect)) - aim, found + aim * error, error)

    low, high = max(-1.0, solve(plan.alpha)), min(1.0, solve(1 - plan.alpha))
    return min(high, max(low, solve(0.5))), Interval(low, high, plan.level, _STAGEWISE)


def _probit(chance: float) -> float:
    return NormalDist().inv_cdf(min(1 - 1e-15, max(1e-15, chance)))


def _root(rising: Callable[[float], float], start: float, step: float) -> float:
    """Find where a nearly straight function is zero that rises by 1 in ``step`` (secants)."""
    before, at_before = start, rising(start)
    now = start - at_before * step
    for _ in range(_MOST_STEPS):
        if abs(now - before) < _CLOSE:
            break
        at_now = rising(now)
        slope = (at_now - at_before) / (now - before)
        # Far from the root the function may bend: go on with about the usual steepness there.
        slope = min(4 / step, max(0.25 / step, slope))
        before, at_before, now = now, at_now, now - at_now / slope
    return now


def decide_precision(
    plan: SequentialPlan, rounds: Sequence[Sequence[Trials]], places: Places | None = None
) -> Decision:
    """Say if pass^1 is known to within the half-width wanted; each look has every task's trials.

    The run ends where the interval is narrow enough (Chow & Robbins 1965), and where no number of
    trials of these tasks could make it so.
    """
    assert plan.half_width is not None  # the plan is about a precision
    looks = []
    for trials, tasks in zip(plan.looks, rounds, strict=False):
        found = estimate(tasks, level=plan.level, places=places)
        span = found.rerun if plan.claim == "on these tasks" else found.interval
        verdicts = sum(each.total for each in tasks)
        looks.append(
            LookResult(
                trials=trials,
                tasks=sum(each.total > 0 for each in tasks),
                verdicts=verdicts,
                without=len(tasks) * trials - verdicts,
                value=found.value,
                boundary=plan.half_width,
                reached=None if span is None else span.half_width,
            )
        )
    reached = looks[-1].reached
    outcome: SequentialOutcome = "undecided"
    stops = len(rounds) == len(plan.looks)
    wanted = f"\u00b1{in_percent(plan.half_width)} points {plan.claim}"
    least = least_half_width(rounds[-1], plan.level, places)
    if reached is not None and reached <= plan.half_width:
        outcome, stops = "precise", True
        reason = f"pass^1 is known to within {wanted}"
    elif plan.claim == "on tasks like these" and least is not None and least > plan.half_width:
        stops = True
        number, unit = looks[-1].tasks, "task"
        if places is not None:
            number, unit = len({place.cluster for place in places}), "cluster"
        reason = (
            f"{wanted} is not reachable with {count_of(number, unit)}: with "
            f"unlimited trials it would be \u00b1{in_percent(least)}; only more {unit}s help"
        )
    else:
        now = "not known yet" if reached is None else f"\u00b1{in_percent(reached)} now"
        reason = f"{wanted} not reached: {now}"
    return Decision(
        plan=plan,
        outcome=outcome,
        stops=stops,
        reason=f"{_at_look(plan, len(rounds))}: {reason}",
        looks=looks,
        estimate=found.value,
        interval=span,
        p_value=None,
        method=f"{percent(plan.level, 0)} interval, stopped by its width; claim: {plan.claim}",
    )
