"""Conversations in the original's form, a list of rows for each participant, and as judges read it.

A message between two stands in both lists. The judge reads the primary agent's list as the history
of the conversation, and the actions and observations of all other agents as invocations. Of a
conversation that was not recorded in this form, messages and tool invocations of the traces are
written in the same way.

After ``src/`` of multiagent-collab-scenario-benchmark (Amazon.com, Inc. or its affiliates; MIT-0).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from maseval.core.recorded import (
    Part,
    Recorded,
    RecordedMessage,
    RecordedTrace,
    Shape,
    anything,
    dict_of,
    list_of,
    mapping,
)
from maseval.core.tracing import JsonObject
from maseval.core.words import text

ACTION, OBSERVATION = "Action", "Observation"

_EMPTY = {"content": None, "actions": None, "observation": None}
Trajectories = Mapping[str, Sequence[JsonObject]]
"""The rows of each participant: a message, an action or an observation.

Each has ``role``, ``source``, ``destination``, ``content``, ``actions`` and ``observation``. An
action is the call of a simulated tool: its ``tool_name``, an ``action_name`` that is always None,
and ``parameters`` with the ``mock_fn_input``, name and parameters of the tool once more.
"""


class TrajectoryLog:
    """Writes the rows of a live conversation as things happen."""

    def __init__(self, human_id: str = "User") -> None:
        self.human_id = human_id
        self.rows: dict[str, list[JsonObject]] = {}

    def message(self, source: str, destination: str, content: str) -> None:
        # In the original only the human's messages have a role; those of agents have none.
        role = self.human_id if source == self.human_id else None
        # What is said stands in the rows of both, as each has a view of its own.
        for participant in (source, destination):
            self._add(participant, source, destination, role, content=content)

    def call(self, agent: str, tool_name: str, arguments: Mapping[str, object]) -> None:
        called = {"tool_name": tool_name, "tool_parameters": dict(arguments)}
        action = {
            "tool_name": tool_name,
            "action_name": None,
            "parameters": {"mock_fn_input": called},
        }
        self._add(agent, agent, agent, ACTION, actions=[action])

    def observation(self, agent: str, text: str) -> None:
        self._add(agent, agent, agent, OBSERVATION, observation=text)

    def _add(
        self, participant: str, source: str, destination: str, role: str | None, **more: object
    ) -> None:
        row = {"role": role, "source": source, "destination": destination, **_EMPTY, **more}
        self.rows.setdefault(participant, []).append(row)


def history_in(trajectories: Trajectories, primary: str) -> str:
    """Return all rows of the primary agent, one line each."""
    return "\n".join(
        # A row without content is written as None, which the judge of the original reads too.
        f"[{row['source']} -> {row['destination']}]: {row['content']}"
        for row in trajectories[primary]
    )


def invocations_in(trajectories: Trajectories, primary: str, human: str) -> str:
    """Actions and observations of the other agents; each of their messages is an empty line."""
    return "\n".join(
        _invocation(row)
        for participant, rows in trajectories.items()
        # The primary agent's own calls are left out even if it has tools, as in the original.
        if participant not in (primary, human)
        for row in rows
    )


def _invocation(row: JsonObject) -> str:
    match row["role"]:
        # The names are literals here, because a bare name in a pattern would match anything.
        case "Action":
            if (actions := row["actions"]) is None:
                raise TypeError(f"a row of {row['source']!r} is an Action whose actions are null")
            called = [each["parameters"]["mock_fn_input"] for each in actions]
            text = "\n".join(action_line(row["source"], each) for each in called)
        case "Observation":
            text = observation_line(row["source"], row["observation"])
        case _:
            text = ""
    return text.rstrip("\n")


def action_line(agent: str, called: Shape) -> str:
    return f"[{agent} {ACTION}]: {called}"


def observation_line(agent: str, text: object) -> str:
    return f"[{agent} {OBSERVATION}]: {text}"


class _Invocation(Recorded):
    timestamp = Part(lambda value: str(value or ""))
    inputs = Part(mapping)
    outputs = Part(anything)


class _ToolTrace(Recorded):
    owners = Part(list_of(str))
    invocations = Part(list_of(_Invocation))


_tool_traces = dict_of(_ToolTrace)


class MACSTraces(Recorded):
    """The traces of a repetition; ``trajectories`` if it was recorded in the original's form."""

    trajectories = Part(mapping, "environment", "trajectories")
    agents = Part(dict_of(RecordedTrace))
    user = Part(RecordedTrace)
    tools = Part(_tool_traces)


NO_INVOCATIONS = "No tool invocations recorded"


def history_of(messages: object, primary: str, human: str) -> str:
    """Return the conversation of user and primary agent, one line for each message."""
    directions = {"user": f"[{human} -> {primary}]", "assistant": f"[{primary} -> {human}]"}
    spoken = map(RecordedMessage, messages if isinstance(messages, Iterable) else ())
    lines = ((directions.get(each.role or ""), _text_of(each.content)) for each in spoken)
    return "\n".join(f"{direction}: {said}" for direction, said in lines if direction and said)


def invocations_of(tool_traces: object) -> str:
    """Return the arguments and answers of every call of a tool, two lines for each."""
    lines = (
        line
        for owner, called, answer in _calls(_tool_traces(tool_traces))
        for line in (action_line(owner, called), observation_line(owner, answer))
    )
    return "\n".join(lines) or NO_INVOCATIONS


def trajectories_of(report: Shape) -> Trajectories:
    """Return a finished conversation in the original's form, built from traces if need be."""
    traces = MACSTraces(report.get("traces"))
    if traces.trajectories:
        return cast(Trajectories, traces.trajectories)
    log = TrajectoryLog()
    primary = next(iter(traces.agents), "Agent")
    sides = {"user": (log.human_id, primary), "assistant": (primary, log.human_id)}
    for message in traces.user.messages:
        if side := sides.get(message.role or ""):
            log.message(*side, _text_of(message.content))
    for owner, called, answer in _calls(traces.tools):
        log.call(owner, called["tool_name"], called["tool_parameters"])
        log.observation(owner, text(answer))
    return log.rows


def _text_of(content: object) -> str:
    if isinstance(content, list):
        parts = (part if isinstance(part, str) else mapping(part).get("text") for part in content)
        return " ".join(str(part) for part in parts if part)
    return "" if content is None else text(content)


def _calls(tools: Mapping[str, _ToolTrace]) -> Iterator[tuple[str, JsonObject, object]]:
    calls = [(name, call) for name, trace in tools.items() for call in trace.invocations]
    # Each tool keeps its own list; the times restore the order of all calls.
    for name, call in sorted(calls, key=lambda each: each[1].timestamp):
        # The only agent that has the tool, or else the tool itself.
        owner = owners[0] if len(owners := tools[name].owners) == 1 else name
        yield owner, {"tool_name": name, "tool_parameters": dict(call.inputs)}, call.outputs
