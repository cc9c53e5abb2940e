"""The rules of a policy as functions: what one is asked, and what it may answer.

A rule looks at one call of the agent, with the world just before it and the whole conversation, or
once at the conversation alone. It yields ``Broken`` for what is against the policy, ``CannotTell``
where the record does not decide it, and nothing where the policy is kept or does not apply.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partialmethod
from typing import Generic, NamedTuple, TypeVar

from maseval.benchmark.tau2.review.talk import CallMoment, Talk


class Kind(StrEnum):
    """The evidence a rule goes by; ``FORM`` is how a call is made, and no breach of substance."""

    STATE = "state"
    DATA_FLOW = "data flow"
    PROTOCOL = "protocol"
    FORM = "form"


class Broken(NamedTuple):
    """A breach: what is wrong in a sentence, with the values that show it.

    ``message_index`` is for a breach that lies elsewhere than in the call.
    """

    text: str
    values: Mapping[str, object] = {}
    message_index: int | None = None


class CannotTell(NamedTuple):
    """The record does not decide whether the rule was kept."""

    reason: str


Answer = Broken | CannotTell

INNER_TOOL = "agent_tool_name"
"""The argument in which a tool names another one, which it calls; rules may be about that one."""


Check = Callable[[CallMoment], Iterable[Answer]]
TalkCheck = Callable[[Talk], Iterable[Answer]]


@dataclass(frozen=True)
class Rule:
    """One demand of a policy.

    ``place`` is the heading of the policy under which it stands, and what it is there. ``tools``
    are those of the agent about whose calls it is asked. A rule that ``reads_words`` is not asked
    about a conversation that is not in English; one that ``hears`` is, and looks at the state first
    and then for a wish in what was said.
    """

    id: str
    kind: Kind
    text: str
    place: str
    tools: Collection[str] = frozenset()
    check: Check | None = None
    check_talk: TalkCheck | None = None
    reads_words: bool = False
    hears: bool = False

    @property
    def is_replayed(self) -> bool:
        """True if it goes by the state alone, so that anyone who replays the calls finds it."""
        return self.kind is Kind.STATE and not (self.reads_words or self.hears)


def rule(
    name: str,
    kind: Kind,
    *,
    place: str,
    tools: Collection[str],
    reads_words: bool | None = None,
) -> Callable[[Check], Rule]:
    """Make a rule of a function that looks at a call; the function's docstring is its text.

    Rules of the protocol read words unless they say that they do not.
    """
    words = kind is Kind.PROTOCOL if reads_words is None else reads_words

    def make_rule(check: Check) -> Rule:
        text = _first_sentence(check)
        return Rule(name, kind, text, place, frozenset(tools), check, reads_words=words)

    return make_rule


def talk_rule(
    name: str, kind: Kind, *, place: str, reads_words: bool = True
) -> Callable[[TalkCheck], Rule]:
    """Make a rule of a function that looks at the whole conversation once."""

    def make_rule(check: TalkCheck) -> Rule:
        text = _first_sentence(check)
        return Rule(name, kind, text, place, check_talk=check, reads_words=reads_words)

    return make_rule


Subject = TypeVar("Subject")
Moment = TypeVar("Moment", bound=CallMoment)


class Policy(Generic[Subject]):
    """Makes the rules of one domain, so that each is a line above the function that checks it.

    ``find`` turns a call into what the functions look at; for None a rule is not asked.
    """

    def __init__(
        self, domain: str, find: Callable[[CallMoment, frozenset[str]], Subject | None]
    ) -> None:
        self._domain, self._find = domain, find

    def talk(
        self, name: str, place: str, *, kind: Kind = Kind.PROTOCOL, words: bool = True
    ) -> Callable[[TalkCheck], Rule]:
        """Make a rule of a function that looks at the whole conversation once."""
        return talk_rule(f"{self._domain}.{name}", kind, place=place, reads_words=words)

    def _make(
        self,
        kind: Kind,
        name: str,
        place: str,
        *tools: str,
        words: bool | None = None,
        hears: bool = False,
    ) -> "Maker[Subject]":
        def make_rule(check: Callable[[Subject], Iterable[Answer]]) -> Rule:
            def look(moment: CallMoment) -> Iterable[Answer]:
                subject = self._find(moment, wanted)
                return () if subject is None else check(subject)

            look.__doc__ = check.__doc__
            return replace(make(look), hears=hears)

        wanted = frozenset(tools)
        make = rule(f"{self._domain}.{name}", kind, place=place, tools=wanted, reads_words=words)
        return make_rule

    state = partialmethod(_make, Kind.STATE)
    flow = partialmethod(_make, Kind.DATA_FLOW)
    protocol = partialmethod(_make, Kind.PROTOCOL)
    form = partialmethod(_make, Kind.FORM)


Maker = Callable[[Callable[[Subject], Iterable[Answer]]], Rule]


def policy_of(domain: str, kind: type[Moment]) -> Policy[Moment]:
    """Return the maker of a domain's rules, whose functions look at the call as one of a kind."""
    return Policy(domain, lambda moment, tools: moment.seen_as(kind))


def rules_in(*namespaces: Mapping[str, object]) -> tuple[Rule, ...]:
    """Return the rules that modules define, in their order."""
    return tuple(each for names in namespaces for each in names.values() if isinstance(each, Rule))


def _first_sentence(function: Callable[..., object]) -> str:
    text = inspect.getdoc(function) or function.__name__.replace("_", " ")
    return " ".join(text.partition("\n\n")[0].split())
