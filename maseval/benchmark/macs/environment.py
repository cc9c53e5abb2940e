"""MACSEnvironment: the tools of a domain, each played by a model of its own."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, count
from typing import Any, cast

from maseval.benchmark.macs.data.formats import ActionSpec, AgentSpec
from maseval.benchmark.macs.tool import MACSGenericTool
from maseval.benchmark.macs.trajectories import TrajectoryLog
from maseval.core.environment import Environment, EnvironmentObserver, only_one
from maseval.core.model import ModelAdapter
from maseval.core.recorded import entries, mapping
from maseval.core.tracing import JsonObject

ModelFactory = Callable[[str], ModelAdapter]
"""Makes the model of a tool; it is given the model's name, ``tool_<key>``."""


class MACSEnvironment(Environment):
    """All tools of a domain by key.

    The key is the action's name. Several groups may have an action of one name: an equal one is
    the same tool, an unequal one has the key ``<group>__<action>``.
    """

    tools: dict[str, MACSGenericTool]

    def __init__(
        self,
        environment_data: JsonObject,
        model_factory: ModelFactory,
        callbacks: Iterable[EnvironmentObserver] | None = None,
        *,
        use_output_schema: bool = True,
    ) -> None:
        self._model_factory = model_factory
        self._use_output_schema = use_output_schema
        self._names: dict[tuple[str, str], str] = {}  # of a group's actions, by their keys
        self.log = TrajectoryLog(str(environment_data.get("human_id") or "User"))
        """For agents that record what they say and do in the original's form."""
        super().__init__(environment_data, callbacks)

    def setup_state(
        self,
        task_data: dict[str, Any] | None = None,
        *,
        environment_data: dict[str, Any] | None = None,
    ) -> JsonObject:
        return {"tool_specs": only_one(task_data, environment_data).get("tools") or []}

    def create_tools(self) -> dict[str, MACSGenericTool]:
        actions: dict[str, ActionSpec] = {}
        for group, action in self._actions():
            key = _key(group, action, actions)
            actions.setdefault(key, action)
            self._names[group, key] = action["name"]
        return {
            key: MACSGenericTool(
                action,
                self._model_factory(f"tool_{key}"),
                use_output_schema=self._use_output_schema,
            )
            for key, action in actions.items()
        }

    def get_tools_for_agent(self, agent_spec: AgentSpec) -> dict[str, MACSGenericTool]:
        """Return the tools of an agent's groups by the plain names of their actions."""
        groups = set(entries(agent_spec.get("tools")))
        keys = {key: action for (group, key), action in self._names.items() if group in groups}
        owner = agent_spec.get("agent_id")
        chosen: dict[str, MACSGenericTool] = {}
        for key, tool in self.tools.items():
            if key in keys:
                chosen[key if keys[key] in chosen else keys[key]] = tool
                if owner and owner not in tool.owners:
                    tool.owners.append(owner)
        return chosen

    def group_of(self, tool: MACSGenericTool, agent_spec: AgentSpec) -> str:
        """Return the group through which an agent has a tool."""
        groups = entries(agent_spec.get("tools"))
        found = (group for group, key in self._names if self.tools[key] is tool and group in groups)
        return next(found, "")

    def gather_traces(self) -> JsonObject:
        """Return the tools' traces and, if the agents recorded it, the whole conversation."""
        recorded = {"trajectories": self.log.rows} if self.log.rows else {}
        return {**super().gather_traces(), **recorded}

    def _actions(self) -> Iterator[tuple[str, ActionSpec]]:
        for group in entries(self.state["tool_specs"]):
            name = str(mapping(group).get("tool_name") or "")
            for action in entries(mapping(group).get("actions")):
                if mapping(action).get("name"):
                    yield name, cast(ActionSpec, action)


def _key(group: str, action: ActionSpec, taken: Mapping[str, ActionSpec]) -> str:
    """Return the key of an equal action, or else the first key that is free."""
    equal = next((key for key, other in taken.items() if other == action), None)
    if equal is not None:
        return equal
    plain, full = action["name"], f"{group}__{action['name']}"
    further = (f"{full}_{number}" for number in count(2))
    return next(key for key in chain((plain, full), further) if key not in taken)
