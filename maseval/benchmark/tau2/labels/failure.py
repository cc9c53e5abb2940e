"""Failed simulations as the rules see them, and the labels that rules give."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from maseval.benchmark.tau2.compliance import check_case
from maseval.benchmark.tau2.domains.rules import Talk
from maseval.benchmark.tau2.explain.explanation import Explanation, format_value, render_call
from maseval.benchmark.tau2.explain.findings import ScoredCase
from maseval.benchmark.tau2.explain.repair import CallChange
from maseval.benchmark.tau2.explain.tracing import CallAt
from maseval.benchmark.tau2.formats.message import (
    Tau2Message,
    Tau2ToolCall,
    complete_call,
    spoken_text,
    tool_calls_of,
)
from maseval.benchmark.tau2.words import (
    agrees,
    asks,
    declines,
    proposes,
    refusal,
    says_the_like,
    sentences,
    speaks_of,
)
from maseval.benchmark.tau2.world.tasks import Action
from maseval.stats.failure_labels import Label


class Failure:
    """A failed simulation and its explanation."""

    def __init__(self, subject: ScoredCase, explanation: Explanation) -> None:
        self.subject = subject
        self.explanation = explanation
        self.messages = subject.case.recording.messages

    @cached_property
    def talk(self) -> Talk:
        return Talk(self.messages)

    @cached_property
    def changes(self) -> tuple[CallChange, ...]:
        """The changes that would have made it pass; empty if none are known."""
        repair = self.explanation.repair
        return (repair.changes or ()) if repair else ()

    @cached_property
    def to_add(self) -> list[CallChange]:
        return [change for change in self.changes if change.kind == "add"]

    @cached_property
    def to_leave_out(self) -> list[CallChange]:
        return [change for change in self.changes if change.kind == "leave out"]

    def said_by(self, role: str) -> Iterator[tuple[int, str]]:
        """Yield the texts of one side with their places."""
        for index, message in enumerate(self.messages):
            text = spoken_text(message) if message["role"] == role else ""
            if text:
                yield index, text

    @cached_property
    def writes(self) -> list[tuple[int, Tau2ToolCall, Tau2Message]]:
        """The recorded writes with their places and answers, whether they worked or not."""
        return [each for each in self.calls if self.subject.case.setting.may_write(each[1])]

    @cached_property
    def scenario(self) -> str:
        """All that the task gives the user, or the agent that works alone, in small letters."""
        raw = self.subject.case.raw_task
        told = (raw.get("user_scenario"), raw.get("ticket"), raw.get("initial_state"))
        return json.dumps(told, default=str, ensure_ascii=False).lower()

    @cached_property
    def calls(self) -> list[tuple[int, Tau2ToolCall, Tau2Message]]:
        """Every recorded call with its place and answer."""
        return list(_calls_with_answers(self.messages))

    def calls_of(self, tool: str) -> list[Tau2ToolCall]:
        return [call for _, call, _ in self.calls if call["name"] == tool]

    def refusals_of(self, call: Tau2ToolCall) -> list[tuple[int, str]]:
        """Return the agent's messages that refuse something and speak of a call.

        What it offers afterwards it has not refused.
        """
        offered = max((at for at, _ in self.offers_of(call)), default=-1)
        said = [(at, text) for at, text in self.said_by("assistant") if at > offered]
        return [(at, text) for at, text in said if refusal(text) and speaks_of(text, call)]

    def offers_of(self, call: Tau2ToolCall) -> list[tuple[int, str]]:
        """Return the agent's messages that ask whether to make a call."""
        said = self.said_by("assistant")
        return [(at, text) for at, text in said if _offers(text, call)]

    @cached_property
    def forbidden(self) -> dict[tuple[int, str], str]:
        """The writes that the policy forbids, by their message and text, and why."""
        found = check_case(self.subject.case, scripted=True).breaches
        return {
            (each.message_index, render_call(each.call)): each.text
            for each in found
            if each.call is not None and each.message_index is not None
        }

    def reply_before(self, index: int) -> tuple[int, str] | None:
        return next(((i, text) for i, text in reversed(self._user) if i < index), None)

    def reply_after(self, index: int) -> tuple[int, str] | None:
        return next(((i, text) for i, text in self._user if i > index), None)

    def agreement_to(self, index: int, call: Tau2ToolCall) -> tuple[int, str] | None:
        """The user's yes before a call: to the last question, or to one that speaks of the call.

        It does not cover what the agent tries next, when a call of another kind has failed.
        """
        reply = self._yes_to(index, call)
        if reply is None:
            return None
        between = [each for each in self.writes if reply[0] < each[0] < index]
        failed = any(is_error(answer) and c["name"] != call["name"] for _, c, answer in between)
        return None if failed else reply

    def _yes_to(self, index: int, call: Tau2ToolCall) -> tuple[int, str] | None:
        last = self.consent_to(index)
        if last is not None and agrees(last[1]):
            return last
        for at, _ in reversed(self.offers_of(call)):
            reply = self.reply_after(at) if at < index else None
            if reply is not None and reply[0] < index:
                wished = says_the_like(reply[1], call) and not declines(reply[1])
                return reply if wished or agrees(reply[1]) else None
        return None

    def consent_to(self, index: int) -> tuple[int, str] | None:
        """Return the user's answer before a call, if the agent had asked for a confirmation."""
        reply = self.reply_before(index)
        if reply is None:
            return None
        before = [text for at, text in self.said_by("assistant") if at < reply[0]]
        return reply if any(asks(text) for text in before[-1:]) else None

    @cached_property
    def _user(self) -> list[tuple[int, str]]:
        return list(self.said_by("user"))

    @property
    def nothing_wrong_done(self) -> bool:
        """True if everything could still have been made right when the conversation ended."""
        repair = self.explanation.repair
        if repair is None:
            return bool(self.explanation.to_be_said)
        return repair.only_adds and repair.placement == "end" and not self.wrong_writers

    @cached_property
    def swap(self) -> tuple[int, Tau2ToolCall, Tau2ToolCall] | None:
        """The one call that should have had other arguments: its place, it, and what it should be.

        None if more than that is wrong.
        """
        others = [at for at in self.to_leave_out if self.is_gold(at.call)]
        if len(self.to_add) != 1 or others:
            return None
        wanted = self.to_add[0].call
        made = [(c.message_index or 0, c.call) for c in self.to_leave_out]
        made += [(at.message_index, at.call) for at in self.wrong_writers]
        made += [(i, call) for i, call, answer in self.writes if not is_error(answer)]
        made = [(i, call) for i, call in made if not self.is_gold(call)]
        same = [(i, call) for i, call in made if call["name"] == wanted["name"]]
        if not same or any(call["name"] != wanted["name"] for _, call in made):
            return None
        index, call = max(same, key=lambda each: each[0])
        return index, call, wanted

    @property
    def gold(self) -> tuple[Action, ...]:
        return tuple(self.subject.case.task.actions)

    @cached_property
    def not_made(self) -> list[Action]:
        """The actions of the reference solution for which there is no equal call."""
        made = [(call["name"], call["arguments"]) for _, call, _ in self.calls]
        return [action for action in self.gold if (action.name, action.arguments) not in made]

    @cached_property
    def wrong_writers(self) -> list[CallAt]:
        """The calls that left a wrong value and are not of the reference solution themselves."""
        writers = [each.written_by for each in self.explanation.wrong_fields if each.written_by]
        return [at for at in writers if not self.is_gold(at.call)]

    @cached_property
    def wrong_writes(self) -> list[tuple[int, Tau2ToolCall]]:
        """The writes that would have to be left out or that left a wrong value, in order."""
        found = [(change.message_index or 0, change.call) for change in self.to_leave_out]
        found += [(at.message_index, at.call) for at in self.wrong_writers]
        once = {(index, render_call(call)): (index, call) for index, call in found}
        return [once[key] for key in sorted(once)]

    @cached_property
    def attempts(self) -> list[tuple[int, Tau2ToolCall]]:
        """The writes that are about what a missing one is about, with other arguments."""
        return [
            (index, call)
            for index, call, _ in self.writes
            if not self.is_gold(call) and any(_alike(call, c.call) for c in self.to_add)
        ]

    def is_gold(self, call: Tau2ToolCall) -> bool:
        return any(
            action.name == call["name"] and action.arguments == call["arguments"]
            for action in self.gold
        )


def _offers(text: str, call: Tau2ToolCall) -> bool:
    """Tell whether a text offers a call; next to a refusal, the question itself must name it."""
    if refusal(text):
        return any(asks(each) and says_the_like(each, call) for each in sentences(text))
    return asks(text) and proposes(text, call)


def _alike(one: Tau2ToolCall, other: Tau2ToolCall) -> bool:
    """Tell whether two calls have the same tool and the same first argument."""
    first = next(iter(other["arguments"]), None)
    if one["name"] != other["name"] or first is None:
        return False
    return bool(one["arguments"].get(first) == other["arguments"][first])


def differences(made: Tau2ToolCall, wanted: Tau2ToolCall) -> list[str]:
    """Return the arguments in which a call differs from the one that was wanted, in words."""
    one, other = made["arguments"], wanted["arguments"]
    names = [name for name in {**other, **one} if one.get(name) != other.get(name)]
    return [
        f"{name}: {format_value(one.get(name))} instead of {format_value(other.get(name))}"
        for name in names
    ]


def _calls_with_answers(
    messages: Sequence[Tau2Message],
) -> Iterator[tuple[int, Tau2ToolCall, Tau2Message]]:
    """Yield every call with the answer of the same id that follows; without one it is left out."""
    for index, message in enumerate(messages):
        for call in tool_calls_of(message) or ():
            answers = (m for m in messages[index + 1 :] if m["role"] == "tool")
            answer = next((m for m in answers if m.get("id", "") == call.get("id", "")), None)
            if answer is not None:
                yield index, complete_call(call), answer


def is_error(answer: Tau2Message) -> bool:
    """Tell whether a tool's answer reports an error."""
    return (answer.get("content") or "").startswith("Error")


LabelRule = Callable[[Failure], Label | None]
