"""From the original's two files of a domain to tasks and an agent configuration.

The original keeps whole tools inside every agent. A task gets each group of tools once, and an
agent only the names of its groups.
"""

from collections.abc import Iterable, Mapping
from typing import cast

from maseval.benchmark.macs.data.forms import AgentConfig, Scenario
from maseval.core.exceptions import ConfigurationError
from maseval.core.shapes import Shape, entries, mapping
from maseval.core.tracing import JsonObject

_TASK_KEYS = ("input_problem", "query", "assertions")


class ConflictingToolsError(ConfigurationError):
    """Two agents have different groups of tools under one name."""


def tasks_of(scenarios: object, agents: object, labels: Shape) -> list[JsonObject]:
    """The tasks of a domain as dicts; ``labels`` are added to the metadata of each."""
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
    """The scenarios of a file."""
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
    """Every agent with the names of its groups; nothing for what is no object."""
    if not isinstance(agents, Mapping):
        return {}
    named = [
        {**agent, "tools": [name for group in _groups(agent) if (name := _name(group))]}
        for agent in _objects(agents, "agents")
    ]
    ids = {key: agents[key] for key in ("primary_agent_id", "human_id") if key in agents}
    return cast(AgentConfig, {"agents": named, **ids})


def unique_groups(agents: Iterable[Shape]) -> list[Shape]:
    """Each group of tools once, in the order of first appearance; nameless ones come first."""
    nameless: list[Shape] = []
    named: dict[str, Shape] = {}
    for group in (group for agent in agents for group in _groups(agent)):
        name = _name(group)
        if name is None:
            nameless.append(group)
        elif named.setdefault(name, group) != group:
            raise ConflictingToolsError(
                f"Conflicting tools for tool_name={name!r}: two agents describe it differently; "
                "give one of the two another name"
            )
    return [*nameless, *named.values()]


def _objects(value: object, key: str) -> list[Shape]:
    """The objects of a list, which may also be what an object has at ``key``."""
    listed = value if isinstance(value, list) else mapping(value).get(key)
    return [entry for entry in entries(listed) if isinstance(entry, Mapping)]


def _groups(agent: Shape) -> list[Shape]:
    return [group for group in entries(agent.get("tools")) if isinstance(group, Mapping)]


def _name(group: Shape) -> str | None:
    name = group.get("tool_name")
    return str(name) if name else None
