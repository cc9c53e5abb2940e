"""A conversation that continues a recorded one: its beginning is retold, and the rest is live.

The steps are those of every conversation. Until the recorded beginning is over, the side whose
turn it is takes the recorded message for its own answer, and the environment makes the recorded
calls again. So the world, the histories of both sides, the steps and the errors counted are what
they were.
"""

import hashlib
import json
from collections import deque
from collections.abc import Sequence
from typing import Any, cast

from maseval.benchmark.tau2.conversation.orchestrator import Orchestrator
from maseval.benchmark.tau2.conversation.participants import CanRecall
from maseval.benchmark.tau2.formats.message import (
    SpokenMessage,
    Tau2Message,
    Tau2ToolCall,
    ToolMessage,
    tool_calls_of,
)
from maseval.benchmark.tau2.world.world import ReplayError, same_content
from maseval.core.exceptions import ConfigurationError
from maseval.core.words import excerpt


def beginning_until(
    messages: Sequence[Tau2Message], at: int, *, ended: bool = True
) -> list[Tau2Message]:
    """Return the messages up to number ``at``, with the answers to its tool calls.

    A conversation that was not ``ended``, as by a failing provider, continues after its last one.
    """
    if not 0 <= at < len(messages):
        raise ConfigurationError(
            f"the conversation has no message {at}; they are numbered 0 to {len(messages) - 1}"
        )
    end = at + 1
    while end < len(messages) and messages[end]["role"] == "tool":
        end += 1
    if ended and end == len(messages):
        raise ConfigurationError(
            f"message {at} ends the conversation, so there is nothing to continue; choose an "
            "earlier one"
        )
    past = list(messages[:end])
    if missing := _unanswered_call(past):
        raise ConfigurationError(
            f"message {missing} calls tools, and not all calls are answered; choose an earlier one"
        )
    return past


def _unanswered_call(past: Sequence[Tau2Message]) -> int | None:
    speaking = [index for index, each in enumerate(past) if each["role"] != "tool"]
    if not speaking:
        return None
    last = speaking[-1]
    calls = tool_calls_of(past[last]) or ()
    return last if len(calls) > len(past) - 1 - last else None


def checksum(past: Sequence[Tau2Message]) -> str:
    """Return a hash that is equal for equal messages, whatever the order of their keys."""
    text = json.dumps(list(past), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class Continuation(Orchestrator):
    """A conversation whose first messages are those of ``past``.

    A tool's answer that is not the recorded one is an error.
    """

    def __init__(self, *args: Any, past: Sequence[Tau2Message], **limits: Any) -> None:
        super().__init__(*args, **limits)
        # The environment has played the task's own history already.
        own = len(self.trajectory.messages)
        _check_own_history(self.trajectory.messages, past)
        self._left = deque(past[own:])
        self._is_retold = False
        self._place = own
        self.trajectory.retold = len(past)

    def initialize(self) -> None:
        super().initialize()
        while (turn := self.next_turn()) is not None and self._left:
            message = self._next("assistant" if turn.side is self.agent else "user")
            if not isinstance(turn.side, CanRecall):
                raise ConfigurationError(
                    f"{type(turn.side).__name__} cannot be given the beginning of a conversation: "
                    "it has no recall(incoming, message)"
                )
            turn.side.recall(turn.incoming, message)
            self.take(message)
        if self._left:
            raise ConfigurationError(
                f"the conversation is over at message {self._place - 1}; choose an earlier one"
            )
        self._is_retold = True

    def _check_limits(self) -> None:
        # The retold part is as it was, whatever the limits of this run: they begin to hold after
        # it.
        if self._is_retold:
            super()._check_limits()

    def _greeting(self) -> SpokenMessage:
        return self._next("assistant") if self._left else super()._greeting()

    def _next(self, role: str) -> SpokenMessage:
        message = self._left[0]
        if message["role"] != role:
            raise ConfigurationError(
                f"message {self._place} is by {message['role']!r}, but it is the turn of {role!r}; "
                "the recorded conversation is not one that this loop could have held"
            )
        self._forward()
        return cast(SpokenMessage, message)

    def _forward(self) -> Tau2Message:
        self._place += 1
        return self._left.popleft()

    def _answers(self, calls: Sequence[Tau2ToolCall]) -> list[ToolMessage]:
        if not self._left:
            return super()._answers(calls)
        return [self._answer(call) for call in calls]

    def _answer(self, call: Tau2ToolCall) -> ToolMessage:
        found, place = self.environment.respond(call), self._place
        recorded = self._forward() if self._left else None
        if recorded is None or recorded["role"] != "tool" or recorded.get("id", "") != call["id"]:
            raise ConfigurationError(
                f"message {place} is not the answer to the call {call['id']!r}"
            )
        if _is_same_answer(found, recorded):
            return recorded
        now, then = (excerpt(repr(each.get("content"))) for each in (found, recorded))
        raise ConfigurationError(
            f"message {place}: {call['name']} answers {now}, but {then} is recorded; choose an "
            "earlier message (--at)"
        )


def check_turn_of_framework(past: Sequence[Tau2Message]) -> None:
    """Raise if the agent of a framework would have to continue in the midst of its own turn."""
    last = past[-1]
    if last["role"] == "tool" and last.get("requestor", "assistant") == "assistant":
        raise ConfigurationError(
            f"message {len(past) - 1} is in the middle of the agent's turn, where only the "
            "reference agent and scripted agents can take over; choose one that somebody says"
        )


def _check_own_history(own: Sequence[Tau2Message], past: Sequence[Tau2Message]) -> None:
    if len(past) < len(own):
        raise ConfigurationError(
            f"the first {len(own)} messages are the task's own; choose message {len(own) - 1} or "
            "a later one"
        )
    for index, (mine, theirs) in enumerate(zip(own, past, strict=False)):
        if mine["role"] != theirs["role"] or mine.get("content") != theirs.get("content"):
            raise ConfigurationError(f"message {index} is not that of the task's own history")


def _is_same_answer(found: ToolMessage, recorded: Tau2Message) -> bool:
    try:
        return same_content(found.get("content"), recorded.get("content"))
    except (TypeError, ValueError, RecursionError, ReplayError):  # no readable text
        return False
