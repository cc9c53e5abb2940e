"""Faults of the simulated user: their kinds, and all that was found in one conversation."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from maseval.benchmark.tau2.review.users.part import UserPart


class FaultKind(StrEnum):
    """A way in which a user does not keep to its task."""

    INVENTED = "invented fact"
    UNSAID = "wish not brought forward"
    TOLD = "told before being asked"
    LEFT = "left before the write"
    CHOICE = "choice against the task"
    BLIND = "reported without looking"
    SILENT = "said nothing"
    ROLE = "spoke as the agent"


@dataclass(frozen=True)
class UserFault:
    """A fault: what is wrong, in which message, and the words that show it."""

    kind: FaultKind
    text: str
    message_index: int
    quote: str = ""


@dataclass(frozen=True)
class UserFaults:
    """All faults of the user in a conversation; ``unreadable`` says why nobody could look."""

    faults: tuple[UserFault, ...] = ()
    unreadable: str | None = None


UserRule = Callable[[UserPart], Iterable[UserFault]]
"""A look at the user's part that yields the faults it finds, and nothing where it is unsure."""
