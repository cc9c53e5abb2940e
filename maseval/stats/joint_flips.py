"""The joint sign-flip test: an exact test of paired trials that looks several times.

A pair is one trial of a task by each of two systems. If neither is better at this task, a pair in
which only one of them passed could as well have had the other sign. All sign assignments of such
pairs are equally likely, so the number of those in favour is a random walk of fair steps, and the
chance that it crosses a boundary now and at no look before is a count of assignments (Fisher 1935,
section 21, for a single look). Boundaries are set so that this chance never exceeds what may be
spent. The sizes of the rounds are those found: the test is conditional on them and exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from maseval.stats.boundaries import Spending, spent_alpha

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

    def __init__(
        self, rounds: Sequence[int], shares: Sequence[float], alpha: float, spending: Spending
    ) -> None:
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
            limit = int(Fraction(spent_alpha(share, alpha, spending)) * 2**self._pairs)
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
