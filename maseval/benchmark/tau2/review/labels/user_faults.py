"""Failures of the simulated user: it was silent, made things up, left too early, or did not
keep to its task.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import chain

from maseval.benchmark.tau2.formats.message import (
    OUT_OF_SCOPE,
    Tau2Message,
    Tau2ToolCall,
    has_text,
    is_tool_call,
    is_user_stop,
    spoken_text,
    tool_calls_of,
)
from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.explain.explanation import format_value, render_call
from maseval.benchmark.tau2.review.labels.failure import Failure, agrees_to, is_error, turns_down
from maseval.benchmark.tau2.review.policy.confirming import TRANSFER_TOOL
from maseval.benchmark.tau2.review.words import (
    id_like,
    means,
    mentions,
    other_ids,
    speaks_of,
    spellings,
    telling_values,
)
from maseval.core.finding import LEFT_OUT
from maseval.stats.failure_labels import Label

_CHANGE_OF_MIND = re.compile(r"(?:if|when) the (?:\w+ )?agent asks (?:you )?(?:for|to) confirm")

_LIMIT = re.compile(
    r"\b(?:only|up to|at most|less than|more than|under|over|within|budget|afford|limit|maximum|"
    r"cheap|exceed|greater than|minimi)"
)
_TOO_DEAR = re.compile(
    r"\b(?:pric|cost|charg|fee|expens|budget|afford|higher|cheap|\$|dollar|too much|limit|pay)",
    re.IGNORECASE,
)
_OFTEN = 5


def change_of_mind_missed(failure: Failure) -> Label | None:
    """The user was to change its mind when asked to confirm, and did not, or in another way."""
    if not _CHANGE_OF_MIND.search(failure.scenario):
        return None
    missed = ((offer, no) for offer, no, _ in turned_down(failure))
    found = next(chain(_agreed_to_wrong_calls(failure), missed), None)
    if found is None:
        return None
    evidence = ("the task: the user is to change its mind when it is asked to confirm", *found)
    return Label("user", "instructions not followed", "change of mind missed", evidence)


def _agreed_to_wrong_calls(failure: Failure) -> Iterator[tuple[str, str]]:
    """Yield the wrong calls that were made as offered and agreed to, if no change came before."""
    for index, call in ((at.message_index, at.call) for at in failure.wrong_writers):
        said = [
            (at, reply)
            for offer, at, reply in failure.replies_to(call)
            if at < index and not _offers_something_missing(failure, offer, call)
        ]
        replies = (failure.reply_after(at) for at, text in failure.asked if at < index)
        texts = (reply[1] for reply in replies if reply)
        changed = any(words.declines(text) or words.narrows(text) for text in texts)
        if said and agrees_to(said[-1][1], call) and not changed:
            yield (
                f"message {said[-1][0]}: the user agrees",
                f"message {index}: {render_call(call)}",
            )


def _offers_something_missing(failure: Failure, index: int, made: Tau2ToolCall) -> bool:
    """Tell whether a text has ids of what is missing, and none that only the call made has."""
    text = failure.text_of(index)
    used = set(telling_values(made["arguments"]))
    wanted = {v for change in failure.to_add for v in telling_values(change.call["arguments"])}
    return any(id_like(v) and mentions(text, v) for v in wanted - used) and not any(
        id_like(v) and mentions(text, v) for v in used - wanted
    )


def turned_down(failure: Failure) -> Iterator[tuple[str, str, bool]]:
    """Yield the offers of missing calls that the user declined and never came back to.

    With each comes True if the user says that it costs too much.
    """
    if not failure.nothing_wrong_done or failure.attempts or transferred_at(failure) is not None:
        return
    for change in failure.to_add:
        for index, at, reply in failure.replies_to(change.call):
            refused = any(place <= index for place, _ in failure.refusals_of(change.call))
            said_no = turns_down(reply, change.call) or _asks_for_less(reply, change.call)
            if refused or not said_no or _asked_again(failure, at, change.call):
                continue
            yield (
                f"message {index}: the agent offers {render_call(change.call)}",
                f"message {at}, the user: {format_value(reply)}",
                bool(_TOO_DEAR.search(reply)),
            )


def _asks_for_less(reply: str, call: Tau2ToolCall) -> bool:
    """Tell whether a reply asks for a part of what was offered, in which a call is not."""
    return words.narrows(reply) and not agrees_to(reply, call) and not speaks_of(reply, call)


def _asked_again(failure: Failure, after: int, call: Tau2ToolCall) -> bool:
    later = (failure.text_of(index) for index in failure.wishes_for(call) if index > after)
    return any(not words.declines(text) and not words.says_goodbye(text) for text in later)


def turned_down_by_the_user(failure: Failure) -> Label | None:
    """The agent offered what is missing, and the user said no to it.

    Where its task has a limit and the user says that it costs too much, it may be right.
    """
    found = next(turned_down(failure), None)
    if found is None:
        return None
    offer, reply, too_dear = found
    if not too_dear or not _LIMIT.search(failure.scenario):
        return Label("user", "turned down by the user", "turned down", (offer, reply))
    sound = failure.explanation.sound
    if sound is not None and sound.kind == LEFT_OUT:
        return None
    return Label("unclear", "turned down by the user", "turned down", (offer, reply))


def transferred_at(failure: Failure) -> int | None:
    """The message in which the agent hands over to a human, with the tool or in the set words."""
    for index, message in enumerate(failure.messages):
        if message["role"] == "assistant":
            tools = [call["name"] for call in tool_calls_of(message) or ()]
            if TRANSFER_TOOL in tools or "YOU ARE BEING TRANSFERRED" in spoken_text(message):
                return index
    return None


class _Leave:
    """The last exchange of a conversation that the user ended."""

    def __init__(self, failure: Failure, last: Tau2Message, asked: tuple[int, str]) -> None:
        self._failure = failure
        self._last = last
        self._at, self.asked = asked
        self.content = last.get("content") or ""
        self.reply = words.plain(self.content)

    @cached_property
    def confirmed(self) -> bool:
        """True if the user was asked to confirm a missing call, and did."""
        if not words.asks(self.asked):
            return False
        if self._is_about_other_ids or _is_asked_about_a_transfer(self.asked):
            return False
        missing = [change.call for change in self._failure.to_add]
        if any(self._failure.refuses(self.asked, call) for call in missing):
            return False
        return any(
            agrees_to(self.reply, call)
            and means(self._exchange, call)
            and not other_ids(self._exchange, call)
            for call in missing
        )

    @property
    def _exchange(self) -> str:
        return f"{self.asked}\n{self.reply}"

    @property
    def _is_about_other_ids(self) -> bool:
        """True if the open question names other ids than the missing calls have."""
        missing = [change.call for change in self._failure.to_add]
        meant = [call for call in missing if means(self._exchange, call)] or missing
        return bool(meant) and all(other_ids(self._exchange, call) for call in meant)

    @cached_property
    def too_early(self) -> bool:
        """True if the user was asked something, or told to wait, and left without saying no."""
        if words.speaks_of_a_transfer(self.asked) or transferred_at(self._failure) is not None:
            return False
        if words.refusal(self.asked) or words.declines(self.reply):
            return False
        if self._is_about_other_ids:
            return False
        if any(self._failure.refusals_of(change.call) for change in self._failure.to_add):
            return False
        if OUT_OF_SCOPE in self.content:  # the token says that the task does not go on from here
            return False
        if words.requests(self.asked):
            return not words.says_goodbye(self.reply) or words.agrees(self.reply)
        return not self.reply and words.announces(self.asked)

    def evidence(self) -> Iterator[str]:
        last = len(self._failure.messages) - 1
        yield f"message {self._at}, the agent: {format_value(self.asked[-200:])}"
        yield f"message {last}, the user ends it: {format_value(self.content)}"
        for change in self._failure.to_add:
            yield f"still missing: {render_call(change.call)}"


def _is_asked_about_a_transfer(text: str) -> bool:
    asked = [each for each in words.sentences(text) if words.asks(each)]
    return any(words.speaks_of_a_transfer(each) for each in asked[-1:])


def _leave(failure: Failure) -> _Leave | None:
    """The user's leave, if nothing wrong was done and what is missing could still have followed."""
    ended_by_user = failure.subject.case.recording.termination_reason == "user_stop"
    if not failure.messages or not ended_by_user or not failure.nothing_wrong_done:
        return None
    last = failure.messages[-1]
    asked = next(iter(reversed(list(failure.said_by("assistant")))), None)
    if last["role"] != "user" or not is_user_stop(last) or asked is None:
        return None
    return None if _done_otherwise(failure) else _Leave(failure, last, asked)


def _done_otherwise(failure: Failure) -> bool:
    """Tell whether the agent already did the missing thing in another way."""
    worked = {i for i, _, answer in failure.writes if not is_error(answer)}
    return any(index in worked for index, _ in failure.attempts)


def stopped_before_the_action(failure: Failure) -> Label | None:
    """The user agreed and ended the conversation with that message."""
    leave = _leave(failure)
    if leave is None or not leave.confirmed:
        return None
    what = "stopped before the confirmed action"
    return Label("user", what, "stopped before the action", tuple(leave.evidence()))


def left_too_early(failure: Failure) -> Label | None:
    """The user was asked for something, or was to wait, and ended the conversation."""
    leave = _leave(failure)
    if leave is None or not leave.too_early:
        return None
    return Label("user", "left too early", "left too early", tuple(leave.evidence()))


def empty_turns(failure: Failure) -> Label | None:
    """The user said and did nothing when it was its turn."""
    empty = [
        index
        for index, message in enumerate(failure.messages)
        if message["role"] == "user" and not has_text(message) and not is_tool_call(message)
    ]
    if not empty:
        return None
    places = ", ".join(map(str, empty))
    return Label("user", "empty turns", "empty turns", (f"the user is silent in message {places}",))


def invented_facts(failure: Failure) -> Label | None:
    """A wrong value comes from the user, who had it neither from the task nor from anybody."""
    wrong = [(at.message_index, at.call) for at in failure.wrong_writers]
    missing = {change.call["name"] for change in failure.to_add}
    wrong += [
        (index, call)
        for index, call, answer in failure.writes
        if is_error(answer) and call["name"] in missing
    ]
    found = next(made_up(failure, wrong), None)
    return found and Label("user", "invented facts", "invented facts", found)


def made_up(failure: Failure, calls: list[tuple[int, Tau2ToolCall]]) -> Iterator[tuple[str, str]]:
    """Yield the values in some calls that the user brought up without having been given them."""
    wanted = {v for action in failure.gold for v in telling_values(action.arguments)}
    for index, call in sorted(calls, key=lambda each: each[0]):
        for value in telling_values(call["arguments"]):
            is_id = id_like(value) or (value.isupper() and len(value) > 4)
            if not is_id or any(value in each for each in wanted):
                continue
            source = _first_told_by_user(failure, value, index)
            if source is not None:
                yield (
                    f"message {source}: the user gives {value!r}, which the task does not have",
                    f"message {index}: the agent uses it",
                )


def _first_told_by_user(failure: Failure, value: str, before: int) -> int | None:
    """Return the message in which the user first gave a value that the task does not have."""
    if any(written in failure.scenario for written in spellings(value)):
        return None
    for index, message in enumerate(failure.messages[:before]):
        texts = [message.get("content") or ""]
        texts += [format_value(c["arguments"], 10_000) for c in tool_calls_of(message) or ()]
        if any(written in text.lower() for text in texts for written in spellings(value)):
            return index if message["role"] == "user" else None
    return None


def turned_the_right_value_down(failure: Failure) -> Label | None:
    """The user was offered the right value, and asked for one that the task does not have."""
    if failure.swap is None:
        return None
    for field in failure.explanation.wrong_fields:
        wanted, found = field.expected, field.found
        if not (isinstance(wanted, str) and isinstance(found, str)):
            continue
        if not _is_word(wanted) or not _is_word(found) or found in failure.scenario:
            continue
        for index, text in failure.said_by("user"):
            if mentions(text, found) and _turns_down(failure, index, text, wanted):
                evidence = (
                    f"{field.place} should be {wanted!r}",
                    f"message {index}: the user wants {found!r}, which the task does not have",
                )
                return Label("user", "invented facts", "turned the right value down", evidence)
    return None


def _is_word(value: str) -> bool:
    """Tell whether a value is an ordinary word, such as a colour, and not an id or a code."""
    return value.islower() and not id_like(value)


def _turns_down(failure: Failure, index: int, text: str, value: str) -> bool:
    """Tell whether the user rejects a value, or asks for something else after it was offered."""
    if _denies(text, value):
        return True
    offers = [offer for at, offer in failure.said_by("assistant") if at < index]
    return words.narrows(text) and any(mentions(offer, value) for offer in offers[-1:])


def _denies(text: str, value: str) -> bool:
    before = r"\b(?:not|n't|isn't|wasn't|instead of|rather than)\W+(?:\w+\W+){0,2}"
    return re.search(before + re.escape(value.lower()), words.plain(text).lower()) is not None


def never_asked(failure: Failure) -> Label | None:
    """The user ended it without a word about something that its task wants."""
    if not failure.to_add or not failure.nothing_wrong_done:
        return None
    for call in (change.call for change in failure.to_add):
        spoken = failure.offers_of(call) or next(failure.wishes_for(call), None) is not None
        spoken = spoken or failure.may_have_asked_for(call)
        if call["requestor"] == "user" or spoken or not failure.is_about(failure.scenario, call):
            return None
    if failure.subject.case.recording.termination_reason != "user_stop":
        return None
    evidence = tuple(f"never asked for: {render_call(each.call)}" for each in failure.to_add)
    return Label("user", "instructions not followed", "never asked", evidence)


def never_acted(failure: Failure) -> Label | None:
    """The user was asked again and again to do something, and never used one of its tools."""
    to_do = [change.call for change in failure.to_add if change.call["requestor"] == "user"]
    acted = any(message["role"] == "user" and is_tool_call(message) for message in failure.messages)
    asked = [index for index, text in failure.said_by("assistant") if words.requests(text)]
    if acted or not to_do or len(asked) < _OFTEN:
        return None
    evidence = (
        f"the agent asks in {len(asked)} messages, the user calls no tool",
        *(f"missing: {render_call(call)}" for call in to_do),
    )
    return Label("user", "never acted", "never acted", evidence)
