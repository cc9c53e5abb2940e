"""The rules of a policy as functions: what one is asked, and what it may answer.

A rule looks at one call of the agent, with the world just before it and the whole conversation, or
once at the conversation alone. It yields ``Broken`` for what is against the policy, ``CannotTell``
where the record does not decide it, and nothing where the policy is kept or does not apply.
"""

import inspect
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partialmethod, wraps
from typing import Any, Generic, NamedTuple, TypeVar

from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.review.talk import CallMoment, Talk
from maseval.core.finding import Weight


class Kind(StrEnum):
    """The evidence a rule goes by; ``FORM`` is how it is done, and no breach of substance."""

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
    """The record does not decide whether the rule was kept; a judge that reads it may."""

    reason: str


Answer = Broken | CannotTell

# Tools that call another one: the argument that names it, beside those for it.
_CALLS_ANOTHER = {
    "call_discoverable_agent_tool": "agent_tool_name",
    "call_discoverable_user_tool": "discoverable_tool_name",
}


def inner_call(call: Tau2ToolCall) -> tuple[str, Mapping[str, Any]]:
    """Return the tool that does the work, and its arguments; none where they cannot be read."""
    given = call["arguments"]
    field = _CALLS_ANOTHER.get(call["name"])
    if field is None:
        return call["name"], given
    written = given.get("arguments")
    arguments = _parse(written) if isinstance(written, str) else written
    return str(given.get(field)), arguments if isinstance(arguments, Mapping) else {}


# Every rule about a call asks for its arguments, so they are parsed once and shared.
@lru_cache(maxsize=1024)
def _parse(written: str) -> object:
    try:
        return json.loads(written)
    except ValueError:
        return None


Check = Callable[[CallMoment], Iterable[Answer]]
TalkCheck = Callable[[Talk], Iterable[Answer]]


@dataclass(frozen=True)
class Rule:
    """One demand of a policy.

    ``place`` is the heading of the policy under which it stands, and what it is there. ``tools``
    are those of the agent about whose calls it is asked; one that ``is_about_talk`` is asked once
    about the whole conversation.
    """

    id: str
    kind: Kind
    text: str
    place: str
    tools: Collection[str]
    check: Callable[[Any], Iterable[Answer]]
    is_about_talk: bool = False

    @property
    def weight(self) -> Weight:
        return "remark" if self.kind is Kind.FORM else "state"


def rule(name: str, kind: Kind, *, place: str, tools: Collection[str]) -> Callable[[Check], Rule]:
    """Make a rule of a function that looks at a call; the function's docstring is its text."""

    return lambda check: Rule(name, kind, _first_sentence(check), place, frozenset(tools), check)


def talk_rule(name: str, kind: Kind, *, place: str) -> Callable[[TalkCheck], Rule]:
    """Make a rule of a function that looks at the whole conversation once."""

    return lambda check: Rule(name, kind, _first_sentence(check), place, (), check, True)


Moment = TypeVar("Moment", bound=CallMoment)


class Policy(Generic[Moment]):
    """Makes the rules of one domain, so that each is a line above the function that checks it.

    The functions look at a call as one of a kind, which knows the domain's records.
    """

    def __init__(self, domain: str, kind: type[Moment]) -> None:
        self._domain, self._kind = domain, kind

    def talk(
        self, name: str, place: str, *, kind: Kind = Kind.PROTOCOL
    ) -> Callable[[TalkCheck], Rule]:
        return talk_rule(f"{self._domain}.{name}", kind, place=place)

    def _make(
        self, kind: Kind, name: str, place: str, *tools: str
    ) -> Callable[[Callable[[Moment], Iterable[Answer]]], Rule]:
        make = rule(f"{self._domain}.{name}", kind, place=place, tools=tools)

        def make_rule(check: Callable[[Moment], Iterable[Answer]]) -> Rule:
            @wraps(check)
            def look(moment: CallMoment) -> Iterable[Answer]:
                return check(moment.seen_as(self._kind))

            return make(look)

        return make_rule

    state = partialmethod(_make, Kind.STATE)
    flow = partialmethod(_make, Kind.DATA_FLOW)
    protocol = partialmethod(_make, Kind.PROTOCOL)
    form = partialmethod(_make, Kind.FORM)


# Modules keep the order in which names were first assigned, which is that of the policy.
def rules_in(*namespaces: Mapping[str, object]) -> tuple[Rule, ...]:
    return tuple(each for names in namespaces for each in names.values() if isinstance(each, Rule))


def _first_sentence(function: Callable[..., object]) -> str:
    text = inspect.getdoc(function) or function.__name__.replace("_", " ")
    return " ".join(text.partition("\n\n")[0].split())
