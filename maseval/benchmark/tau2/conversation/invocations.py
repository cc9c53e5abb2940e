"""What each tool of a simulation was called with and what it returned, for the traces."""

from collections.abc import Iterator, Mapping
from typing import Any

from maseval.benchmark.tau2.conversation.messages import tool_calls_of
from maseval.benchmark.tau2.conversation.trajectory import Trajectory
from maseval.benchmark.tau2.formats.message import Tau2Message, Tau2ToolCall, ToolMessage
from maseval.core.tracing import TraceableMixin


class ToolInvocations(TraceableMixin):
    """The calls of one tool: a view on the trajectory, which stores none of them again."""

    def __init__(self, trajectory: Trajectory, name: str) -> None:
        self._trajectory = trajectory
        self.name = name

    def gather_traces(self) -> dict[str, Any]:
        invocations = [
            _invocation(call, answer)
            for call, answer in answered_calls(self._trajectory.recorded())
            if call["name"] == self.name
        ]
        return {
            **super().gather_traces(),
            "invocations": invocations,
            "total_invocations": len(invocations),
        }


def called_tools(trajectory: Trajectory) -> list[str]:
    """The names of the tools that were called, in the order of their first calls."""
    return list(dict.fromkeys(call["name"] for call, _ in answered_calls(trajectory.messages)))


def answered_calls(messages: list[Tau2Message]) -> Iterator[tuple[Tau2ToolCall, ToolMessage]]:
    """Every call with the environment's answer, in the order in which they were answered."""
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
