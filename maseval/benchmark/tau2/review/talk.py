"""Talk: a recorded conversation as rules read it.

Who said what when, what the tools answered, what was known before a message, and which reply
answers which text. Texts are normalised once, before anything is read (``plain_text``).
"""

import re
from bisect import bisect_left, bisect_right
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
from maseval.benchmark.tau2.review.plain_text import normalise
from maseval.benchmark.tau2.review.replies import wishes_for_a_human
from maseval.benchmark.tau2.review.words import asks, divide, expects_a_yes, sentences

# The most frequent words of English that are rare in other languages written in Latin letters.
_ENGLISH_WORDS = (
    "the to you i is it my and of for that would like your have please can with this not on do"
    " be yes are thank thanks me we was what want which need will at from there any order flight"
    " no ok y k go hi hey pls cancel book change refund return exchange card bag bags user id"
    " email reservation item items bye thx done all now here in back good everything but has by"
    " if both then still off when how one just economy business booked insurance help phone data"
    " line bill wanna gotta gimme ask"
)
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_MARKS = '.,;:!?()[]*"#-'
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_JOINT = "\n\0\n"
_BARE_AMOUNT = re.compile(
    r"(?:(?:that|it)(?:'s| is|'d be| would be| comes to) |you(?:'d| would) get )?\$(\d+(?:\.\d+)?)"
)
_ASKS_AMOUNT = re.compile(r"\b(?:how much|what)\b[^?]{0,300}\?")
_LEAST_WORDS = 12
_MOST_READ = 800
_LEAST_SHARE = 0.15


class Utterance:
    """A text of one side and the index of its message, with what rules read in it, found once.

    Rules read it in lower case, in which most patterns are three times as fast.
    """

    def __init__(self, message_index: int, text: str) -> None:
        self.message_index, self.text, self.lower = message_index, text, text.lower()

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """Its sentences and lines, in lower case."""
        return sentences(self.lower)

    @cached_property
    def asks(self) -> bool:
        """True if it asks for a confirmation."""
        return asks(self.lower)

    @cached_property
    def expects_a_yes(self) -> bool:
        """True if one of its sentences asks for a yes or no, and leaves no other choice."""
        return self.asks and any(map(expects_a_yes, self.sentences[::-1]))

    @cached_property
    def wish(self) -> bool | None:
        """True if it asks for a human, False if it wants none."""
        return wishes_for_a_human(self.lower)

    def quote(self, part: str) -> str:
        """Return a part of it that was found in lower case as it was written."""
        at = self.lower.find(part)
        return self.text[at : at + len(part)] if at >= 0 else part


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
        return self._said["user"]

    @cached_property
    def agent(self) -> list[Utterance]:
        """The agent's texts, in order, also those beside a call."""
        return self._said["assistant"]

    @cached_property
    def agent_words(self) -> str:
        """All that the agent says, in lower case: whether a word occurs at all is seen at once."""
        return "\n".join(each.lower for each in self.agent)

    def agent_sentences(self, *marks: str) -> Iterator[tuple[Utterance, str]]:
        """Yield the sentences of the agent that have one of some texts, in lower case."""
        text, found = self._agent_lines, {}
        for mark in marks:
            at = text.find(mark)
            while at >= 0:
                end = text.find("\n", at)
                found[text.rfind("\n", 0, at) + 1] = end
                at = text.find(mark, end)
        for start, end in sorted(found.items()):
            said = self.agent[bisect_right(self._agent_starts, start) - 1]
            yield said, text[start:end].strip()

    @cached_property
    def _agent_lines(self) -> str:
        """The agent's words with each sentence on a line of its own, at the same places."""
        return f"{divide(self.agent_words)}\n"

    @cached_property
    def _agent_starts(self) -> list[int]:
        """The places in the agent's words where its texts begin."""
        return [0, *accumulate(len(each.lower) + 1 for each in self.agent)]

    @cached_property
    def _said(self) -> dict[str, list[Utterance]]:
        """The texts of both sides, which are normalised as one, in a third of the time."""
        both = ("user", "assistant")
        spoken = [
            (at, each["role"], text)
            for at, each in enumerate(self.messages)
            if each["role"] in both and (text := spoken_text(each))
        ]
        plain = normalise(_JOINT.join(text for _, _, text in spoken)).split(_JOINT.strip())
        if len(plain) != len(spoken):  # one of them has the sign that joins them
            plain = [normalise(text) for _, _, text in spoken]
        found: dict[str, list[Utterance]] = {role: [] for role in both}
        for (at, role, _), text in zip(spoken, plain, strict=True):
            found[role].append(Utterance(at, text.strip()))
        return found

    @cached_property
    def calls(self) -> list[CallMade]:
        """Every answered call of both sides, in order."""
        return list(_answered_calls(self.messages))

    def user_before(self, at: int) -> list[Utterance]:
        """Return what the user said before a message."""
        return self.user[: bisect_left(self._places[0], at)]

    def amount_answered(self, said: Utterance) -> float | None:
        """Return the amount with which a text of the agent answers "how much is that?"."""
        found = _BARE_AMOUNT.match(said.lower)
        asked = self.user_before(said.message_index)[-1:] if found else ()
        return (
            float(found[1])
            if found and any(_ASKS_AMOUNT.search(each.lower) for each in asked)
            else None
        )

    def agent_before(self, at: int) -> list[Utterance]:
        """Return what the agent said before a message."""
        return self.agent[: bisect_left(self._places[1], at)]

    def calls_before(self, at: int) -> list[CallMade]:
        """Return the calls whose message stands before a message."""
        return self.calls[: bisect_left(self._places[2], at)]

    @cached_property
    def _places(self) -> tuple[list[int], ...]:
        """The messages of the user's texts, of the agent's, and of the calls."""
        sides = self.user, self.agent, self.calls
        return tuple([each.message_index for each in side] for side in sides)

    def known_before(self, at: int) -> str:
        """Return all that the user said and the tools answered before a message."""
        text, places, ends = self._texts_with_places
        return text[: ends[bisect_left(places, at)]]

    def is_known_before(self, value: str, at: int) -> bool:
        """Return True if the user had said, or a tool answered, a text before a message."""
        return value in self.known_before(at)

    @cached_property
    def _texts_with_places(self) -> tuple[str, list[int], list[int]]:
        """The user's texts and the tools' answers as one text, their messages, and where each ends.

        An answer is known after the message with its call.
        """
        told = [(each.message_index, each.text) for each in self.user]
        told += [(each.message_index, each.answer) for each in self.calls]
        told.sort(key=lambda each: each[0])
        ends = [0, *accumulate(len(text) + 1 for _, text in told)]
        return "".join(f"{text}\n" for _, text in told), [at for at, _ in told], ends

    @cached_property
    def is_english(self) -> bool:
        """True if the words of each side are English, or too few to tell.

        The agent may list records, which have few words of any language.
        """
        return _is_english(self.user, _LEAST_SHARE) and _is_english(self.agent, _LEAST_SHARE / 5)


def _is_english(side: Sequence[Utterance], least: float) -> bool:
    text = " ".join(each.lower for each in side)[:_MOST_READ]
    foreign = () if text.isascii() else filter(str.isalpha, _NOT_ASCII.findall(text))
    if len(tuple(foreign)) > len(text) / 3:  # another script
        return False
    words = text.split()
    if sum(map(_ENGLISH.__contains__, words)) >= least * len(words):
        return True
    # Names of people and records are of no language.
    bare = " ".join(each for each in words if "@" not in each and "_" not in each)
    found = [w for each in bare.replace("'", " ").split() if (w := each.strip(_MARKS)).isalpha()]
    return len(found) < _LEAST_WORDS or sum(map(_ENGLISH.__contains__, found)) >= least * len(found)


def _answered_calls(messages: Sequence[Tau2Message]) -> Iterator[CallMade]:
    """Yield the calls in order; the answers to a message's calls follow it in the same order."""
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

    def seen_as(self, kind: type["Seen"]) -> "Seen":
        """Return the same call with what a domain's rules know about it."""
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
        return list(takewhile(self._comes_later_than, self.talk.calls))

    def _comes_later_than(self, made: CallMade) -> bool:
        return made.message_index <= self.message_index and made.call is not self.call

    @cached_property
    def calls_read(self) -> list[CallMade]:
        """The calls whose answers the agent had; it knows none of those in the same message."""
        return self.talk.calls_before(self.message_index)

    @cached_property
    def user_texts(self) -> list[Utterance]:
        """The user's texts before this call, in order."""
        return self.talk.user_before(self.message_index)

    @cached_property
    def agent_texts(self) -> list[Utterance]:
        """The agent's texts before this call, in order."""
        return self.talk.agent_before(self.message_index)

    @cached_property
    def user_said(self) -> str:
        """All that the user had said by then."""
        return "\n".join(each.text for each in self.user_texts)

    @cached_property
    def user_words(self) -> str:
        """The same in lower case."""
        return "\n".join(each.lower for each in self.user_texts)

    @property
    def wishes_for_a_human(self) -> bool | None:
        """The user's last word on being transferred."""
        wishes = (each.wish for each in reversed(self.user_texts))
        return next((each for each in wishes if each is not None), None)

    @cached_property
    def question_and_reply(self) -> tuple[Utterance | None, Utterance | None]:
        """The agent's text that the user's last one before this call answers, and that one."""
        replies = self.user_texts
        if not replies:
            return None, None
        questions = self.talk.agent_before(replies[-1].message_index)
        return (questions[-1] if questions else None), replies[-1]

    def exchanges(self) -> Iterator[tuple[Utterance, Utterance]]:
        """Yield the agent's texts before this call with the user's replies, the last ones first."""
        for reply in reversed(self.user_texts):
            questions = self.talk.agent_before(reply.message_index)
            if questions:
                yield questions[-1], reply


Seen = TypeVar("Seen", bound=CallMoment)
