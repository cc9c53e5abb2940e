"""The sign-flip test: a permutation test for paired differences.

If neither run is better, each task's difference could as well have had the other sign. The p-value
is the share of all sign assignments whose total is as far from zero as the one found (Fisher 1935,
section 21). With one trial per task this is McNemar's exact test.

The joint test looks several times at paired trials. A pair is one trial of a task by each of two
systems. If neither is better at this task, a pair in which only one of them passed could as well
have had the other sign. All sign assignments of such pairs are equally likely, so the number of
those in favour is a random walk of fair steps, and the chance that it crosses a boundary now and at
no look before is a count of assignments. Boundaries are set so that this chance never exceeds what
may be spent. The sizes of the rounds are those found: the test is conditional on them and exact.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import getitem

from maseval.stats.boundaries import spent_alpha
from maseval.stats.result import Result

EXACT = "exact sign-flip test over tasks"
SAMPLED_FLIPS = 20_000
SAMPLED = f"sign-flip test over tasks, {SAMPLED_FLIPS:,} random sign assignments"

# Bytes moved by the exact count, in some tenths of a second; a benchmark of 278 tasks with eight
# trials needs a tenth of it.
_AFFORDABLE = 5e8


@dataclass(frozen=True)
class FlipTest(Result):
    """The result of the test; only the ``discordant`` tasks, which differ, enter it."""

    p_value: float
    method: str
    discordant: int


def sign_flip_test(differences: Sequence[Fraction]) -> FlipTest:
    """Test, two-sided, that the differences are symmetric around zero."""
    steps = _as_integers(differences)
    sizes = [abs(step) for step in steps if step]
    found, largest = abs(sum(steps)), sum(sizes)
    if not found:
        return FlipTest(1.0, EXACT, len(sizes))
    if largest * len(sizes) ** 2 / 8 > _AFFORDABLE:
        return FlipTest(_sampled_p_value(sizes, found), SAMPLED, len(sizes))
    # The total of the signed sizes is <= -found where those with a plus add up to at most this.
    extreme = subsets_within(sizes, (largest - found) // 2)
    return FlipTest(float(Fraction(2 * extreme, 2 ** len(sizes))), EXACT, len(sizes))


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


def _as_integers(differences: Sequence[Fraction]) -> list[int]:
    scale = math.lcm(*(difference.denominator for difference in differences))
    return [int(difference * scale) for difference in differences]


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


# With more pairs that differ than this, counting takes seconds, and the normal law is as good.
MOST_COUNTED = 2_000


@dataclass(frozen=True)
class FlipLook:
    """One look: pairs that differ so far, and the surplus in favour that would decide.

    ``boundary`` is None if even all pairs in favour would not do. ``crossed`` is the chance to have
    crossed on one side before, ``reached`` that, and to cross now.
    """

    pairs: int
    boundary: int | None
    crossed: Fraction
    reached: Fraction


class JointFlips:
    """All sign assignments of the pairs that differ, round by round."""

    def __init__(self, rounds: Sequence[int], shares: Sequence[float], alpha: float) -> None:
        """Set the boundaries after each round of so many pairs that differ.

        ``shares`` are those of the information at these looks, ``alpha`` the chance to err on each
        side.
        """
        self.looks: list[FlipLook] = []
        # The number of assignments for each number in favour is a digit of one large number, to
        # which a further pair adds a copy, shifted by a digit.
        self._bits = sum(rounds) + 1
        self._ways, self._pairs = 1, 0
        crossed = 0
        for number, share in zip(rounds, shares, strict=True):
            if self.looks:
                self._stop_at_boundary()
            for _ in range(number):
                self._ways += self._ways << self._bits
            self._pairs += number
            before = crossed << number
            limit = int(Fraction(spent_alpha(share, alpha)) * 2**self._pairs)
            boundary, crossed = self._find_boundary(before, limit)
            scale = 2**self._pairs
            self.looks.append(
                FlipLook(self._pairs, boundary, Fraction(before, scale), Fraction(crossed, scale))
            )

    def _count(self, in_favour: int) -> int:
        return (self._ways >> self._bits * in_favour) & ((1 << self._bits) - 1)

    def _find_boundary(self, crossed: int, limit: int) -> tuple[int | None, int]:
        """Return the least surplus that may be called decisive, and what is crossed with it."""
        boundary = None
        for in_favour in range(self._pairs, self._pairs // 2, -1):
            more = crossed + self._count(in_favour)
            if more > limit:
                break
            boundary, crossed = 2 * in_favour - self._pairs, more
        return boundary, crossed

    def _stop_at_boundary(self) -> None:
        """Leave only the assignments that go on."""
        boundary = self.looks[-1].boundary
        if boundary is None:
            return
        most = (self._pairs + boundary) // 2 - 1
        least = self._pairs - most
        kept = (self._ways & ((1 << self._bits * (most + 1)) - 1)) >> self._bits * least
        self._ways = kept << self._bits * least

    def p_value(self, surplus: int) -> float:
        """Return the two-sided p-value of a surplus at the last look, allowing for those before.

        What crosses at an earlier look counts as farther out (Tsiatis, Rosner & Mehta 1984).
        """
        look = self.looks[-1]
        in_favour = (look.pairs + abs(surplus)) // 2
        # The sum of all digits is the remainder by the base less one.
        beyond = (self._ways >> self._bits * in_favour) % ((1 << self._bits) - 1)
        return min(1.0, float(2 * (look.crossed + Fraction(beyond, 2**look.pairs))))
