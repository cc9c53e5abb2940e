"""Decisions on the way: trials come in rounds, and after each round it is asked if that is enough.

The claim is about **these tasks**: new trials of them would show the same. Two systems are told
apart by all trials of a finished baseline and those of the new one so far, stratified by task
(Mantel & Haenszel 1959), and a margin is tested with the variance of the trials (Wald 1943), both
with the boundaries of the normal law. The
estimate and the interval allow for the stopping: results are ordered by the look at which they
come, and then by size (Tsiatis, Rosner & Mehta 1984; Jennison & Turnbull 2000, section 8.5). Where
a run ended for another reason, the interval is a repeated one, which holds at any time (Jennison &
Turnbull 1989).
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.core.figures import in_percent, in_points, p_is, percent
from maseval.core.outcome import Outcome, TaskKey
from maseval.core.words import count_of
from maseval.stats.boundaries import Band, exits
from maseval.stats.intervals import Interval
from maseval.stats.paired_evidence import Evidence, PairedTask
from maseval.stats.planning import least_half_width
from maseval.stats.sequential_plan import Decision, LookResult, SequentialOutcome, SequentialPlan
from maseval.stats.summary import estimate
from maseval.stats.trials import Trials

STAGEWISE = "adjusted for the looks, ordered by look and size"
REPEATED = "repeated interval, which holds at any look"

# An end of an interval is found to within a thousandth of a point, in a few steps.
_CLOSE = 1e-5
_MOST_STEPS = 40

# The least variance: that of more trials than anybody runs.
_LEAST = 1e-12


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
    new, old = _by_trial(outcomes), _by_trial(baseline)
    if plan.question == "precision":
        _check_complete(plan.looks[look - 1], new)
        singles = [[_count(task, range(n)) for task in new.values()] for n in plan.looks[:look]]
        return decide_precision(plan, singles, _missing(plan, look, new))
    shared = [key for key in new if key in old]
    if not shared:
        raise ConfigurationError("the run and its baseline share no task; give the same tasks")
    _check_complete(plan.looks[look - 1], {key: new[key] for key in shared})
    evidence = [
        Evidence(
            PairedTask(_count(new[key], range(n)), _count(old[key], old[key])) for key in shared
        )
        for n in plan.looks[:look]
    ]
    without = [
        len(shared) * trials - each.trials
        for trials, each in zip(plan.looks, evidence, strict=False)
    ]
    found = decide_difference(plan, evidence, without)
    alone = len(new) + len(old) - 2 * len(shared)
    if alone:
        found.notes.append(f"left out: {count_of(alone, 'task')} that only one run has")
    return found


_ByTrial = Mapping[int, bool | None]


def _by_trial(outcomes: Iterable[Outcome]) -> dict[TaskKey, dict[int, bool | None]]:
    found: dict[TaskKey, dict[int, bool | None]] = {}
    for each in outcomes:
        mine = found.setdefault(each.key, {})
        if each.trial in mine:
            raise ConfigurationError(
                f"trial {each.trial} of task {str(each.key)!r} appears twice; give each trial once"
            )
        mine[each.trial] = each.passed
    return found


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


def _missing(plan: SequentialPlan, look: int, new: Mapping[TaskKey, _ByTrial]) -> list[int]:
    return [
        sum(task[t] is None for task in new.values() for t in range(n)) for n in plan.looks[:look]
    ]


def decide_difference(
    plan: SequentialPlan, looks: Sequence[Evidence], without: Sequence[int] | None = None
) -> Decision:
    """Answer the question at the last of these looks; ``without`` counts trials that do not count.

    Each look has the evidence of all trials so far.
    """
    return _Comparison(plan, looks, without or [0] * len(looks)).decide()


class _Test(NamedTuple):
    """A test at one look: the difference at which it would decide each side, and its p-value."""

    low: float
    high: float
    p_value: Callable[[], float]
    method: str


@dataclass(frozen=True)
class _Comparison:
    plan: SequentialPlan
    looks: Sequence[Evidence]
    without: Sequence[int]

    @property
    def centre(self) -> float:
        return -self.plan.margin if self.plan.question == "not worse" else 0.0

    def decide(self) -> Decision:
        plan, last = self.plan, self.looks[-1]
        look, final = len(self.looks), len(self.looks) == len(self.plan.looks)
        if not last.tasks:
            why = "no task has a verdict on both sides"
            return self._decision("undecided", final, why, [], None, None, None)
        tests = self.tests()
        low, high, p_value, _ = tests[-1]
        found = last.difference
        outcome: SequentialOutcome = "undecided"
        if found >= high:
            outcome = "not worse" if plan.question == "not worse" else "better"
        elif found <= low:
            outcome = "worse"
        at = f"look {look} of {len(plan.looks)}, {count_of(plan.looks[look - 1], 'trial')} per task"
        if outcome == "undecided" and not final:
            why = f"{at}: {in_points(found)} points do not decide it yet"
            span = self._repeated_interval()
            return self._decision(outcome, False, why, tests, found, span, None)
        value, span = self._stagewise(tests)
        p = p_value()
        why = f"{at}: {self._words(outcome)}, {p_is(p)}"
        return self._decision(outcome, True, why, tests, value, span, p)

    def _words(self, outcome: SequentialOutcome) -> str:
        margin = f" by {in_percent(self.plan.margin)} points"
        if outcome == "undecided":
            return "all planned trials are run and do not decide it"
        if self.plan.question == "not worse":
            return f"not worse{margin}" if outcome == "not worse" else f"worse{margin} or more"
        return f"{outcome} than the baseline"

    def _decision(
        self,
        outcome: SequentialOutcome,
        stops: bool,
        reason: str,
        tests: Sequence[_Test],
        value: float | None,
        span: Interval | None,
        p_value: float | None,
    ) -> Decision:
        looks = []
        for position, each in enumerate(self.looks):
            edge = tests[position].high - self.centre if tests else math.inf
            looks.append(
                LookResult(
                    trials=self.plan.looks[position],
                    tasks=each.tasks,
                    verdicts=each.trials,
                    without=self.without[position],
                    value=each.difference if each.tasks else None,
                    boundary=edge if math.isfinite(edge) else None,
                    reached=each.difference - self.centre if each.tasks else None,
                )
            )
        method = tests[-1].method if tests else "none"
        return Decision(
            plan=self.plan,
            outcome=outcome,
            stops=stops,
            reason=reason,
            looks=looks,
            estimate=value,
            interval=span,
            p_value=p_value,
            boundary=looks[-1].boundary,
            method=f"{method}; O'Brien-Fleming type spending; claim: {self.plan.claim}",
        )

    def tests(self) -> list[_Test]:
        """Return the test of each look so far."""
        if self.plan.question == "not worse":
            return [self._margin_test(position) for position in range(len(self.looks))]
        return [self._exchange_test(position) for position in range(len(self.looks))]

    def _exchange_test(self, position: int) -> _Test:
        variance, step = self.looks[position].exchange_spread
        return self._normal_test(
            position, variance, step, "test stratified by task, normal boundaries over all looks"
        )

    def _margin_test(self, position: int) -> _Test:
        variance = self.looks[position].variance()
        words = "test of the margin with the variance of the trials, normal boundaries"
        return self._normal_test(position, variance, 0.0, words)

    def _normal_test(self, position: int, variance: float, step: float, method: str) -> _Test:
        error = math.sqrt(variance)
        reach = self.plan.boundaries[position] * error + step / 2
        distance = max(0.0, abs(self.looks[position].difference - self.centre) - step / 2)

        def p_value() -> float:
            if not error:
                return 1.0 if not distance else 0.0
            last, shares = self.plan.shares[position], self.plan.shares
            bands = [
                Band(share, -z / math.sqrt(share), z / math.sqrt(share))
                for share, z in zip(shares[:position], self.plan.boundaries, strict=False)
            ]
            before, at_end = exits(bands, 0.0)
            edge = distance / error / math.sqrt(last)
            beyond = at_end(Band(last, -math.inf, edge)).above
            return min(1.0, 2 * (math.fsum(each.above for each in before) + beyond))

        return _Test(self.centre - reach, self.centre + reach, p_value, method)

    def _repeated_interval(self) -> Interval:
        last = self.looks[-1]
        error = math.sqrt(last.variance())
        reach = self.plan.boundaries[len(self.looks) - 1] * error
        return _within(last.difference - reach, last.difference + reach, self.plan.level, REPEATED)

    def _stagewise(self, tests: Sequence[_Test]) -> tuple[float, Interval]:
        """Return the median-unbiased estimate and the interval."""
        chance = self.chance_beyond(tests)
        error = math.sqrt(max(_LEAST, self.looks[-1].variance()))
        found, alpha = self.looks[-1].difference, self.plan.alpha

        def solve(wanted: float) -> float:
            aim = _probit(wanted)
            return _root(lambda effect: _probit(chance(effect)) - aim, found + aim * error, error)

        ends = _within(solve(alpha), solve(1 - alpha), self.plan.level, STAGEWISE)
        return min(ends.high, max(ends.low, solve(0.5))), ends

    def chance_beyond(self, tests: Sequence[_Test]) -> Callable[[float], float]:
        """Return the chance of a result as high as this one, as a function of the true difference.

        One that crosses upwards at an earlier look is higher, one that crosses downwards is lower.
        """
        shares, stage = self.plan.shares, len(self.looks) - 1
        now = 1 / max(_LEAST, self.looks[-1].variance())
        bands = [
            Band(now * share / shares[stage], test.low, test.high)
            for share, test in zip(shares, tests[:stage], strict=False)
        ]
        end = Band(now, -math.inf, self.looks[-1].difference)

        def chance(effect: float) -> float:
            before, at_end = exits(bands, effect)
            return math.fsum([*(each.above for each in before), at_end(end).above])

        return chance


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


def _within(low: float, high: float, level: float, method: str) -> Interval:
    return Interval(max(-1.0, low), min(1.0, high), level, method)


def decide_precision(
    plan: SequentialPlan, rounds: Sequence[Sequence[Trials]], without: Sequence[int] | None = None
) -> Decision:
    """Say if pass^1 is known to within the half-width wanted; each look has every task's trials.

    The run ends where the interval is narrow enough (Chow & Robbins 1965), and where no number of
    trials of these tasks could make it so.
    """
    assert plan.half_width is not None  # the plan is about a precision
    looks = []
    for position, tasks in enumerate(rounds):
        found = estimate(tasks, level=plan.level)
        span = found.rerun if plan.claim == "on these tasks" else found.interval
        looks.append(
            LookResult(
                trials=plan.looks[position],
                tasks=sum(each.total > 0 for each in tasks),
                verdicts=sum(each.total for each in tasks),
                without=without[position] if without else 0,
                value=found.value,
                boundary=plan.half_width,
                reached=None if span is None else span.half_width,
            )
        )
    final, reached = len(rounds) == len(plan.looks), looks[-1].reached
    outcome: SequentialOutcome = "undecided"
    stops, wanted = final, f"\u00b1{in_percent(plan.half_width)} points {plan.claim}"
    least = least_half_width(rounds[-1], plan.level)
    if reached is not None and reached <= plan.half_width:
        outcome, stops = "precise", True
        reason = f"pass^1 is known to within {wanted}"
    elif plan.claim == "on tasks like these" and least is not None and least > plan.half_width:
        stops = True
        reason = (
            f"{wanted} is not reachable with {count_of(looks[-1].tasks, 'task')}: with "
            f"unlimited trials it would be \u00b1{in_percent(least)}; only more tasks help"
        )
    else:
        now = "not known yet" if reached is None else f"\u00b1{in_percent(reached)} now"
        reason = f"{wanted} not reached: {now}"
    at = f"look {len(rounds)} of {len(plan.looks)}, {count_of(looks[-1].trials, 'trial')} per task"
    return Decision(
        plan=plan,
        outcome=outcome,
        stops=stops,
        reason=f"{at}: {reason}",
        looks=looks,
        estimate=found.value,
        interval=span,
        p_value=None,
        boundary=plan.half_width,
        method=f"{percent(plan.level, 0)} interval, stopped by its width; claim: {plan.claim}",
    )
