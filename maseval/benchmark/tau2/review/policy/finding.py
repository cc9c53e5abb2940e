"""The findings of a policy's rules in one conversation: breaches, doubts, rules that failed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.review.policy.rules import Kind


@dataclass(frozen=True)
class Breach:
    """A rule that was broken: where, by which call, and the values that show it.

    ``done`` is False where the tool refused the call, so that it was only tried. ``demanded`` is
    True where the reference solution of the task breaks the same rule with the same call.
    """

    rule: str
    kind: Kind
    text: str
    message_index: int | None = None
    call: Tau2ToolCall | None = None
    values: Mapping[str, object] = field(default_factory=dict)
    done: bool = True
    demanded: bool = False

    @property
    def counts(self) -> bool:
        """True if it is held against the agent."""
        return self.done and not self.demanded and self.kind is not Kind.FORM


@dataclass(frozen=True)
class Doubt:
    """A rule about which the record does not decide."""

    rule: str
    kind: Kind
    reason: str
    message_index: int | None = None
    call: Tau2ToolCall | None = None


@dataclass(frozen=True)
class RuleFault:
    """A rule that raised an exception: what it would have found is not known."""

    rule: str
    kind: Kind
    error: str
    message_index: int | None = None
    call: Tau2ToolCall | None = None


@dataclass(frozen=True)
class Compliance:
    """All that the rules found in a conversation; ``asked`` are the rules that applied to it.

    ``unreadable`` says why nothing could be checked at all.
    """

    asked: tuple[str, ...] = ()
    breaches: tuple[Breach, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    faults: tuple[RuleFault, ...] = ()
    unreadable: str | None = None

    @property
    def clean(self) -> bool | None:
        """False if a breach counts, True if everything was kept, None if that cannot be told."""
        if any(breach.counts for breach in self.breaches):
            return False
        open_questions: tuple[Doubt | RuleFault, ...] = (*self.doubts, *self.faults)
        if self.unreadable or any(each.kind is not Kind.FORM for each in open_questions):
            return None
        return True
