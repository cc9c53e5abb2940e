"""Who said and did what, in the original's form: one list of rows for each participant.

A message between two stands in both lists. The judge reads the primary agent's list as the history
of the conversation, and the actions and observations of all other agents as invocations.

After ``src/`` of multiagent-collab-scenario-benchmark (Amazon.com, Inc. or its affiliates; MIT-0).
"""

from collections.abc import Mapping, Sequence
from typing import TypedDict

ACTION, OBSERVATION = "Action", "Observation"


class MockInput(TypedDict):
    """The call of a simulated tool."""

    tool_name: str
    tool_parameters: Mapping[str, object]


class ActionParameters(TypedDict):
    mock_fn_input: MockInput


class TrajectoryAction(TypedDict):
    """One call of a tool; ``action_name`` is always None."""

    tool_name: str
    action_name: str | None
    parameters: ActionParameters


class TrajectoryRow(TypedDict):
    """A message, an action or an observation."""

    role: str | None
    source: str
    destination: str
    content: str | None
    actions: list[TrajectoryAction] | None
    observation: object


Trajectories = dict[str, list[TrajectoryRow]]


class TrajectoryLog:
    """Writes the rows of a live conversation as things happen."""

    def __init__(self, human_id: str = "User") -> None:
        self.human_id = human_id
        self.rows: Trajectories = {}

    def message(self, source: str, destination: str, content: str) -> None:
        """Somebody says something to somebody else."""
        role = self.human_id if source == self.human_id else None
        for participant in (source, destination):
            self._add(participant, source, destination, role=role, content=content)

    def call(self, agent: str, tool_name: str, arguments: Mapping[str, object]) -> None:
        """An agent calls a tool."""
        called: MockInput = {"tool_name": tool_name, "tool_parameters": dict(arguments)}
        action: TrajectoryAction = {
            "tool_name": tool_name,
            "action_name": None,
            "parameters": {"mock_fn_input": called},
        }
        self._add(agent, agent, agent, role=ACTION, actions=[action])

    def observation(self, agent: str, text: str) -> None:
        """A tool answers an agent."""
        self._add(agent, agent, agent, role=OBSERVATION, observation=text)

    def _add(
        self,
        participant: str,
        source: str,
        destination: str,
        *,
        role: str | None,
        content: str | None = None,
        actions: list[TrajectoryAction] | None = None,
        observation: str | None = None,
    ) -> None:
        row: TrajectoryRow = {
            "role": role,
            "source": source,
            "destination": destination,
            "content": content,
            "actions": actions,
            "observation": observation,
        }
        self.rows.setdefault(participant, []).append(row)


def history_in(trajectories: Mapping[str, Sequence[TrajectoryRow]], primary: str) -> str:
    """All rows of the primary agent, one line each."""
    return "\n".join(
        f"[{row['source']} -> {row['destination']}]: {row['content']}"
        for row in trajectories[primary]
    )


def invocations_in(
    trajectories: Mapping[str, Sequence[TrajectoryRow]], primary: str, human: str
) -> str:
    """Actions and observations of the other agents; each of their messages is an empty line."""
    return "\n".join(
        _invocation(row)
        for participant, rows in trajectories.items()
        if participant not in (primary, human)
        for row in rows
    )


def _invocation(row: TrajectoryRow) -> str:
    match row["role"]:
        case "Action":
            called = [each["parameters"]["mock_fn_input"] for each in row["actions"] or []]
            text = "\n".join(action_line(row["source"], each) for each in called)
        case "Observation":
            text = observation_line(row["source"], row["observation"])
        case _:
            text = ""
    return text.rstrip("\n")


def action_line(agent: str, called: MockInput) -> str:
    return f"[{agent} {ACTION}]: {called}"


def observation_line(agent: str, text: object) -> str:
    return f"[{agent} {OBSERVATION}]: {text}"
