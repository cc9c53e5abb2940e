"""Talk: a recorded conversation as rules read it.

Who said what when, what the tools answered, what was known before a message, and which text of the
agent the user answered last. What a text means is not read here.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, takewhile
from typing import Any, NamedTuple, TypeVar

from maseval.benchmark.tau2.formats.message import (
    Tau2Message,
    Tau2ToolCall,
    complete_call,
    spoken_text,
    tool_calls_of,
)
from maseval.benchmark.tau2.review.values import normalise


class Utterance:
    def __init__(self, message_index: int, text: str) -> None:
        self.message_index, self.text = message_index, text

    @cached_property
    def lower(self) -> str:
        return self.text.lower()


class CallMade(NamedTuple):
    """A call of either side with its message, the index of its answer, and what was answered."""

    message_index: int
    call: Tau2ToolCall
    answer_index: int
    answer: str

    @property
    def failed(self) -> bool:
        return self.answer.startswith("Error")


class Talk:
    """A conversation as rules read it: who said what when, and what the tools answered."""

    def __init__(self, messages: Sequence[Tau2Message]) -> None:
        self.messages = messages

    @cached_property
    def user(self) -> list[Utterance]:
        """The user's texts, in order."""
        return list(_texts_of(self.messages, "user"))

    @cached_property
    def agent(self) -> list[Utterance]:
        """The agent's texts, in order, also those beside a call."""
        return list(_texts_of(self.messages, "assistant"))

    @cached_property
    def calls(self) -> list[CallMade]:
        return list(_answered_calls(self.messages))

    def user_before(self, at: int) -> list[Utterance]:
        return self.user[: bisect_left(self._places[0], at)]

    def agent_before(self, at: int) -> list[Utterance]:
        return self.agent[: bisect_left(self._places[1], at)]

    def calls_before(self, at: int) -> list[CallMade]:
        return self.calls[: bisect_left(self._places[2], at)]

    @cached_property
    def _places(self) -> tuple[list[int], ...]:
        # Every rule asks what came before its call: looking up a place beats filtering all texts.
        sides = self.user, self.agent, self.calls
        return tuple([each.message_index for each in side] for side in sides)

    def known_before(self, at: int) -> str:
        """Return all that the user said and the tools answered before a message."""
        text, places, ends = self._texts_with_places
        return text[: ends[bisect_left(places, at)]]

    def is_known_before(self, value: str, at: int) -> bool:
        """Return True if the user had said, or a tool answered, a text before a message."""
        return value in self.known_before(at)

    # One text is searched much faster than many. An answer is known after the message with its
    # call.
    @cached_property
    def _texts_with_places(self) -> tuple[str, list[int], list[int]]:
        told = [(each.message_index, each.text) for each in self.user]
        told += [(each.message_index, each.answer) for each in self.calls]
        told.sort(key=lambda each: each[0])
        ends = [0, *accumulate(len(text) + 1 for _, text in told)]
        return "".join(f"{text}\n" for _, text in told), [at for at, _ in told], ends


def _texts_of(messages: Sequence[Tau2Message], role: str) -> Iterator[Utterance]:
    for at, message in enumerate(messages):
        if message["role"] == role and (text := spoken_text(message)):
            yield Utterance(at, normalise(text))


# The answers to a message's calls follow it in the order of the calls.
def _answered_calls(messages: Sequence[Tau2Message]) -> Iterator[CallMade]:
    for index, message in enumerate(messages):
        for number, call in enumerate(tool_calls_of(message) or ()):
            at = index + 1 + number
            if at < len(messages) and messages[at]["role"] == "tool":
                answer = messages[at].get("content") or ""
                yield CallMade(index, complete_call(call), at, answer)


@dataclass(eq=False)  # one is made for every call, and a frozen one takes three times as long
class CallMoment:
    """A call of the agent that is about to be made, in the world as it is just then.

    ``tools`` is the agent's toolkit, ``user_tools`` the customer's if there is one: they may be
    read, and not changed. ``talk`` is the whole conversation, what comes later included.
    ``ticket`` is what an agent that works alone was given; None where there is a user.
    """

    call: Tau2ToolCall
    message_index: int
    tools: Any
    user_tools: Any
    talk: Talk
    answer: str = ""
    ticket: str | None = None

    @property
    def arguments(self) -> Mapping[str, Any]:
        return self.call["arguments"]

    @property
    def tool(self) -> str:
        return self.call["name"]

    def text(self, argument: str) -> str:
        """Return an argument as a text, empty if it is none."""
        value = self.arguments.get(argument)
        return value if isinstance(value, str) else ""

    def seen_as(self, kind: type["Seen"]) -> "Seen":
        """Return the same call with what a domain's rules know about it."""
        # One view serves all rules of a domain, so that each record is looked up once a call.
        if kind not in self.notes:
            seen = self.notes[kind] = object.__new__(kind)
            vars(seen).update(vars(self))
        found: Seen = self.notes[kind]
        return found

    @property
    def failed(self) -> bool:
        """True if the tool refused the call."""
        return self.answer.startswith("Error")

    @cached_property
    def notes(self) -> dict[object, Any]:
        """Results that rules have worked out about this call, so that the next ones need not."""
        return {}

    @cached_property
    def earlier_calls(self) -> list[CallMade]:
        """The answered calls before this one, also those of the same message."""
        at, call = self.message_index, self.call
        every = self.talk.calls
        return [*takewhile(lambda e: e.message_index <= at and e.call is not call, every)]

    @cached_property
    def calls_read(self) -> list[CallMade]:
        """The calls whose answers the agent had; it knows none of those in the same message."""
        return self.talk.calls_before(self.message_index)

    @cached_property
    def user_texts(self) -> list[Utterance]:
        return self.talk.user_before(self.message_index)

    @cached_property
    def agent_texts(self) -> list[Utterance]:
        return self.talk.agent_before(self.message_index)

    @cached_property
    def user_said(self) -> str:
        return "\n".join(each.text for each in self.user_texts)

    @property
    def answered_texts(self) -> list[Utterance]:
        """The agent's texts that the user answered; a greeting before its first words is none."""
        replies = self.user_texts
        if not replies:
            return []
        first, last = replies[0].message_index, replies[-1].message_index
        return [said for said in self.talk.agent_before(last) if said.message_index > first]


Seen = TypeVar("Seen", bound=CallMoment)
