"""Failed simulations as the rules see them, and the labels that rules give."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from maseval.benchmark.tau2.formats.message import (
    Tau2Message,
    Tau2ToolCall,
    complete_call,
    spoken_text,
    tool_calls_of,
)
from maseval.benchmark.tau2.review.explain.explanation import Explanation, format_value, render_call
from maseval.benchmark.tau2.review.explain.repair import CallChange
from maseval.benchmark.tau2.review.explain.scored_case import ScoredCase
from maseval.benchmark.tau2.review.explain.tracing import CallAt
from maseval.benchmark.tau2.review.policy import check_case, forbidden_steps
from maseval.benchmark.tau2.review.policy.consent import Meaning, read_reply
from maseval.benchmark.tau2.review.talk import Talk
from maseval.benchmark.tau2.review.words import (
    asks,
    id_like,
    mentions,
    other_ids,
    own_values,
    plain,
    proposes,
    record,
    refusal,
    says_part_of_it,
    says_the_like,
    sentences,
    telling_values,
    topic_words,
)
from maseval.benchmark.tau2.world.tasks import Action
from maseval.stats.failure_labels import Label


class Failure:
    """A failed simulation and its explanation."""

    def __init__(self, subject: ScoredCase, explanation: Explanation) -> None:
        self.subject = subject
        self.explanation = explanation
        self.messages = subject.case.recording.messages
        self._offers: dict[str, list[tuple[int, str]]] = {}
        self._apart: dict[str, list[str]] = {}

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
    def not_in_the_correction(self) -> list[Tau2ToolCall]:
        """The missing calls that a correction of the task has taken out."""
        golds = [each.sound_verdict.gold for each in self.subject.errata]
        kept = [(step.name, step.arguments) for gold in golds for step in gold or ()]
        corrected = any(gold is not None for gold in golds)
        calls = [change.call for change in self.to_add] if corrected else []
        return [each for each in calls if (each["name"], each["arguments"]) not in kept]

    @cached_property
    def to_leave_out(self) -> list[CallChange]:
        return [change for change in self.changes if change.kind == "leave out"]

    def said_by(self, role: str) -> Iterator[tuple[int, str]]:
        """Yield the texts of one side with their places."""
        for index, message in enumerate(self.messages):
            text = spoken_text(message) if message["role"] == role else ""
            if text:
                yield index, text

    def text_of(self, index: int) -> str:
        return spoken_text(self.messages[index])

    @cached_property
    def writes(self) -> list[tuple[int, Tau2ToolCall, Tau2Message]]:
        """The recorded writes with their places and answers, whether they worked or not."""
        return [each for each in self.calls if self.subject.case.setting.may_write(each[1])]

    @cached_property
    def scenario(self) -> str:
        """All that the task gives the user, or the agent that works alone, in small letters."""
        return self.subject.case.scenario.lower()

    @cached_property
    def calls(self) -> list[tuple[int, Tau2ToolCall, Tau2Message]]:
        """Every recorded call with its place and answer."""
        return list(_calls_with_answers(self.messages))

    def calls_of(self, tool: str) -> list[Tau2ToolCall]:
        return [call for _, call, _ in self.calls if call["name"] == tool]

    def refusals_of(self, call: Tau2ToolCall) -> list[tuple[int, str]]:
        """Return the agent's messages that refuse a call; what it offers afterwards it has not."""
        offered = max((at for at, _ in self.offers_of(call)), default=-1)
        said = [(at, text) for at, text in self.said_by("assistant") if at > offered]
        return [(at, text) for at, text in said if self.refuses(text, call, at)]

    def refuses(self, text: str, call: Tau2ToolCall, at: int | None = None) -> bool:
        """Tell whether a text refuses what a call does, and not something else about its record.

        "I cannot do that" refuses what the user has just asked for.
        """
        refused = [each for each in sentences(text) if refusal(each)]
        if not refused or self.names_another(text, call):
            return False
        if any(says_the_like(each, call) for each in refused):
            return True
        wish = self.reply_before(at) if at is not None else None
        context = f"{text}\n{wish[1]}" if wish else text
        return any(map(_REFUSES_IT.search, refused)) and proposes(context, call)

    def offers_of(self, call: Tau2ToolCall) -> list[tuple[int, str]]:
        """Return the agent's messages that ask whether to make a call, with the values it has."""
        key = render_call(call)
        if key not in self._offers:
            self._offers[key] = [
                (at, text)
                for at, text in self.asked
                if self._offers_it(text, call) and not other_ids(text, call)
            ]
        return self._offers[key]

    def _offers_it(self, text: str, call: Tau2ToolCall) -> bool:
        """Tell whether a text offers a call; next to a refusal, the question itself must say so."""
        if refusal(text) and not any(
            asks(each) and says_the_like(each, call) for each in sentences(text)
        ):
            return False
        return self.is_about(text, call)

    def is_about(self, text: str, call: Tau2ToolCall) -> bool:
        """Tell whether a text says what a call does, or names its record or two of its values.

        A record, or values, that other writes have as well do not say which of them is meant.
        """
        if self.names_another(text, call):
            return False
        own, name = self._values_apart(call), record(call)
        # People and places are named for many reasons.
        if sum(mentions(text, value) for value in own if re.search(r"\d", value)) > 1:
            return True
        if name in own and mentions(text, name or ""):
            return True
        return any(
            says_the_like(each, call) and not self.names_another(each, call)
            for each in sentences(text)
        )

    def _values_apart(self, call: Tau2ToolCall) -> list[str]:
        """Return the values of a call that no write of another kind has."""
        key = render_call(call)
        if key not in self._apart:
            writes = [each for _, each, _ in self.writes] + [each.call() for each in self.gold]
            others = {
                value
                for each in writes
                if each["name"] != call["name"] and self.subject.case.setting.may_write(each)
                for value in telling_values(each["arguments"])
            }
            self._apart[key] = [value for value in own_values(call) if value not in others]
        return self._apart[key]

    def names_another(self, text: str, call: Tau2ToolCall) -> bool:
        """Tell whether a text names another record of the kind, and not that of a call."""
        name = record(call)
        if name is not None and mentions(text, name):
            return False
        return any(other in text for other in self.records_like(call) if other != name)

    def records_like(self, call: Tau2ToolCall) -> set[str]:
        """Return the records that were looked up or changed for which a call might be.

        A call for a person is like others whose tools have the same words in their names.
        """
        key, topic = next(iter(call["arguments"]), ""), topic_words(call["name"])
        found: Iterable[object]
        if record(call) is None:
            writes = (each for _, each, _ in self.writes if each["name"] != call["name"])
            found = (record(each) for each in writes if topic_words(each["name"]) == topic)
        else:
            found = (each["arguments"].get(key) for _, each, _ in self.calls)
        return {each for each in found if isinstance(each, str) and len(each) > 3}

    def names_of(self, ids: Iterable[str]) -> Iterator[str]:
        """Yield what the tools' answers call the items with some ids."""
        for each in ids:
            pattern = rf'"name": "([^"]{{2,60}})"[^{{}}]{{0,80}}"item_id": "{re.escape(each)}"'
            for _, _, answer in self.calls:
                yield from re.findall(pattern, answer.get("content") or "")

    def wishes_for(self, call: Tau2ToolCall) -> Iterator[int]:
        """Yield the places where the user asks for what a call does, about its record or none."""
        refused = {at for _, at, reply in self.replies_to(call) if turns_down(reply, call)}
        return (at for at, text in self._user if at not in refused and self.is_about(text, call))

    def may_have_asked_for(self, call: Tau2ToolCall) -> bool:
        """Tell whether the user said anything that may be a wish for what a call does.

        It has a word of the tool's name, and is about no other write of the reference solution.
        """
        others = [each.call() for each in self.gold if each.call()["id"] != call["id"]]
        others = [each for each in others if self.subject.case.setting.may_write(each)]
        return any(
            says_part_of_it(each, call) and not any(self.is_about(each, other) for other in others)
            for _, text in self._user
            for each in sentences(text)
        )

    def has_agreed_to(self, wanted: Tau2ToolCall, made: Tau2ToolCall, before: int) -> bool:
        """Tell whether the user said yes to what was wanted where something else was done.

        The offer has the values that are wanted, and not those that were used instead.
        """
        right, wrong = (set(telling_values(each["arguments"])) for each in (wanted, made))
        return bool(right - wrong) and any(
            agrees_to(reply, wanted)
            and all(mentions(self.text_of(at), each) for each in right - wrong)
            and not any(mentions(self.text_of(at), each) for each in wrong - right)
            for at, place, reply in self.replies_to(wanted)
            if place < before
        )

    def replies_to(self, call: Tau2ToolCall) -> Iterator[tuple[int, int, str]]:
        """Yield the offers of a call with the places and the texts of the user's replies."""
        for at, _ in self.offers_of(call):
            reply = self.reply_after(at)
            if reply is not None:
                yield at, *reply

    @cached_property
    def forbidden(self) -> dict[tuple[int, str], str]:
        """The writes that the policy forbids, by their message and text, and why."""
        found = check_case(self.subject.case, scripted=True).breaches
        return {
            (each.message, each.call): each.text
            for each in found
            if each.call is not None and each.message is not None
        }

    @cached_property
    def forbidden_gold(self) -> Mapping[str, str]:
        """The steps of the reference solution that the policy forbids, by their ids, and why."""
        case = self.subject.case
        return forbidden_steps(case.setting, case.scenario)

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
        if last is not None and agrees_to(last[1], call):
            question = [text for at, text in self.asked if at < last[0]][-1]
            if not self.names_another(question, call):
                return last
        for _, at, reply in reversed(list(self.replies_to(call))):
            if at < index:
                return (at, reply) if agrees_to(reply, call) else None
        return None

    def consent_to(self, index: int) -> tuple[int, str] | None:
        """Return the user's answer before a call, if the agent had asked for a confirmation."""
        reply = self.reply_before(index)
        if reply is None:
            return None
        before = [text for at, text in self.said_by("assistant") if at < reply[0]]
        return reply if any(asks(text) for text in before[-1:]) else None

    @cached_property
    def asked(self) -> Sequence[tuple[int, str]]:
        """The agent's messages that ask for a confirmation."""
        return [(at, text) for at, text in self.said_by("assistant") if asks(text)]

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
        if not made:  # it was tried
            made = [(i, call) for i, call in self.attempts if call["requestor"] == "assistant"]
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


# What is refused is not said again, or only that it was asked for.
_REFUSES_IT = re.compile(
    r"(?:unable to|cannot|can't|can not|not able to) (?:\w+ ){0,3}?(?:it|this|that|so|them|these|"
    r"(?:this|that|your|the) (?:request|change|modification|action))\b(?! fee)",
    re.IGNORECASE,
)


def describes(text: str, call: Tau2ToolCall) -> bool:
    """Tell whether a text says what a call does and names its record and what it is to be."""
    ids = [each for each in own_values(call) if id_like(each) == [each]]
    return says_the_like(text, call) and bool(ids) and all(mentions(text, each) for each in ids)


def agrees_to(text: str, call: Tau2ToolCall) -> bool:
    """Tell whether a reply to the offer of a call is a yes, or an order to make it."""
    return read_reply(plain(text), call) in (Meaning.YES, Meaning.REQUEST)


def turns_down(text: str, call: Tau2ToolCall) -> bool:
    """Tell whether a reply to the offer of a call is a no."""
    return read_reply(plain(text), call) is Meaning.NO


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
