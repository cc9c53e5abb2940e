"""The formats of the original's files, and their conversion into tasks and agent configurations.

The files are data of somebody else: any key may be missing, so every format is partial. The
original keeps whole tools inside every agent; a task gets each group of tools once, and an agent
only the names of its groups.
"""

from collections.abc import Iterable, Mapping
from typing import TypedDict, cast

from maseval.core.exceptions import ConfigurationError
from maseval.core.recorded import Shape, entries, mapping
from maseval.core.tracing import JsonObject

ActionSchema = Mapping[str, object]
"""A JSON schema that says ``data_type`` where the standard says ``type``."""


class ActionSpec(TypedDict, total=False):
    """One thing that can be done with a group of tools."""

    name: str
    description: str
    input_schema: ActionSchema
    output_schema: ActionSchema


class ReachableAgent(TypedDict, total=False):
    """Another agent, and when to call it."""

    agent_id: str
    scenario: str


class AgentSpec(TypedDict, total=False):
    """One agent; ``tools`` are names of groups."""

    agent_id: str
    agent_name: str
    agent_instruction: str
    tools: list[str]
    reachable_agents: list[ReachableAgent]


class AgentConfig(TypedDict, total=False):
    """All agents of a domain, which of them talks to the user, and what the user is called."""

    agents: list[AgentSpec]
    primary_agent_id: str
    human_id: str


class Scenario(TypedDict, total=False):
    """The wishes of a simulated user, their first message, and the assertions that are judged."""

    scenario: str
    input_problem: str
    assertions: list[str]


_TASK_KEYS = ("input_problem", "query", "assertions")


def tasks_of(scenarios: object, agents: object, labels: Shape) -> list[JsonObject]:
    """Return the tasks of a domain as dicts; ``labels`` are added to the metadata of each."""
    described = mapping(agents)
    surroundings = {
        "tools": unique_groups(_objects(agents, "agents")),
        **{key: described[key] for key in ("primary_agent_id", "human_id") if key in described},
    }
    return [
        _task(index, scenario, surroundings, labels)
        for index, scenario in enumerate(_objects(scenarios, "scenarios"))
    ]


def scenarios_in(document: object) -> list[Scenario]:
    """Return the scenarios of a file."""
    return [cast(Scenario, scenario) for scenario in _objects(document, "scenarios")]


def _task(index: int, scenario: Shape, surroundings: JsonObject, labels: Shape) -> JsonObject:
    rest = {key: value for key, value in scenario.items() if key not in _TASK_KEYS}
    return {
        "id": f"task-{index + 1:06d}",
        "query": scenario.get("input_problem") or scenario.get("query") or "",
        "environment_data": dict(surroundings),
        "evaluation_data": {"assertions": scenario.get("assertions") or []},
        "user_data": {},
        "metadata": {**rest, "scenario_index": index, **labels},
    }


def agent_config_of(agents: object) -> AgentConfig:
    """Return every agent with the names of its groups; nothing for what is no object."""
    if not isinstance(agents, Mapping):
        return {}
    named = [
        {**agent, "tools": [name for group in _groups(agent) if (name := _name(group))]}
        for agent in _objects(agents, "agents")
    ]
    ids = {key: agents[key] for key in ("primary_agent_id", "human_id") if key in agents}
    return cast(AgentConfig, {"agents": named, **ids})


def unique_groups(agents: Iterable[Shape]) -> list[Shape]:
    """Return each group of tools once, nameless ones first, then in order of first appearance."""
    nameless: list[Shape] = []
    named: dict[str, Shape] = {}
    for group in (group for agent in agents for group in _groups(agent)):
        name = _name(group)
        if name is None:
            nameless.append(group)
        elif named.setdefault(name, group) != group:
            raise ConfigurationError(
                f"Conflicting tools for tool_name={name!r}: two agents describe it differently; "
                "give one of the two another name"
            )
    return [*nameless, *named.values()]


def _objects(value: object, key: str) -> list[Shape]:
    """Return the objects of a list, which may also be what an object has at ``key``."""
    listed = value if isinstance(value, list) else mapping(value).get(key)
    return [entry for entry in entries(listed) if isinstance(entry, Mapping)]


def _groups(agent: Shape) -> list[Shape]:
    return [group for group in entries(agent.get("tools")) if isinstance(group, Mapping)]


def _name(group: Shape) -> str | None:
    name = group.get("tool_name")
    return str(name) if name else None
