"""A conversation as the causes read it, passed or failed, and the faults of its simulated user.

A failed one is read once: what was written, what is missing, and who named which value. The steps
of ``causes.steps`` ask this reading and nothing else. What is missing comes from the smallest set
of calls that would have made it pass, or after a cut-off from the whole reference solution. A wrong
write is paired with the missing one that it stands for.

Of the faults of the user only what the record shows is found, in passes as well: a turn without a
word or a call, and an id or address that nobody gave the user. All others are language, which a
judge reads.
"""

import json
import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from maseval.benchmark.tau2.formats.message import Tau2ToolCall, has_text, is_tool_call
from maseval.benchmark.tau2.review.explain.explanation import Explanation, format_value
from maseval.benchmark.tau2.review.policy import check_case, forbidden_steps
from maseval.benchmark.tau2.review.policy.confirming import TRANSFER_TEXT, TRANSFER_TOOL
from maseval.benchmark.tau2.review.talk import CallMade, Talk
from maseval.benchmark.tau2.review.values import record, spellings, telling_values
from maseval.benchmark.tau2.scoring.case import Case
from maseval.core.finding import Finding


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
        return [each for each in self.tried if not each.failed]

    @cached_property
    def undone(self) -> list[Tau2ToolCall]:
        return [call for call in self.gold if not any(same_call(e.call, call) for e in self.done)]

    @cached_property
    def transferred_at(self) -> int | None:
        """The message in which the agent hands over to a human, with the tool or in the words."""
        made = (e.message_index for e in self.talk.calls if e.call["name"] == TRANSFER_TOOL)
        said = (e.message_index for e in self.talk.agent if TRANSFER_TEXT in e.text)
        return min((*made, *said), default=None)

    def silent_turns(self) -> Iterator[int]:
        for index, message in enumerate(self.messages):
            if message["role"] == "user" and not has_text(message) and not is_tool_call(message):
                yield index

    def invented_values(self) -> Iterator[tuple[str, int]]:
        """Yield ids and addresses that the agent used and only the user can have made up.

        With each comes the message in which the user gives it first.
        """
        seen: set[str] = set()
        for made in self.talk.calls:
            values = list(telling_values(made.call["arguments"]))
            for value in values if made.call["requestor"] == "assistant" else ():
                if not is_id(value) or value in seen:
                    continue
                heard = self.talk.user_before(made.message_index)
                given = next((said for said in heard if _has(said.text, value)), None)
                if given is None:
                    continue
                seen.add(value)
                if not self._is_known(value, given.message_index):
                    yield value, given.message_index

    # What a tool reads after the next write may be what the user has made up.
    def _is_known(self, value: str, before: int) -> bool:
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


def is_id(value: str) -> bool:
    """Return True for an id, a code, a date or an address: what nobody hits upon by chance."""
    return (len(value) > 3 and re.search(r"\d", value) is not None) or (
        value.isupper() and len(value) > 4
    )


def _has(text: str, value: str) -> bool:
    lower = text.lower()
    return any(form in lower for form in spellings(value))


# Amounts follow from what was chosen: nobody chose them.
_FOLLOWS = re.compile(r"amount|price|nonfree")


class Difference(NamedTuple):
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
        # Either shows a wrong write: leaving it out helps, or it left a value that is wrong in the
        # end.
        repair, fields = self.explanation.repair, self.explanation.wrong_fields
        marked = [(c.message_index, c.call) for c in (repair and repair.changes) or ()]
        marked += [(f.written_by.message_index, f.written_by.call) for f in fields if f.written_by]
        return [
            each
            for each in self.done
            # A write of the reference solution is right, whatever else was written.
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
            # Among equally similar writes the last one is taken, because it may correct the others.
            for made in reversed(self.done)
            if self._stands_for(made, wanted)
        ]
        found: list[Pair] = []
        # The most alike are paired first, so that no pair takes another's better match.
        for made, wanted in sorted(alike, key=lambda e: -_in_common(e[0].call, e[1])):
            if not any(each.made is made or each.wanted is wanted for each in found):
                differing = _differing("", made.call["arguments"], wanted["arguments"])
                found.append(Pair(made, wanted, tuple(differing)))
        return sorted(found, key=lambda each: each.made.message_index)

    def _stands_for(self, made: CallMade, wanted: Tau2ToolCall) -> bool:
        alike = made in self.wrong or record(made.call) == record(wanted)
        return alike and made.call["name"] == wanted["name"] and not self.is_gold(made.call)

    @cached_property
    def untouched(self) -> list[Tau2ToolCall]:
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
        found = []
        for breach, call in check_case(self.case, scripted=True).breaking_calls:
            if not breach.counts:
                continue
            for write in self.done:
                is_meant = breach.message == write.message_index and same_call(call, write.call)
                if is_meant and not self.is_gold(write.call):
                    found.append((write, breach))
        return found

    @property
    def did_its_part(self) -> bool:
        """True if the agent wrote something, or read all that the reference solution reads.

        An agent that works alone did its part if all that is missing is forbidden.
        """
        if self.case.setting.solo:
            forbidden = forbidden_steps(self.case.setting, self.case.scenario)
            return all(call["id"] in forbidden for call in self.missing)
        actions = [action.call() for action in self.case.task.actions]
        reads = [call for call in actions if not self.case.setting.may_write(call)]
        made = [each.call for each in self.talk.calls]
        return bool(self.done) or (
            bool(reads) and all(any(same_call(call, each) for each in made) for call in reads)
        )


def _in_common(one: Tau2ToolCall, other: Tau2ToolCall) -> int:
    values = list(telling_values(other["arguments"]))
    return sum(each in values for each in telling_values(one["arguments"]))


def _differing(name: str, made: object, wanted: object) -> Iterator[Difference]:
    if isinstance(made, dict) and isinstance(wanted, dict):
        for key in {**made, **wanted}:
            yield from _differing(str(key), made.get(key), wanted.get(key))
    # Entries can be paired only in lists of equal length; other lists differ as a whole.
    elif isinstance(made, list) and isinstance(wanted, list) and len(made) == len(wanted):
        for one, other in zip(made, wanted, strict=True):
            yield from _differing(name, one, other)
    elif made != wanted:
        yield Difference(name, made, wanted)


def user_findings(case: Case) -> tuple[Finding, ...]:
    """Return the faults of the user that the record shows, in the order of its messages.

    An agent that worked alone had no user.
    """
    if case.setting.solo:
        return ()
    conversation = Conversation(case)
    silent, said = "said nothing", "invented fact"
    found = [(at, silent, "the user neither speaks nor acts") for at in conversation.silent_turns()]
    found += [
        (at, said, f"the user gives {value!r}, which is neither in its task nor said before")
        for value, at in conversation.invented_values()
    ]
    return tuple(
        Finding("user", "user", kind, kind, text, "proven", message=at)
        for at, kind, text in sorted(found)
    )
