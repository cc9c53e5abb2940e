"""The sign-flip test: a permutation test for paired differences.

If neither run is better, each task's difference could as well have had the other sign. The p-value
is the share of all sign assignments whose total is as far from zero as the one found (Fisher 1935,
section 21). With one trial per task this is McNemar's exact test.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import getitem

from maseval.stats.intervals import OVER_CLUSTERS
from maseval.stats.result import Result

EXACT = "exact sign-flip test over tasks"
SAMPLED_FLIPS = 20_000
SAMPLED = f"sign-flip test over tasks, {SAMPLED_FLIPS:,} random sign assignments"

# Bytes moved by the exact count, in some tenths of a second; a benchmark of 278 tasks with eight
# trials needs a tenth of it.
_AFFORDABLE = 5e8


@dataclass(frozen=True)
class FlipTest(Result):
    """The result of the test; only the ``discordant`` tasks or clusters, which differ, enter it."""

    p_value: float
    method: str
    discordant: int


def sign_flip_test(differences: Sequence[Fraction]) -> FlipTest:
    """Test, two-sided, that the differences are symmetric around zero."""
    scale = math.lcm(*(difference.denominator for difference in differences))
    steps = [int(difference * scale) for difference in differences]
    sizes = [abs(step) for step in steps if step]
    found, largest = abs(sum(steps)), sum(sizes)
    if not found:
        return FlipTest(1.0, EXACT, len(sizes))
    if largest * len(sizes) ** 2 / 8 > _AFFORDABLE:
        return FlipTest(_sampled_p_value(sizes, found), SAMPLED, len(sizes))
    # The total of the signed sizes is <= -found where those with a plus add up to at most this.
    extreme = subsets_within(sizes, (largest - found) // 2)
    return FlipTest(float(Fraction(2 * extreme, 2 ** len(sizes))), EXACT, len(sizes))


def cluster_flip_test(parts: Sequence[Fraction]) -> FlipTest:
    """Test the same where each part is that of a cluster in the difference: all its tasks flip."""
    found = sign_flip_test(parts)
    return replace(found, method=found.method.replace("over tasks", OVER_CLUSTERS))


def subsets_within(sizes: Sequence[int], limit: int) -> int:
    """Return the number of subsets of ``sizes`` that add up to ``limit`` or less.

    The number of subsets for each sum is a digit of one large number, in a base that no digit can
    exceed. A further size adds a copy of it, shifted by that many digits; the sum of all digits is
    the number's remainder by the base less one.
    """
    bits = len(sizes) + 2
    below = (1 << bits * (limit + 1)) - 1
    digits = 1
    for size in sizes:
        digits += (digits << bits * size) & below
    return digits % ((1 << bits) - 1)


def _sampled_p_value(sizes: Sequence[int], found: int) -> float:
    """Estimate the p-value from random signs; the observed ones count, so that it is never zero.

    Eight signs are one random byte, which picks their total from a table.
    """
    rng = random.Random(0)
    tables = [_totals(sizes[start : start + 8]) for start in range(0, len(sizes), 8)]
    extreme = 0
    for _ in range(SAMPLED_FLIPS):
        total = sum(map(getitem, tables, rng.randbytes(len(tables))))
        extreme += abs(total) >= found
    return (extreme + 1) / (SAMPLED_FLIPS + 1)


def _totals(sizes: Sequence[int]) -> list[int]:
    """Return the totals of all sign assignments of up to eight sizes, repeated to 256 entries."""
    totals = [0]
    for size in sizes:
        totals = [total + step for total in totals for step in (size, -size)]
    return totals * (256 // len(totals))
