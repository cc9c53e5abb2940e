"""Permanent values: the words in which a domain says which values, once wrong, stay wrong.

A rule looks at one field of one kind of record. Given what the field is now and what it should be
in the end, it says whether no sequence of further calls can lead from the one to the other. A
domain's rules are read off its tools; nothing is claimed about a domain without rules.
"""

from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import NamedTuple


class Absent(Enum):
    """Stands where there is no value at all; None is a value."""

    ABSENT = "(absent)"

    def __repr__(self) -> str:
        return self.value


ABSENT = Absent.ABSENT

Unreachable = Callable[[object, object], bool]


class PermanenceRule(NamedTuple):
    """A field (``*`` stands for any step of its path), and when its value can no longer be right.

    ``unreachable(now, wanted)`` must only be true if no tool can ever make the value right. An
    empty path means the whole record.
    """

    table: str
    path: tuple[str | int, ...]
    unreachable: Unreachable
    reason: str


def append_only(now: object, wanted: object) -> bool:
    """Entries are added at the end and never changed, so what is there must be a beginning."""
    if not isinstance(now, list) or not isinstance(wanted, list):
        return False
    return now != wanted[: len(now)]


def once_set(now: object, wanted: object) -> bool:
    """Nothing changes it when it has a value."""
    return now not in (None, ABSENT) and now != wanted


def only_falls(now: object, wanted: object) -> bool:
    """No tool raises the number."""
    return isinstance(now, int | float) and isinstance(wanted, int | float) and now < wanted


def only_rises(now: object, wanted: object) -> bool:
    """No tool lowers the number."""
    return isinstance(now, int | float) and isinstance(wanted, int | float) and now > wanted


def stays(now: object, wanted: object) -> bool:
    """A rule: what is there is never taken away."""
    return now is not ABSENT and wanted is ABSENT


def moves_along(steps: Mapping[str, Collection[str]]) -> Unreachable:
    """Only the given steps from one value to the next exist."""

    def unreachable(now: object, wanted: object) -> bool:
        reached, ahead = {str(now)}, [str(now)]
        while ahead:
            fresh = {*steps.get(ahead.pop(), ())} - reached
            reached |= fresh
            ahead += fresh
        return str(wanted) not in reached

    return unreachable


def gone_for_good(reissued: Collection[str]) -> Unreachable:
    """A part that is missing comes back only under the ids that a tool gives out."""

    def unreachable(now: object, wanted: object) -> bool:
        if not isinstance(now, dict) or not isinstance(wanted, dict):
            return False
        return any(key not in now and key not in reissued for key in wanted)

    return unreachable
