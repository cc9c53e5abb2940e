"""The one ordered list of a simulation's messages, written as things happen.

Evaluation, traces, export and viewing all read this list. Who writes it does not matter: the
reference agent, or an agent of any framework that calls the environment's tools.

After tau2-bench v0.2.0, src/tau2/data_model/simulation.py (MIT, Sierra Research).
"""

import copy
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, cast
from uuid import uuid4

from maseval.benchmark.tau2.formats.message import (
    Requestor,
    Tau2Message,
    Tau2ToolCall,
    ToolMessage,
    complete,
    tool_calls_of,
)
from maseval.benchmark.tau2.formats.simulation import RewardInfo
from maseval.benchmark.tau2.world.state.copying import copy_value
from maseval.core.tracing import TraceableMixin, now


class Trajectory:
    """The messages so far, the number of steps, and the reason for the end.

    A step is one message of the agent or the user, or one round in which the environment answers
    all calls of a message. What is there at the beginning (a greeting, a task's own history) does
    not count.
    """

    def __init__(self, opening: Sequence[Tau2Message] = ()) -> None:
        self.messages: list[Tau2Message] = _with_dates(opening)
        self.steps = 0
        self.termination_reason: str | None = None
        self.start_time = now()
        self.end_time: str | None = None
        self._began = time.perf_counter()
        self._calls = 0
        self.retold = 0
        """The number of messages that are from an earlier conversation and keep their times."""
        self._recorded: list[Tau2Message] = []

    def twin(self) -> "Trajectory":
        """Return a trajectory that is the same so far, and independent from now on."""
        twin = copy.copy(self)
        # A message is never changed once it stands here, so that both trajectories may share it.
        twin.messages, twin._recorded = list(self.messages), list(self._recorded)
        return twin

    @cached_property
    def id(self) -> str:
        """The id of the simulation, which is made up."""
        return str(uuid4())

    def add(self, message: Tau2Message, agent: str | None = None) -> None:
        """Append a message of the user, or of the agent that is named."""
        if agent is not None and len(self.messages) >= self.retold:
            message = cast(Tau2Message, {**message, "agent": agent})
        self.append(message)
        self.steps += 1

    def add_answers(self, answers: Sequence[ToolMessage]) -> None:
        """Append the environment's answers to all calls of the last message."""
        for answer in answers:
            self.append(answer)
        self.steps += 1

    def append(self, message: Tau2Message) -> None:
        """Append a message that does not count as a step."""
        # The original sorts by time, so a clock that was set back must not reorder anything.
        last = self.messages[-1]["timestamp"] if self.messages else None
        dated = message.copy()
        # A retold message keeps its time, and its ids must not be given again.
        if len(self.messages) < self.retold:
            self.messages.append(dated)
            self._count_calls(dated)
            return
        dated["timestamp"] = max(now(), last or "")
        self.messages.append(dated)

    def numbered_messages(self) -> list[Tau2Message]:
        """Return numbered messages for a record; all records of a trajectory share the copies."""
        for index in range(len(self._recorded), len(self.messages)):
            # A copy that shares nothing with the original; texts and numbers need no copying.
            own: dict[str, object] = {
                key: copy_value(value, {}) if isinstance(value, (dict, list)) else value
                for key, value in self.messages[index].items()
            }
            self._recorded.append(cast(Tau2Message, {**own, "turn_idx": index}))
        return list(self._recorded)

    def next_call_id(self) -> str:
        """Return an id for a call whose caller gave none; it is the same in every equal run."""
        self._calls += 1
        return f"call_{self._calls}"

    def _count_calls(self, message: Tau2Message) -> None:
        """Skip the ids that ``next_call_id`` gave in an earlier conversation."""
        for call in tool_calls_of(message) or ():
            self._calls += call.get("id") == f"call_{self._calls + 1}"

    def end(self, reason: str) -> None:
        self.termination_reason = reason
        self.end_time = now()
        self.duration = time.perf_counter() - self._began

    duration: float = 0.0

    def to_simulation(
        self,
        *,
        task_id: str | None = None,
        seed: int | None = None,
        reward_info: RewardInfo | None = None,
    ) -> dict[str, object]:
        """Return the simulation in v0.2.0's form, as far as it is known and finished."""
        messages = self.numbered_messages()
        end_time = self.end_time or now()
        return {
            "id": self.id,
            "task_id": task_id,
            "timestamp": end_time,
            "start_time": self.start_time,
            "end_time": end_time,
            "duration": self.duration or time.perf_counter() - self._began,
            "termination_reason": self.termination_reason,
            "agent_cost": cost_of(messages, "assistant"),
            "user_cost": cost_of(messages, "user"),
            "reward_info": reward_info,
            "messages": messages,
            "trial": None,
            "seed": seed,
        }


def cost_of(messages: Sequence[Tau2Message], side: Requestor) -> float | None:
    """Return the cost of one side's messages; None if the cost of any message is unknown."""
    total = 0.0
    for message in messages:  # one after the other: a better sum would have another last digit
        if message["role"] == "assistant" or message["role"] == "user":
            cost = message.get("cost")
            if cost is None:
                return None
            total += cost if message["role"] == side else 0.0
    return total


def _with_dates(history: Sequence[Tau2Message]) -> list[Tau2Message]:
    """Return a task's own history as if it had just been said, a second apart."""
    if not history:
        return []
    # All of it lies in the past, so that whatever is said next stands after it.
    first = datetime.now() - timedelta(seconds=len(history))
    messages = [copy.deepcopy(complete(message)) for message in history]
    for index, message in enumerate(messages):
        message["turn_idx"] = None
        message["timestamp"] = (first + timedelta(seconds=index)).isoformat()
    return messages


class ToolInvocations(TraceableMixin):
    """The calls of one tool: a view on the trajectory, which stores none of them again."""

    def __init__(self, trajectory: Trajectory, name: str) -> None:
        self._trajectory = trajectory
        self.name = name

    def gather_traces(self) -> dict[str, Any]:
        invocations = [
            _invocation(call, answer)
            for call, answer in answered_calls(self._trajectory.numbered_messages())
            if call["name"] == self.name
        ]
        return {
            **super().gather_traces(),
            "invocations": invocations,
            "total_invocations": len(invocations),
        }


def called_tools(trajectory: Trajectory) -> list[str]:
    """Return the names of the tools that were called, in the order of their first calls."""
    return list(dict.fromkeys(call["name"] for call, _ in answered_calls(trajectory.messages)))


def answered_calls(messages: list[Tau2Message]) -> Iterator[tuple[Tau2ToolCall, ToolMessage]]:
    """Yield every call with the environment's answer, in the order of the answers."""
    waiting: list[Tau2ToolCall] = []
    for message in messages:
        waiting.extend(tool_calls_of(message) or ())
        if message["role"] == "tool" and waiting:
            yield waiting.pop(0), message


def _invocation(call: Tau2ToolCall, answer: ToolMessage) -> Mapping[str, object]:
    return {
        "id": call.get("id", ""),
        "inputs": call["arguments"],
        "outputs": answer.get("content"),
        "status": "error" if answer.get("error") else "success",
        "timestamp": answer.get("timestamp"),
        "requestor": call.get("requestor", "assistant"),
    }
