"""What a judge reads of a conversation that was not recorded in the original's form.

Messages and tool invocations of the traces, written as the original writes its rows.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from maseval.benchmark.macs.trajectories import (
    MockInput,
    Trajectories,
    TrajectoryLog,
    action_line,
    observation_line,
)
from maseval.core.shapes import Shape, entries, mapping, text

NO_INVOCATIONS = "No tool invocations recorded"


def history_of(messages: object, primary: str, human: str) -> str:
    """What user and primary agent said to each other, one line for each message."""
    directions = {"user": f"[{human} -> {primary}]", "assistant": f"[{primary} -> {human}]"}
    spoken = [mapping(message) for message in messages] if isinstance(messages, Iterable) else []
    lines = (
        (directions.get(str(message.get("role"))), _text_of(message.get("content")))
        for message in spoken
    )
    return "\n".join(f"{direction}: {said}" for direction, said in lines if direction and said)


def invocations_of(tool_traces: object) -> str:
    """What every tool was called with and answered."""
    lines = (
        line
        for owner, called, answer in _calls(tool_traces)
        for line in (action_line(owner, called), observation_line(owner, answer))
    )
    return "\n".join(lines) or NO_INVOCATIONS


def trajectories_of(report: Shape) -> Trajectories:
    """A finished conversation in the original's form, put together if it was not recorded so."""
    traces = mapping(report, "traces")
    recorded = mapping(traces, "environment", "trajectories")
    if recorded:
        return cast(Trajectories, recorded)
    log = TrajectoryLog()
    primary = next(iter(mapping(traces, "agents")), "Agent")
    sides = {"user": (log.human_id, primary), "assistant": (primary, log.human_id)}
    for message in (mapping(each) for each in entries(mapping(traces, "user").get("messages"))):
        if side := sides.get(str(message.get("role"))):
            log.message(*side, _text_of(message.get("content")))
    for owner, called, answer in _calls(traces.get("tools")):
        log.call(owner, called["tool_name"], called["tool_parameters"])
        log.observation(owner, text(answer))
    return log.rows


def _text_of(content: object) -> str:
    """The text of a message; of a list of parts, the texts among them."""
    if isinstance(content, list):
        parts = (part if isinstance(part, str) else mapping(part).get("text") for part in content)
        return " ".join(str(part) for part in parts if part)
    return "" if content is None else text(content)


def _calls(tool_traces: object) -> Iterator[tuple[str, MockInput, object]]:
    """Every call of every tool in the order of time: whose tool, the call, and the answer."""
    calls = [
        (str(mapping(call).get("timestamp") or ""), name, owner, mapping(call))
        for name, trace in mapping(tool_traces).items()
        for owner in [_owner(name, mapping(trace))]
        for call in entries(mapping(trace).get("invocations"))
    ]
    for _, name, owner, call in sorted(calls, key=lambda each: each[0]):
        arguments = call.get("inputs")
        called: MockInput = {
            "tool_name": name,
            "tool_parameters": dict(arguments) if isinstance(arguments, Mapping) else {},
        }
        yield owner, called, call.get("outputs")


def _owner(name: str, trace: Shape) -> str:
    """The one agent that has the tool; its own name if there are several or none is known."""
    owners = entries(trace.get("owners"))
    return str(owners[0]) if len(owners) == 1 else name
