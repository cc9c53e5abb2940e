"""The user leaves while something is open: it agreed, was being asked, or was to wait."""

from collections.abc import Iterator
from functools import cached_property

from maseval.benchmark.tau2.explain.text import shown, shown_call
from maseval.benchmark.tau2.formats.message import (
    OUT_OF_SCOPE,
    STOP,
    Tau2Message,
    is_user_stop,
    spoken_text,
    tool_calls_of,
)
from maseval.benchmark.tau2.labels import words
from maseval.benchmark.tau2.labels.failure import Failure, Label, LabelRule, is_error
from maseval.benchmark.tau2.labels.topics import means, other_ids

TRANSFER_TOOL = "transfer_to_human_agents"


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
        """Whether it was asked to confirm something missing, and did, or said nothing at all."""
        if STOP not in self.content or not words.asks(self.asked):
            return False
        if self.reply and not words.agrees(self.reply):
            return False
        missing = [change.call for change in self._failure.to_add]
        return not self._is_about_other_ids and any(means(self._exchange, c) for c in missing)

    @property
    def _exchange(self) -> str:
        return f"{self.asked}\n{self.reply}"

    @property
    def _is_about_other_ids(self) -> bool:
        """Whether what was open is another action than the missing one, by the ids it names."""
        return any(other_ids(self._exchange, change.call) for change in self._failure.to_add)

    @cached_property
    def too_early(self) -> bool:
        """Whether it was asked for something, or was to wait, and left without saying no."""
        if words.speaks_of_a_transfer(self.asked) or transferred_at(self._failure) is not None:
            return False
        if words.refusal(self.asked) or words.declines(self.reply):
            return False
        if self._is_about_other_ids:
            return False
        if OUT_OF_SCOPE in self.content:  # the token says that the task does not go on from here
            return False
        if words.requests(self.asked):
            return not words.says_goodbye(self.reply) or words.agrees(self.reply)
        return not self.reply and words.announces(self.asked)

    def evidence(self) -> Iterator[str]:
        last = len(self._failure.messages) - 1
        yield f"message {self._at}, the agent: {shown(self.asked[-200:])}"
        yield f"message {last}, the user ends it: {shown(self.content)}"
        for change in self._failure.to_add:
            yield f"still missing: {shown_call(change.call)}"


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
    """Whether the agent has already done, in another way, what is missing."""
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


LEAVING_RULES: tuple[LabelRule, ...] = (stopped_before_the_action, left_too_early)
