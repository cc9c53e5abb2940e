"""A conversation as the causes and the findings about the user read it, passed or failed."""

import json
import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from maseval.benchmark.tau2.formats.message import (
    OUT_OF_SCOPE,
    STOP_TOKENS,
    Tau2ToolCall,
    has_text,
    is_tool_call,
)
from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.policy.confirming import TRANSFER_TEXT, TRANSFER_TOOL
from maseval.benchmark.tau2.review.policy.consent import Meaning, read_reply
from maseval.benchmark.tau2.review.talk import CallMade, Talk
from maseval.benchmark.tau2.scoring.case import Case


class Conversation:
    """What the task wanted, what was done, and what was said."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.messages = case.recording.messages
        self.ending = case.recording.termination_reason
        self.talk = Talk(self.messages)

    @cached_property
    def told(self) -> str:
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
        at, text = asked[0]
        if any(made.message_index >= at for made in self.talk.calls):
            return None
        left = list(calls)
        for call in left:
            alone = len(left) == 1
            if agrees_to(reply, call) and offers(text, words.plain(reply), call, alone=alone):
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
        for said in self.talk.user_before(before):
            if _has(said.text, value):
                return said.message_index
        return None

    def _is_known(self, value: str, before: int) -> bool:
        """Return True if the user can have a value: from the task, the agent, or the database.

        What a tool reads after the next write may be what the user has made up.
        """
        if _has(self.told, value) or _has(self._gold_text, value):
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
        return any(_has(text, value) for text in (self.told, self._gold_text, known))

    @cached_property
    def _gold_text(self) -> str:
        return json.dumps([each["arguments"] for each in self.gold], default=str)


def same_call(one: Tau2ToolCall, other: Tau2ToolCall) -> bool:
    return one["name"] == other["name"] and one["arguments"] == other["arguments"]


def agrees_to(text: str, call: Tau2ToolCall) -> bool:
    """Return True if a reply to the offer of a call is a yes, or an order to make it."""
    return read_reply(words.plain(text), call) in (Meaning.YES, Meaning.REQUEST)


def offers(text: str, reply: str, call: Tau2ToolCall, *, alone: bool) -> bool:
    """Return True if a text asks whether to make a call, by itself or with what is replied.

    A yes to "shall I transfer you?" is none to the write. If it is ``alone`` in what is left to do,
    one word of the tool's name in the question is enough.
    """
    asked = [each for each in words.sentences(text) if words.asks(each)]
    if not asked or words.speaks_of_a_transfer(asked[-1]):
        return False
    exchange = f"{text}\n{reply}"
    meant = words.means(exchange, call) or (alone and words.says_part_of_it(asked[-1], call))
    return meant and not words.other_ids(exchange, call)


def is_id(value: str) -> bool:
    """Return True for an id, a code, a date or an address: what nobody hits upon by chance."""
    return (len(value) > 3 and re.search(r"\d", value) is not None) or (
        value.isupper() and len(value) > 4
    )


def _has(text: str, value: str) -> bool:
    lower = text.lower()
    return any(form in lower for form in words.spellings(value))
