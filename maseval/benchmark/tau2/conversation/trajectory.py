"""The one ordered list of a simulation's messages, written as things happen.

Evaluation, traces, export and viewing all read this list. Who writes it does not matter: the
reference agent, or an agent of any framework that calls the environment's tools.
"""

import copy
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from maseval.benchmark.tau2.conversation.messages import Message, ToolMessage, complete
from maseval.core.tracing import now


class Trajectory:
    """What was said and done so far, how many steps that took, and why it ended.

    A step is one message of the agent or the user, or one round in which the environment answers
    all calls of a message. What was there at the beginning (a greeting, a task's own history) is
    free.
    """

    def __init__(self, opening: Sequence[Message] = ()) -> None:
        self.messages: list[Message] = _dated(opening)
        self.steps = 0
        self.termination_reason: str | None = None
        self.id = str(uuid4())
        self.start_time = now()
        self.end_time: str | None = None
        self._began = time.perf_counter()
        self._calls = 0

    def open_with(self, message: Message) -> None:
        """Put a message there that costs no step."""
        self._append(message)

    def add(self, message: Message) -> None:
        """One message of the agent or the user."""
        self._append(message)
        self.steps += 1

    def add_answers(self, answers: Sequence[ToolMessage]) -> None:
        """What the environment answered to all calls of the last message."""
        for answer in answers:
            self._append({**answer})
        self.steps += 1

    def _append(self, message: Message) -> None:
        # The original sorts by time, so a clock that was set back must not reorder anything.
        last = self.messages[-1]["timestamp"] if self.messages else ""
        self.messages.append({**message, "timestamp": max(now(), last)})

    def next_call_id(self) -> str:
        """An id for a call whose caller gave none; the same in every equal run."""
        self._calls += 1
        return f"call_{self._calls}"

    def end(self, reason: str) -> None:
        """Say why it is over."""
        self.termination_reason = reason
        self.end_time = now()
        self.duration = time.perf_counter() - self._began

    duration: float = 0.0

    def to_simulation(self, **known: Any) -> dict[str, Any]:
        """The simulation in v0.2.0's form; ``known`` adds task, trial, seed and reward."""
        messages = [
            {**_own(message), "turn_idx": index} for index, message in enumerate(self.messages)
        ]
        end_time = self.end_time or now()
        return {
            "id": self.id,
            "task_id": known.get("task_id"),
            "timestamp": end_time,
            "start_time": self.start_time,
            "end_time": end_time,
            "duration": self.duration or time.perf_counter() - self._began,
            "termination_reason": self.termination_reason,
            "agent_cost": cost_of(messages, "assistant"),
            "user_cost": cost_of(messages, "user"),
            "reward_info": known.get("reward_info"),
            "messages": messages,
            "trial": known.get("trial"),
            "seed": known.get("seed"),
        }


def _own(message: Message) -> Message:
    """A copy that shares nothing; texts and numbers need no copying."""
    return {
        key: copy.deepcopy(value) if isinstance(value, dict | list) else value
        for key, value in message.items()
    }


def cost_of(messages: Sequence[Mapping[str, Any]], role: str) -> float | None:
    """What one side's messages cost; None if the cost of any message is unknown."""
    spoken = [message for message in messages if message["role"] in ("assistant", "user")]
    if any(message.get("cost") is None for message in spoken):
        return None
    total = 0.0
    for message in spoken:  # one after the other: a better sum would have another last digit
        total += message["cost"] if message["role"] == role else 0.0
    return total


def _dated(history: Sequence[Message]) -> list[Message]:
    """A task's own history as if it had just been said, a second apart."""
    first = datetime.now() - timedelta(seconds=len(history))
    return [
        {
            **copy.deepcopy(complete(message)),
            "turn_idx": None,
            "timestamp": (first + timedelta(seconds=index)).isoformat(),
        }
        for index, message in enumerate(history)
    ]
