"""A conversation as the causes read it, passed or failed, and the faults of its simulated user.

A failed one is read once: what was written, what is missing, and who said which word. The steps of
``causes.steps`` ask this reading and nothing else. What is missing comes from the
smallest set of calls that would have made it pass, or after a cut-off from the whole reference
solution. A wrong write is paired with the missing one that it stands for.

Of the faults of the user, looked for in passes as well, only what the record shows is found: a turn
without a word or a call, a conversation that ends in the yes to an offer, an id or address that
nobody gave the user, and in a failure what it is blamed for. Most of what readers note (wishes
never said, conditions turned around, reports without a look at the device) is not found, so that a
share of conversations with a fault is a lower bound.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from maseval.benchmark.tau2.formats.message import (
    OUT_OF_SCOPE,
    STOP_TOKENS,
    Tau2ToolCall,
    has_text,
    is_tool_call,
)
from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.explain.explanation import Explanation, format_value
from maseval.benchmark.tau2.review.plain_text import normalise
from maseval.benchmark.tau2.review.policy import check_case, forbidden_steps
from maseval.benchmark.tau2.review.policy.confirming import TRANSFER_TEXT, TRANSFER_TOOL
from maseval.benchmark.tau2.review.replies import Meaning, read_reply
from maseval.benchmark.tau2.review.talk import CallMade, Talk, Utterance
from maseval.benchmark.tau2.scoring.case import Case
from maseval.core.finding import NOT_READ, Finding


class Conversation:
    """A failure as the steps read it: what the task wanted, what was done, and what was said."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.messages = case.recording.messages
        self.ending = case.recording.termination_reason
        self.talk = Talk(self.messages)

    @cached_property
    def scenario(self) -> str:
        """All that the task gives the user, or the agent that works alone, in small letters."""
        return self.case.scenario.lower()

    @cached_property
    def gold(self) -> list[Tau2ToolCall]:
        """The writes of the reference solution."""
        calls = (action.call() for action in self.case.task.actions)
        return [call for call in calls if self.case.setting.may_write(call)]

    def is_gold(self, call: Tau2ToolCall) -> bool:
        return any(same_call(call, each) for each in self.gold)

    @cached_property
    def tried(self) -> list[CallMade]:
        """The writes of both sides, also those that the tool refused."""
        return [each for each in self.talk.calls if self.case.setting.may_write(each.call)]

    @cached_property
    def done(self) -> list[CallMade]:
        """The writes of both sides that were carried out."""
        return [each for each in self.tried if not each.failed]

    @cached_property
    def undone(self) -> list[Tau2ToolCall]:
        """The writes of the reference solution that were not made."""
        return [call for call in self.gold if not any(same_call(e.call, call) for e in self.done)]

    @cached_property
    def transferred_at(self) -> int | None:
        """The message in which the agent hands over to a human, with the tool or in the words."""
        made = (e.message_index for e in self.talk.calls if e.call["name"] == TRANSFER_TOOL)
        said = (e.message_index for e in self.talk.agent if TRANSFER_TEXT in e.text)
        return min((*made, *said), default=None)

    @property
    def last_words(self) -> str:
        """The user's last message with its stop token; empty if the agent or a limit ended it."""
        last = self.messages[-1] if self.messages else None
        if last is None or last["role"] != "user" or self.ending != "user_stop":
            return ""
        content = last.get("content") or ""
        return content if any(token in content for token in STOP_TOKENS) else ""

    def offer_left_in_a_yes(self, calls: Iterable[Tau2ToolCall]) -> tuple[int, Tau2ToolCall] | None:
        """Return the call, and the message with its offer, to which the user's last word is a yes.

        None if there is no such offer, or if the agent called anything after it.
        """
        reply, asked = self.last_words, self.talk.agent[-1:]
        if not reply or OUT_OF_SCOPE in reply or not asked:
            return None
        at, text = asked[0].message_index, asked[0].text
        if any(made.message_index >= at for made in self.talk.calls):
            return None
        left = list(calls)
        for call in left:
            alone = len(left) == 1
            if agrees_to(reply, call) and offers(text, normalise(reply), call, alone=alone):
                return at, call
        return None

    def silent_turns(self) -> Iterator[int]:
        """Yield the turns in which the user neither spoke nor called a tool."""
        for index, message in enumerate(self.messages):
            if message["role"] == "user" and not has_text(message) and not is_tool_call(message):
                yield index

    def invented_values(self) -> Iterator[tuple[str, int]]:
        """Yield ids and addresses that the agent used and only the user can have made up.

        With each comes the message in which the user gives it first.
        """
        seen: set[str] = set()
        for made in self.talk.calls:
            values = list(words.telling_values(made.call["arguments"]))
            for value in values if made.call["requestor"] == "assistant" else ():
                source = self._given_by_user(value, made.message_index) if is_id(value) else None
                if source is None or value in seen:
                    continue
                seen.add(value)
                if not self._is_known(value, source):
                    yield value, source

    def _given_by_user(self, value: str, before: int) -> int | None:
        """Return the first message in which the user gives a value."""
        given = (said for said in self.talk.user_before(before) if _has(said.text, value))
        return next((said.message_index for said in given), None)

    def _is_known(self, value: str, before: int) -> bool:
        """Return True if the user can have a value: from the task, the agent, or the database.

        What a tool reads after the next write may be what the user has made up.
        """
        if _has(self.scenario, value) or _has(self._gold_text, value):
            return True
        if any(_has(each.text, value) for each in self.talk.agent_before(before)):
            return True
        changed = (each.message_index for each in self.done if each.message_index > before)
        until = next(changed, len(self.messages))
        reads = (e for e in self.talk.calls if e.message_index < until and not e.failed)
        return any(_has(each.answer, value) for each in reads if each not in self.done)

    def agent_can_have(self, value: str, before: int) -> bool:
        """Return True if the agent can have a value: from the user, a tool, or the task."""
        known = self.talk.known_before(before)
        return any(_has(text, value) for text in (self.scenario, self._gold_text, known))

    @cached_property
    def _gold_text(self) -> str:
        return json.dumps([each["arguments"] for each in self.gold], default=str)


def same_call(one: Tau2ToolCall, other: Tau2ToolCall) -> bool:
    return one["name"] == other["name"] and one["arguments"] == other["arguments"]


def agrees_to(text: str, call: Tau2ToolCall) -> bool:
    """Return True if a reply to the offer of a call is a yes, or an order to make it."""
    return read_reply(normalise(text), call["name"]) in (Meaning.YES, Meaning.REQUEST)


def offers(text: str, reply: str, call: Tau2ToolCall, *, alone: bool) -> bool:
    """Return True if a text asks whether to make a call, by itself or with what is replied.

    A yes to "shall I transfer you?" is none to the write. If it is ``alone`` in what is left to do,
    one word of the tool's name in the question is enough.
    """
    asked = [each for each in words.sentences(text) if words.asks(each)]
    if not asked or words.speaks_of_a_transfer(asked[-1]):
        return False
    exchange = f"{text}\n{reply}"
    meant = _means(exchange, call) or (alone and words.says_part_of_it(asked[-1], call["name"]))
    return meant and not _other_ids(exchange, call)


_TOKEN = re.compile(r"[#\w][\w.@'+-]*[\w]")
_NUMBER = re.compile(r"(?<![\w.-])\d{8,12}(?![\w-])")


def _id_like(text: str) -> list[str]:
    """The words of a text that look like ids, numbers or addresses: they have a digit or an @."""
    words = _TOKEN.findall(text)
    return [word for word in words if len(word) >= 4 and re.search(r"[\d@]", word)]


def _own_values(call: Tau2ToolCall) -> list[str]:
    """Return the values that distinguish a call from others for the same person."""
    arguments = {k: v for k, v in call["arguments"].items() if k not in words.OWNERS}
    return list(dict.fromkeys(words.telling_values(arguments)))


def _means(text: str, call: Tau2ToolCall) -> bool:
    """Return True if a text says what a call does, or names at least two of its own values.

    One alone may be chance, as the name of its record.
    """
    named = sum(words.mentions(text, each) for each in _own_values(call))
    return words.says_the_like(text, call["name"]) or named > 1


def _other_ids(text: str, call: Tau2ToolCall) -> bool:
    """Return True if a text names ids of the kind that a call has, and not all of the call's own.

    Dates and short numbers do not count: they may stand for anything. Of long ones, which are
    named for what is there as well as for what is to be, one of the call's own is enough.
    """
    values = _own_values(call)
    numbers = {v for v in values if _NUMBER.fullmatch(v)}
    named = set(_NUMBER.findall(text)) if numbers else set()
    if named and not named & numbers:
        return True
    own = [v for v in values if _id_like(v) == [v] and re.search(r"[A-Za-z]", v)]
    for kind in {_shape(value) for value in own}:
        there = {word for word in _id_like(text) if _shape(word) == kind}
        if there and not {value for value in own if _shape(value) == kind} <= there:
            return True
    return False


def _shape(value: str) -> str:
    """Return the form of an id: its letters, and how many digits."""
    return re.sub(r"\d", "0", value.lstrip("#"))


def is_id(value: str) -> bool:
    """Return True for an id, a code, a date or an address: what nobody hits upon by chance."""
    return (len(value) > 3 and re.search(r"\d", value) is not None) or (
        value.isupper() and len(value) > 4
    )


def _has(text: str, value: str) -> bool:
    lower = text.lower()
    return any(form in lower for form in words.spellings(value))


_FOLLOWS = re.compile(r"amount|price|nonfree")


class Difference(NamedTuple):
    """An argument in which a write is not the wanted one."""

    argument: str
    made: object
    wanted: object

    def __str__(self) -> str:
        made, wanted = (format_value(each, 60) for each in (self.made, self.wanted))
        return f"{self.argument} {made}, not {wanted}"


class Pair(NamedTuple):
    """A write that was made, and the missing one that it stands for."""

    made: CallMade
    wanted: Tau2ToolCall
    differences: tuple[Difference, ...]

    @property
    def choices(self) -> tuple[Difference, ...]:
        """The differences that somebody chose; what is to be paid follows from them."""
        return tuple(each for each in self.differences if not _FOLLOWS.search(each.argument))


class Failure(Conversation):
    """A failed simulation and its explanation, as the steps that look for the cause see it."""

    def __init__(self, case: Case, explanation: Explanation) -> None:
        super().__init__(case)
        self.explanation = explanation

    @cached_property
    def missing(self) -> list[Tau2ToolCall]:
        """The writes that would have to be added; without a repair, all that were not made."""
        repair = self.explanation.repair
        if repair is not None and repair.changes:
            return [each.call for each in repair.changes if each.kind == "add"]
        if repair is None and self.explanation.cut_off is None:
            return []  # no call decides it: something was not said
        return self.undone

    @cached_property
    def wrong(self) -> list[CallMade]:
        """The done writes that would have to be left out, or left a wrong value."""
        repair, fields = self.explanation.repair, self.explanation.wrong_fields
        marked = [(c.message_index, c.call) for c in (repair and repair.changes) or ()]
        marked += [(f.written_by.message_index, f.written_by.call) for f in fields if f.written_by]
        return [
            each
            for each in self.done
            if not self.is_gold(each.call)
            and any(at == each.message_index and same_call(call, each.call) for at, call in marked)
        ]

    @cached_property
    def pairs(self) -> list[Pair]:
        """Each missing write with the done one of the same tool that has most in common with it.

        A done write may stand for a missing one although it could stay, as where a later write
        would have put it right.
        """
        alike = [
            (made, wanted)
            for wanted in self.missing
            for made in reversed(self.done)
            if self._stands_for(made, wanted)
        ]
        found: list[Pair] = []
        for made, wanted in sorted(alike, key=lambda e: -_in_common(e[0].call, e[1])):
            if not any(each.made is made or each.wanted is wanted for each in found):
                differing = _differing("", made.call["arguments"], wanted["arguments"])
                found.append(Pair(made, wanted, tuple(differing)))
        return sorted(found, key=lambda each: each.made.message_index)

    def _stands_for(self, made: CallMade, wanted: Tau2ToolCall) -> bool:
        alike = made in self.wrong or words.record(made.call) == words.record(wanted)
        return alike and made.call["name"] == wanted["name"] and not self.is_gold(made.call)

    @cached_property
    def untouched(self) -> list[Tau2ToolCall]:
        """The missing writes for which nothing stands."""
        paired = [each.wanted for each in self.pairs]
        return [each for each in self.missing if each not in paired]

    @cached_property
    def extra(self) -> list[CallMade]:
        """The wrong writes that stand for nothing missing."""
        paired = [each.made for each in self.pairs]
        return [each for each in self.wrong if each not in paired]

    @property
    def nothing_wrong_written(self) -> bool:
        return not self.wrong and not self.pairs

    @cached_property
    def forbidden(self) -> list[tuple[CallMade, Finding]]:
        """The done writes, not of the reference solution, that a rule about the state forbids."""
        return [
            (each, breach)
            for breach, call in check_case(self.case, scripted=True).breaking_calls
            for each in self.done
            if breach.counts
            and breach.message == each.message_index
            and same_call(call, each.call)
            and not self.is_gold(each.call)
        ]

    @property
    def did_its_part(self) -> bool:
        """True if the agent refused all that is missing, or did the rest and kept the case.

        An agent that works alone refuses nothing: then all that is missing must be forbidden.
        """
        if self.case.setting.solo:
            forbidden = forbidden_steps(self.case.setting, self.case.scenario)
            return all(call["id"] in forbidden for call in self.missing)
        if all(self.refusal_of(call) for call in self.missing):
            return True
        return bool(self.done) and self.transferred_at is None

    def refusal_of(self, call: Tau2ToolCall) -> Utterance | None:
        """Return the agent's last text that refuses a call."""
        for said in reversed(self.talk.agent):
            refused = [each for each in words.sentences(said.text) if words.refusal(each)]
            if any(words.says_part_of_it(each, call["name"]) for each in refused):
                return said
        return None


def _in_common(one: Tau2ToolCall, other: Tau2ToolCall) -> int:
    values = list(words.telling_values(other["arguments"]))
    return sum(each in values for each in words.telling_values(one["arguments"]))


def _differing(name: str, made: object, wanted: object) -> Iterator[Difference]:
    """Yield the single values in which two calls differ, under the names of their arguments."""
    if isinstance(made, dict) and isinstance(wanted, dict):
        for key in {**made, **wanted}:
            yield from _differing(str(key), made.get(key), wanted.get(key))
    elif isinstance(made, list) and isinstance(wanted, list) and len(made) == len(wanted):
        for one, other in zip(made, wanted, strict=True):
            yield from _differing(name, one, other)
    elif made != wanted:
        yield Difference(name, made, wanted)


LOOKED_FOR = (
    "Looked for: empty turns, leaving in the same message as a yes, ids and "
    "addresses that nobody gave the user, and in failures a mind that was not changed. "
    "These were 12 of the 125 faults that readers noted in 180 conversations."
)
"""A sentence to stand above every number of faults."""


def user_findings(case: Case, cause: Finding | None = None) -> tuple[Finding, ...]:
    """Return the faults of the user in a recorded conversation, in the order of its messages.

    ``cause`` is why it failed, if it did. An agent that worked alone had no user.
    """
    if case.setting.solo:
        return ()
    conversation = Conversation(case)
    if not conversation.talk.is_english:
        return (*_silent_turns(conversation), user_not_read("the conversation is not in English"))
    found = [*_silent_turns(conversation), *_other_faults(conversation)]
    blamed = cause is not None and "user" in (cause.who, cause.also)
    if cause is not None and blamed and cause.kind not in {each.kind for each in found}:
        found.append(replace(cause, source="user", who="user", also=None))
    return tuple(sorted(found, key=lambda each: each.message or 0))


def user_not_read(why: str) -> Finding:
    """Return the finding that nobody could look for faults of the user."""
    return Finding("user", "user", NOT_READ, NOT_READ, why, "undecided", weight="remark")


def _fault(kind: str, text: str, message: int) -> Finding:
    return Finding("user", "user", kind, kind, text, message=message)


def _silent_turns(conversation: Conversation) -> Iterator[Finding]:
    for at in conversation.silent_turns():
        yield _fault("said nothing", "the user neither speaks nor acts", at)


def _other_faults(conversation: Conversation) -> Iterator[Finding]:
    """Yield what is found by reading words."""
    for value, at in conversation.invented_values():
        text = f"the user gives {value!r}, which is neither in its task nor said before"
        yield _fault("invented fact", text, at)
    done = [(each.call["name"], words.record(each.call)) for each in conversation.done]
    left = [e for e in conversation.undone if (e["name"], words.record(e)) not in done]
    found = conversation.offer_left_in_a_yes(left)
    if found is not None:
        text = f"the user says yes to the offer of message {found[0]} and leaves at once"
        yield _fault("left while agreeing", text, len(conversation.messages) - 1)
