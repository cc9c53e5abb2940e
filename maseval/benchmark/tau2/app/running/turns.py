"""Whose turn it is in a running simulation, and what was said last."""

from datetime import datetime

from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import tool_calls_of
from maseval.core.context import Said
from maseval.core.shapes import text


def turn_in(environment: Tau2Environment) -> tuple[str, float]:
    """Whose turn it is, and for how long, from the last message of the conversation."""
    trajectory = environment.trajectory
    if not trajectory.messages:
        return "agent", _seconds_since(trajectory.start_time)
    last = trajectory.messages[-1]
    seconds = _seconds_since(last["timestamp"] or trajectory.start_time)
    if trajectory.termination_reason is not None:
        return "evaluation", seconds
    if tool_calls_of(last):
        return "tools", seconds
    # A tool's answer goes to the side that asked, a text to the other side.
    if last["role"] == "tool":
        return ("user" if last.get("requestor") == "user" else "agent"), seconds
    return ("agent" if last["role"] == "user" else "user"), seconds


def last_said_in(environment: Tau2Environment) -> Said | None:
    """The last message of the conversation: its text, or the tools that it calls."""
    messages = environment.trajectory.messages
    if not messages:
        return None
    last = messages[-1]
    calls = (f"{call['name']}({text(call['arguments'])})" for call in tool_calls_of(last) or ())
    return Said(last["role"], last.get("content") or ", ".join(calls), len(messages))


def _seconds_since(timestamp: str) -> float:
    return max(0.0, (datetime.now() - datetime.fromisoformat(timestamp)).total_seconds())
