"""Trials of tasks, and the measures over them: pass^k, and pass@k where it is asked for.

A trial counts if it has a verdict; one that broke, was excluded or was never run does not. Every
task enters a mean once, however many trials it has.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from statistics import fmean
from typing import Any, NamedTuple, TypeVar

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome, TaskKey, parse_report, total_cost

KeyT = TypeVar("KeyT", bound=Hashable)

# Every k up to this one is shown, and then only those that double.
_EACH_K = 4


class Trials(NamedTuple):
    """The number of trials of one task that count, and of those that passed.

    Of a measure that is a share, a trial passes in part, and the sum is an exact fraction.
    """

    total: int
    passed: int

    def __str__(self) -> str:
        return f"{float(self.passed):g}/{self.total}"


def are_shares(tasks: Iterable[Trials]) -> bool:
    """Return True if trials pass in part, so that there is no pass^k but for k = 1."""
    return any(isinstance(each.passed, Fraction) for each in tasks)


def count_trials(results: Iterable[tuple[KeyT, bool | None]]) -> dict[KeyT, Trials]:
    """Count the trials of each task, in the order in which tasks appear; None does not count."""
    totals: dict[KeyT, int] = {}
    passes: dict[KeyT, int] = {}
    for task, passed in results:
        totals[task] = totals.get(task, 0) + (passed is not None)
        if passed:
            passes[task] = passes.get(task, 0) + passed
    return {task: Trials(total, passes.get(task, 0)) for task, total in totals.items()}


def fewest_trials(tasks: Iterable[Trials]) -> int:
    """Return the smallest number of trials of any task, which is the largest possible k."""
    return min((each.total for each in tasks), default=0)


def outcomes_of(reports: Iterable[Mapping[str, Any]]) -> list[Outcome]:
    return [
        parse_report(report, f"reports[{position}]").outcome
        for position, report in enumerate(reports)
    ]


def by_task(outcomes: Iterable[Outcome]) -> dict[TaskKey, Trials]:
    """Count the trials of each task; raise ConfigurationError if a trial appears twice."""
    known = list(outcomes)
    # Plain tuples: a run has thousands of trials, and is counted many times.
    places = [(each.domain, each.task_id, each.trial) for each in known]
    if len(set(places)) < len(known):
        ((group, task, trial), _) = Counter(places).most_common(1)[0]
        raise ConfigurationError(
            f"trial {trial} of task {str(TaskKey(group, task))!r} appears twice; give each "
            "trial once, and continue the numbers when you put runs together"
        )
    counted = count_trials(((each.domain, each.task_id), each.passed) for each in known)
    return {TaskKey(*key): trials for key, trials in counted.items()}


def by_trial(outcomes: Iterable[Outcome]) -> dict[TaskKey, dict[int, bool | None]]:
    """Return the verdict of each trial, by task; raise as ``by_task`` does."""
    known = list(outcomes)
    found: dict[TaskKey, dict[int, bool | None]] = {key: {} for key in by_task(known)}
    for each in known:
        found[each.key][each.trial] = each.passed
    return found


def mean_cost(outcomes: Iterable[Outcome]) -> float | None:
    """Return the mean cost of the simulations whose cost is known; None if there are none."""
    costs = [outcome.cost for outcome in outcomes]
    # Unknown costs are left out of the mean instead of counting as nothing.
    known, total = sum(cost is not None for cost in costs), total_cost(costs)
    return total / known if known and total is not None else None


def pass_hat_k(trials: int, passed: int, k: int) -> Fraction:
    """Return the chance that ``k`` trials drawn without replacement all passed.

    Source: Yao et al. 2024, arXiv:2406.12045.
    """
    _check_counts(trials, passed, k)
    if k == 1:
        return Fraction(passed, trials)
    return Fraction(math.comb(passed, k), math.comb(trials, k))


def pass_at_k(trials: int, passed: int, k: int) -> Fraction:
    """Return the chance that at least one of ``k`` trials drawn without replacement passed.

    Source: Chen et al. 2021, arXiv:2107.03374.
    """
    _check_counts(trials, passed, k)
    return 1 - pass_hat_k(trials, trials - passed, k)


def task_scores(tasks: Iterable[Trials], k: int) -> list[float]:
    """Return each task's pass^k: the number next to the exact one."""
    listed = list(tasks)
    scores = {each: _score(each, k) for each in dict.fromkeys(listed)}
    return [scores[each] for each in listed]


def _score(task: Trials, k: int) -> float:
    # Python divides whole numbers of any size exactly and rounds once; fractions would need
    # the greatest common divisor of numbers of thousands of digits.
    trials, passed = task
    _check_counts(trials, passed, k)
    if k == 1:
        return float(passed / trials)
    return math.comb(passed, k) / math.comb(trials, k)


def shown_k(most: int) -> list[int]:
    """Return the k that a summary shows unless others are asked for: 1 to 4, 8, 16, 32, ..."""
    doubled = (_EACH_K * 2**i for i in range(most.bit_length()))
    return [k for k in (*range(1, _EACH_K), *doubled) if k <= most]


def means_up_to(tasks: Iterable[Trials], most: int) -> dict[int, float]:
    """Return the mean over tasks for every k from 1 to ``most``, each as ``mean_over_tasks`` does.

    The ways to choose k follow from those to choose one less, so each k takes a step of each task.
    """
    by_k: list[list[float]] = [[] for _ in range(most)]
    for (trials, passed), number in Counter(tasks).items():
        _check_counts(trials, passed, most)
        ways, chosen = 1, 1
        for k in range(1, most + 1):
            ways = ways * (trials - k + 1) // k
            chosen = chosen * (passed - k + 1) // k
            by_k[k - 1] += [chosen / ways] * number
    return {k: fmean(scores) for k, scores in enumerate(by_k, start=1) if scores}


def mean_over_tasks(tasks: Iterable[Trials], k: int) -> float:
    """Return pass^k: the mean of what each task scores."""
    return fmean(task_scores(tasks, k))


def measure_name(k: int, label: str | None = None) -> str:
    """Return the name of a number: ``pass^2``, or that of another measure than the verdict."""
    return (label or "pass^k").replace("^k", f"^{k}")


def _check_counts(trials: int, passed: int, k: int) -> None:
    if k > 1 and isinstance(passed, Fraction):
        raise ConfigurationError(
            f"a share has no pass^{k}, as it neither passes nor fails; choose k = 1"
        )
    if k < 0:
        raise ConfigurationError(f"k is {k}; give 0 or more")
    if not 0 <= passed <= trials:
        raise ConfigurationError(
            f"{passed} of {trials} trials passed; give a number from 0 to {trials}"
        )
    if trials < k:
        # The words are those of tau2-bench v0.2.0.
        raise ConfigurationError(f"Number of trials {trials} is less than k {k}.")
