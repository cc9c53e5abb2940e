"""The noise of trials: the scatter of a score over reruns of the same tasks.

If a task passes with the chance p, its pass^k over n trials has a variance that is a sum of powers
of p, up to the 2k-th. Their means over the tasks are all that is needed, and pass^j estimates the
mean of the j-th without bias, as long as there are j trials (Hoeffding 1948). With fewer than 2k
trials there is no answer: what can be guessed was too narrow too often.

The interval holds every score from which the one found is not too far, where the variance is that
of the score in question (Wilson 1927), the quantile is Student's (1908), and it is corrected for
skewness (Cornish & Fisher 1938; Hall 1992).
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from maseval.stats.clusters import independent_tasks
from maseval.stats.intervals import Interval, two_sided_t
from maseval.stats.trials import Trials

RERUN = "same tasks, new trials; variance from the trials' moments"

# A variance that is smaller than this, relative to what it is a difference of, is none.
_ROUNDING = 1e-12

# From so many trials on, the skewness of small k is that of its leading term.
_MANY = 32


def trial_noise(
    tasks: Collection[Trials],
    k: int,
    trials: int | None = None,
    weights: Sequence[float] | None = None,
) -> float | None:
    """Return the mean over tasks of the variance of their pass^k, over repeated runs.

    ``trials`` is the number of trials of such a run; None means as many as each task has had. The
    result is None if most tasks have fewer than 2k trials, as those do not show their luck. With
    ``weights`` in a mean, tasks count here by their squares, as they do in its variance.
    """
    kinds = {each: count for each, count in _kinds(tasks, weights).items() if each.total}
    telling = {each: count for each, count in kinds.items() if each.total >= 2 * k}
    if not telling or 2 * sum(telling.values()) < sum(kinds.values()):
        return None
    moments = _moments(telling, 2 * k)
    if trials is not None:
        return _variance(moments, trials, k)
    sizes: dict[int, float] = {}
    for each, count in kinds.items():
        sizes[each.total] = sizes.get(each.total, 0) + count
    noise = sum(count * _variance(moments, n, k) for n, count in sizes.items())
    return noise / sum(sizes.values())


def _kinds(tasks: Iterable[Trials], weights: Sequence[float] | None) -> Mapping[Trials, float]:
    """Return how many tasks have each count of trials, by the squares of their weights."""
    if weights is None:
        return Counter(tasks)
    scale = independent_tasks(weights) / math.fsum(weight * weight for weight in weights)
    found: dict[Trials, float] = {}
    for each, weight in zip(tasks, weights, strict=True):
        found[each] = found.get(each, 0.0) + scale * weight * weight
    return found


def _moments(kinds: Mapping[Trials, float], most: int) -> list[float]:
    """Return the means over tasks of the powers of their chances to pass, from 0 to ``most``."""
    sums = [0.0] * (most + 1)
    for (total, passed), count in kinds.items():
        power = float(count)
        for j in range(most + 1):
            sums[j] += power
            power *= (passed - j) / (total - j) if j < passed else 0.0
    return [each / sums[0] for each in sums]


def _variance(moments: Sequence[float], trials: int, k: int) -> float:
    """Return the variance of pass^k over ``trials``, from the powers of the chance to pass.

    Two choices of k trials share j of them, which need to pass only once.
    """
    variance = math.fsum((*_shared(trials, k, moments), -moments[2 * k]))
    return variance if variance > _ROUNDING * moments[2 * k] else 0.0


def _shared(trials: int, k: int, moments: Sequence[float]) -> Iterable[float]:
    least = max(0, 2 * k - trials)
    ways = math.exp(
        math.fsum((_log_choose(k, least), _log_choose(trials - k, k - least)))
        - _log_choose(trials, k)
    )
    for j in range(least, k + 1):
        yield ways * moments[2 * k - j]
        ways *= (k - j) ** 2 / ((j + 1) * (trials - 2 * k + j + 1))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


# A run has thousands of tasks, and few different counts of trials.
@lru_cache(maxsize=65536)
def _own_variance(task: Trials, k: int) -> float:
    """Return the variance that a task's own trials suggest, after Jeffreys' prior (1946)."""
    chances, a = [1.0], task.passed + 0.5
    for j in range(2 * k):
        chances.append(chances[-1] * (a + j) / (task.total + 1 + j))
    return _variance(chances, task.total, k)


@lru_cache(maxsize=65536)
def _own_skew(task: Trials, k: int) -> float:
    """Return the third moment of a task's pass^k over its second, if it passes as often as it did.

    At the ends it is the size of the rare step away from there.
    """
    n, passed = task
    if passed == n:
        return -k / n
    if passed == 0:
        return math.exp(-_log_choose(n, k))
    p = passed / n
    if n > _MANY and k * k <= n:
        return k * p ** (k - 1) / n * (1 - 2 * p + 3 * (k - 1) * (1 - p))
    mean, second, third = p**k, 0.0, 0.0
    win, lose, of_choices = math.log(p), math.log1p(-p), _log_choose(n, k)
    for count in range(k, n + 1):
        score = math.exp(_log_choose(count, k) - of_choices)
        chance = math.exp(_log_choose(n, count) + count * win + (n - count) * lose)
        second += chance * score**2
        third += chance * score**3
    variance = second - mean**2
    return (third - 3 * mean * second + 2 * mean**3) / variance if variance > 0 else 0.0


def rerun_interval(
    tasks: Collection[Trials],
    k: int,
    value: float,
    level: float,
    weights: Sequence[float] | None = None,
) -> Interval | None:
    """Return the interval for the score of these very tasks, if only the trials are repeated.

    None if most tasks have fewer than 2k trials. The variance has one more task, that of what each
    task's own trials suggest: where all pass or fail together there may still be luck.
    """
    counted = list(tasks)
    noise = trial_noise(counted, k, weights=weights)
    if noise is None:
        return None
    kinds = _kinds(counted, weights)
    own = {each: count * _own_variance(each, k) for each, count in kinds.items()}
    total, whole = sum(kinds.values()), math.fsum(own.values())
    variance = (noise * total + whole / total) / (total + 1) / total
    z = two_sided_t(level, sum(each.total - 1 for each in counted))
    # A score closer to a bound has less variance, in proportion to the distances to both bounds.
    room = value * (1 - value)
    shrink = 1 + z * z * variance / room if room > 0 else 1.0

    def arm(sign: int) -> float:
        """Return how far the interval reaches to a side: more to that to which it is skewed."""
        skews = [weight * max(0.0, sign * _own_skew(each, k)) for each, weight in own.items()]
        skew = math.fsum(skews) / (whole or 1.0) / total
        root = z * z * variance * shrink + (z**4 / 12 + z * z / 6) * skew * skew
        return ((2 * z * z + 1) / 6 * skew + math.sqrt(root)) / shrink

    up, down = map(arm, (1, -1))
    return Interval(max(0.0, value - down), min(1.0, value + up), level, RERUN)
