"""Decisions on the way: trials come in rounds, and after each round it is asked if that is enough.

A look happens when a round is complete: every planned trial of it has a verdict, or is recorded as
one that has none and is not tried again. What happened later is not looked at, so a decision is a
function of the plan and of the outcomes up to the look, whenever and wherever it is made.

The claim is about **these tasks**: new trials of them would show the same. Two systems are told
apart by the joint sign-flip test over the (task, trial) pairs, which is exact; against a finished
baseline all of its trials are used, stratified by task (Mantel & Haenszel 1959), and a margin is
tested with the variance of the trials (Wald 1943), both with the boundaries of the normal law. The
estimate and the interval allow for the stopping: results are ordered by the look at which they
come, and then by size (Tsiatis, Rosner & Mehta 1984; Jennison & Turnbull 2000, section 8.5). Where
a run ended for another reason, the interval is a repeated one, which holds at any time (Jennison &
Turnbull 1989).
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from statistics import NormalDist
from typing import Literal, NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.core.figures import in_percent, in_points, p_is, percent
from maseval.core.outcome import Outcome, TaskKey
from maseval.core.words import count_of
from maseval.stats.boundaries import Band, Spending, exits, normal_boundaries
from maseval.stats.estimation import estimate
from maseval.stats.intervals import LEVEL, Interval, check_level
from maseval.stats.joint_flips import MOST_COUNTED, JointFlips
from maseval.stats.planning import least_half_width
from maseval.stats.result import Result
from maseval.stats.trials import Trials

Question = Literal["better", "not worse", "precision"]
"""Is it better (or worse), is it not worse by a margin, or how good is it, to within a width."""

Claim = Literal["on these tasks", "on tasks like these"]

SequentialOutcome = Literal["better", "worse", "not worse", "precise", "undecided"]

STAGEWISE = "adjusted for the looks, ordered by look and size"
REPEATED = "repeated interval, which holds at any look"

_MOST_LOOKS = 50

# An end of an interval is found to within a thousandth of a point, in a few steps.
_CLOSE = 1e-5
_MOST_STEPS = 40

# The least variance: that of more trials than anybody runs.
_LEAST = 1e-12


@dataclass(frozen=True)
class SequentialPlan(Result):
    """A question and the looks at which it may be answered; it is fixed before the first trial.

    ``looks`` are the trials of each task at each look, such as ``(1, 2, 3, 4)``. The baseline runs
    alongside, trial by trial, unless ``baseline_trials`` says how many a finished one has of each
    task. ``margin`` is the loss that "not worse" tolerates and ``half_width`` the precision that is
    wanted, both as shares: 0.05 is five points. With ``futility`` the run also ends where the
    chance to decide it, if the difference is as it looks, falls below this; None never gives up.
    """

    question: Question
    looks: tuple[int, ...]
    baseline_trials: int | None = None
    margin: float = 0.0
    half_width: float | None = None
    claim: Claim = "on these tasks"
    spending: Spending = "O'Brien-Fleming"
    level: float = LEVEL
    futility: float | None = None

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
        if self.baseline_trials is not None and self.baseline_trials < 1:
            raise ConfigurationError("the finished baseline has no trial; give a run that has one")
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
                f"a comparison that looks several times speaks of these tasks, not {self.claim!r}: "
                "run all trials and compare the two runs for that"
            )
        if self.futility is not None and not 0 < self.futility < 1:
            raise ConfigurationError(
                f"futility is {self.futility}; give a chance between 0 and 1, like 0.1"
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
        return 1 / trials + 1 / (self.baseline_trials or trials)

    @property
    def boundaries(self) -> tuple[float, ...]:
        """The standard errors from the question's value at which each look decides, by the normal
        law.
        """
        return normal_boundaries(self.shares, self.alpha, self.spending)


class PairedTask(NamedTuple):
    """One task at one look: trials of both systems, and pairs of which only one passed.

    Alongside a baseline only trials with a verdict on both sides are counted; against a finished
    one there are no pairs.
    """

    new: Trials
    baseline: Trials
    only_new: int = 0
    only_baseline: int = 0

    @property
    def difference(self) -> float:
        """The pass rate of the new system - that of the baseline."""
        return self.new.passed / self.new.total - self.baseline.passed / self.baseline.total


@dataclass(frozen=True)
class LookResult(Result):
    """One look: the trials of each task so far, the estimate, and what would decide.

    Of the planned trials so far ``verdicts`` count, and those ``without`` a verdict (on both sides,
    if the baseline runs alongside) do not. ``boundary`` is the difference from the question's value
    that would have decided, None if none would; of a precision, it is the half-width wanted and
    ``reached`` the one found.
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
    question; once the run ends they allow for the stopping. ``p_value`` is two-sided, allows for
    the looks and is None before the end. ``boundary`` is that of the last look.
    """

    plan: SequentialPlan
    outcome: SequentialOutcome
    stops: bool
    reason: str
    looks: list[LookResult]
    estimate: float | None
    interval: Interval | None
    p_value: float | None
    boundary: float | None
    method: str
    notes: list[str] = field(default_factory=list)

    @property
    def trials_left(self) -> int:
        """The planned trials of each task that are not run if the run ends here."""
        return self.plan.looks[-1] - self.looks[-1].trials


def looks_ready(looks: Sequence[int], tasks: Iterable[TaskKey], outcomes: Iterable[Outcome]) -> int:
    """Return how many looks are complete: each planned trial up to it is among the outcomes.

    Trials are numbered from 0. One without a verdict counts as there: give it only if it is final.
    """
    there = {(each.key, each.trial) for each in outcomes}
    keys = list(tasks)
    ready = 0
    for trials in looks:
        if not all((key, trial) in there for key in keys for trial in range(trials)):
            break
        ready += 1
    return ready


def decide(
    plan: SequentialPlan,
    look: int,
    outcomes: Iterable[Outcome],
    baseline: Iterable[Outcome] = (),
) -> Decision:
    """Answer the plan's question at a look, counted from 1, from the outcomes up to it.

    Trials are numbered from 0 in both runs, and those of later rounds are left aside. A pair of
    which one side has no verdict does not count, nor does a task that only one run has. Raise
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
    if plan.baseline_trials is None:
        _check_complete(plan.looks[look - 1], {key: old[key] for key in shared})
    evidence = [
        Evidence(_pair_up(plan, new[key], old[key], n) for key in shared) for n in plan.looks[:look]
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


def _pair_up(plan: SequentialPlan, new: _ByTrial, old: _ByTrial, trials: int) -> PairedTask:
    if plan.baseline_trials is not None:
        return PairedTask(_count(new, range(trials)), _count(old, old))
    both = [t for t in range(trials) if new[t] is not None and old[t] is not None]
    return PairedTask(
        _count(new, both),
        _count(old, both),
        sum(bool(new[t]) > bool(old[t]) for t in both),
        sum(bool(new[t]) < bool(old[t]) for t in both),
    )


def _missing(plan: SequentialPlan, look: int, new: Mapping[TaskKey, _ByTrial]) -> list[int]:
    return [
        sum(task[t] is None for task in new.values() for t in range(n)) for n in plan.looks[:look]
    ]


def decide_difference(
    plan: SequentialPlan, looks: Sequence["Evidence"], without: Sequence[int] | None = None
) -> Decision:
    """Answer the question at the last of these looks; ``without`` counts trials that do not count.

    Each look has the evidence of all trials so far.
    """
    return _Comparison(plan, looks, without or [0] * len(looks)).decide()


class Evidence:
    """The counts of all tasks at one look; those without a verdict on both sides are left out."""

    def __init__(self, tasks: Iterable[PairedTask] | Mapping[PairedTask, int]) -> None:
        """Count the tasks, one by one or with the number of tasks of each kind."""
        kinds = Counter(tasks).items()
        self._kinds = {each: n for each, n in kinds if each.new.total and each.baseline.total}
        self.tasks = sum(self._kinds.values())

    @cached_property
    def difference(self) -> float:
        """The mean over tasks of new - baseline; every task counts once."""
        return self._mean(lambda each: each.difference) if self.tasks else 0.0

    @cached_property
    def surplus(self) -> int:
        """The pairs that only the new system passed, less those that only the baseline did."""
        return sum(n * (each.only_new - each.only_baseline) for each, n in self._kinds.items())

    @cached_property
    def differing(self) -> int:
        """The pairs that one of the two passed."""
        return sum(n * (each.only_new + each.only_baseline) for each, n in self._kinds.items())

    @cached_property
    def trials(self) -> int:
        """The trials of the new system that count."""
        return sum(n * each.new.total for each, n in self._kinds.items())

    def variance(self, alongside: bool) -> float:
        """Return the variance of the difference if only the trials are repeated.

        One more pair that differs is added, as luck may hide where all agree.
        """
        new = self._mean(lambda each: 1 / each.new.total)
        if alongside:
            return (self._pair_variance + new / self.tasks) * new / self.tasks
        old = self._mean(lambda each: 1 / each.baseline.total)
        mine, theirs = self._trial_variances
        return ((mine + new / self.tasks) * new + (theirs + old / self.tasks) * old) / self.tasks

    @cached_property
    def _pair_variance(self) -> float:
        """The variance of the difference in one pair, given the task."""
        found = self._mean_of_most(_of_pairs, lambda each: each.new.total > 1)
        if found is not None:
            return found
        # Single pairs do not tell a difference of the systems at one task from luck: at most this.
        share = self._mean(lambda each: (each.only_new + each.only_baseline) / each.new.total)
        return max(0.0, share - self.difference**2)

    @cached_property
    def _trial_variances(self) -> tuple[float, float]:
        """The variances of one trial, given the task, of the new system and of the baseline."""
        new = self._mean_of_most(lambda each: _of_trials(each.new), lambda each: each.new.total > 1)
        old = self._mean_of_most(
            lambda each: _of_trials(each.baseline), lambda each: each.baseline.total > 1
        )
        both = self._mean(_chance_to_differ) - self.difference**2
        if new is None and old is None:
            return max(0.0, both / 2), max(0.0, both / 2)
        if new is None:
            return max(0.0, both - (old or 0.0)), old or 0.0
        return new, max(0.0, both - new) if old is None else old

    @cached_property
    def exchange_spread(self) -> tuple[float, float]:
        """The variance of the difference if a task's outcomes are exchanged, and its least step.

        Source: Mantel & Haenszel 1959, with all tasks of equal weight.
        """
        step = min((a.total + b.total) / (a.total * b.total) for a, b, *_ in self._kinds)
        return self._mean(_of_exchanges) / self.tasks, step / self.tasks

    def _mean(self, score: Callable[[PairedTask], float]) -> float:
        return math.fsum(n * score(each) for each, n in self._kinds.items()) / self.tasks

    def _mean_of_most(
        self, score: Callable[[PairedTask], float], has: Callable[[PairedTask], bool]
    ) -> float | None:
        """Return the mean over the tasks that have it; None if they are less than half of all."""
        kinds = [(each, n) for each, n in self._kinds.items() if has(each)]
        count = sum(n for _, n in kinds)
        return (
            math.fsum(n * score(each) for each, n in kinds) / count
            if 2 * count >= self.tasks
            else None
        )


def _of_pairs(task: PairedTask) -> float:
    n, total = task.new.total, task.only_new - task.only_baseline
    return (task.only_new + task.only_baseline - total * total / n) / (n - 1)


def _of_trials(trials: Trials) -> float:
    n, passed = trials
    return passed * (n - passed) / (n * (n - 1))


def _of_exchanges(task: PairedTask) -> float:
    size, passed = (a + b for a, b in zip(task.new, task.baseline, strict=True))
    return passed * (size - passed) / (task.new.total * task.baseline.total * (size - 1))


def _chance_to_differ(task: PairedTask) -> float:
    a, b = (each.passed / each.total for each in (task.new, task.baseline))
    return a * (1 - b) + b * (1 - a)


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
    def alongside(self) -> bool:
        return self.plan.baseline_trials is None

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
        hopeless = outcome == "undecided" and not final and self._is_hopeless()
        at = f"look {look} of {len(plan.looks)}, {count_of(plan.looks[look - 1], 'trial')} per task"
        if outcome == "undecided" and not (final or hopeless):
            why = f"{at}: {in_points(found)} points do not decide it yet"
            span = self._repeated_interval()
            return self._decision(outcome, False, why, tests, found, span, None)
        if hopeless:
            why = f"{at}: with this difference there is little hope to decide it"
            span = self._repeated_interval()
            return self._decision(outcome, True, why, tests, found, span, p_value())
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
            method=f"{method}; {self.plan.spending} type spending; claim: {self.plan.claim}",
        )

    def tests(self) -> list[_Test]:
        """Return the test of each look so far."""
        if self.plan.question == "not worse":
            return [self._margin_test(position) for position in range(len(self.looks))]
        if self.alongside and self.looks[-1].differing <= MOST_COUNTED:
            return self._flip_tests()
        return [self._exchange_test(position) for position in range(len(self.looks))]

    def _flip_tests(self) -> list[_Test]:
        totals = [each.differing for each in self.looks]
        rounds = [b - a for a, b in pairwise([0, *totals])]
        shares = self.plan.shares[: len(rounds)]
        flips = JointFlips(rounds, shares, self.plan.alpha, self.plan.spending)
        surplus = self.looks[-1].surplus
        tests = []
        for look, each in zip(flips.looks, self.looks, strict=True):
            # The surplus moves in steps of two: halfway to the next lower one.
            edge = math.inf if look.boundary is None else (look.boundary - 1) / (each.trials or 1)
            # Where trials are missing, tasks and pairs weigh differently: the pairs decide.
            shift = each.difference - each.surplus / (each.trials or 1)
            tests.append(
                _Test(
                    shift - edge,
                    shift + edge,
                    lambda: flips.p_value(surplus),
                    "exact joint sign-flip test within (task, trial) pairs over all looks",
                )
            )
        return tests

    def _exchange_test(self, position: int) -> _Test:
        each = self.looks[position]
        if self.alongside:
            pairs = each.trials or 1
            variance, step = each.differing / pairs**2, 2 / pairs
        else:
            variance, step = each.exchange_spread
        return self._normal_test(
            position, variance, step, "test stratified by task, normal boundaries over all looks"
        )

    def _margin_test(self, position: int) -> _Test:
        variance = self.looks[position].variance(self.alongside)
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
        error = math.sqrt(last.variance(self.alongside))
        reach = self.plan.boundaries[len(self.looks) - 1] * error
        return _within(last.difference - reach, last.difference + reach, self.plan.level, REPEATED)

    def _stagewise(self, tests: Sequence[_Test]) -> tuple[float, Interval]:
        """Return the median-unbiased estimate and the interval."""
        chance = self.chance_beyond(tests)
        error = math.sqrt(max(_LEAST, self.looks[-1].variance(self.alongside)))
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
        now = 1 / max(_LEAST, self.looks[-1].variance(self.alongside))
        bands = [
            Band(now * share / shares[stage], test.low, test.high)
            for share, test in zip(shares, tests[:stage], strict=False)
        ]
        end = Band(now, -math.inf, self.looks[-1].difference)

        def chance(effect: float) -> float:
            before, at_end = exits(bands, effect)
            return math.fsum([*(each.above for each in before), at_end(end).above])

        return chance

    def _is_hopeless(self) -> bool:
        """Return whether the conditional power at the present difference is below what is asked.

        Source: Lan, Simon & Halperin 1982. As a run may go on nevertheless, it spends nothing.
        """
        if self.plan.futility is None:
            return False
        share = self.plan.shares[len(self.looks) - 1]
        now = 1 / max(_LEAST, self.looks[-1].variance(self.alongside))
        full = now / share
        effect = abs(self.looks[-1].difference - self.centre)
        edge = self.plan.boundaries[-1] * math.sqrt(full)
        return _power_left(effect, now, full, edge) < self.plan.futility


def _power_left(effect: float, now: float, full: float, edge: float) -> float:
    left = math.sqrt(full - now)
    up, down = ((edge - sign * effect * full) / left for sign in (1, -1))
    normal = NormalDist()
    return normal.cdf(-up) + normal.cdf(-down)


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
                reached=None if span is None else (span.high - span.low) / 2,
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
            f"{wanted} cannot be had from {count_of(looks[-1].tasks, 'task')}: with unlimited "
            f"trials it would be \u00b1{in_percent(least)}; only more tasks help"
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
