"""A verdict under two releases, and how many of a record change which way."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from maseval.benchmark.tau2.recount.slots import PlannedTrial
from maseval.benchmark.tau2.rescoring.reasons import Reason, reasons
from maseval.benchmark.tau2.rescoring.standing import Standing

Direction = Literal["same", "up", "down", "open"]
"""``open``: a judge decides, and there was none."""


@dataclass(frozen=True)
class VerdictChange:
    """One simulation whose verdict is another, or depends on a judge, under a later release.

    ``before`` and ``after`` are whether it passes, None if a judge decides. ``asks_judge`` if the
    release asks one about it; ``judge_is_moot`` if it fails whatever one would say.
    """

    trial: PlannedTrial
    before: bool | None
    after: bool | None
    asks_judge: bool = False
    judge_is_moot: bool = False
    reasons: tuple[Reason, ...] = ()

    @classmethod
    def between(cls, before: Standing, after: Standing) -> "VerdictChange":
        """What becomes of a simulation."""
        old, new = (None if each.open else each.passed for each in (before, after))
        why = reasons(before, after) if old != new else ()
        slot = after.again.judged.slot
        return cls(slot, old, new, after.asks_judge, after.judge_is_moot, why)

    @property
    def direction(self) -> Direction:
        if self.before == self.after:
            return "same"
        if self.before is None or self.after is None:
            return "open"
        return "up" if self.after else "down"

    def to_dict(self) -> dict[str, object]:
        """In JSON's terms."""
        return {
            **self.trial._asdict(),
            "direction": self.direction,
            "before": self.before,
            "after": self.after,
            "asks_judge": self.asks_judge,
            "reasons": [reason.to_dict() for reason in self.reasons],
        }


@dataclass(frozen=True)
class ReleaseTotals:
    """How many verdicts change from one release to another.

    ``open`` are those that a judge decides: if it says yes each time, ``up_if_met`` go up, and if
    it says no each time, ``down_if_not_met`` go down. ``asks_judge`` counts all that the release
    asks a judge about, of which ``judge_is_moot`` fail whatever it would say. ``ended_early``
    neither side ended: these fail under every release.
    """

    simulations: int = 0
    same: int = 0
    up: int = 0
    down: int = 0
    open: int = 0
    up_if_met: int = 0
    down_if_not_met: int = 0
    asks_judge: int = 0
    judge_is_moot: int = 0
    ended_early: int = 0

    @classmethod
    def of(cls, changes: Sequence[VerdictChange], ended_early: int = 0) -> "ReleaseTotals":
        """Count all simulations of a record."""
        ways = Counter(each.direction for each in changes)
        waiting = [each for each in changes if each.after is None]
        return cls(
            simulations=len(changes),
            **{way: ways[way] for way in ("same", "up", "down", "open")},
            up_if_met=ways["up"] + sum(each.before is False for each in waiting),
            down_if_not_met=ways["down"] + sum(each.before is True for each in waiting),
            asks_judge=sum(each.asks_judge for each in changes),
            judge_is_moot=sum(each.judge_is_moot for each in changes),
            ended_early=ended_early,
        )

    def __add__(self, other: "ReleaseTotals") -> "ReleaseTotals":
        mine, theirs = asdict(self), asdict(other)
        return ReleaseTotals(**{name: mine[name] + theirs[name] for name in mine})

    def to_dict(self) -> dict[str, int]:
        """In JSON's terms."""
        return asdict(self)


def counted_reasons(changes: Sequence[VerdictChange]) -> Counter[tuple[Direction, str]]:
    """How many changes each kind of reason has, by the way they go."""
    return Counter(
        (each.direction, kind)
        for each in changes
        for kind in dict.fromkeys(reason.kind for reason in each.reasons)
    )
