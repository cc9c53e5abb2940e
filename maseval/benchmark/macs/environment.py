"""MACSEnvironment: the tools of a domain, each an action that a model of its own plays.

The benchmark's schemas say ``data_type`` where JSON schema says ``type``, and give every scalar an
empty list of required properties. Frameworks and models get the standard form.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from itertools import chain, count
from typing import Any

from maseval.benchmark.macs.trajectories import TrajectoryLog
from maseval.core.environment import Environment, only_one
from maseval.core.exceptions import (
    AgentError,
    ConfigurationError,
    EnvironmentError,
    TaskTimeoutError,
    validate_arguments_from_schema,
)
from maseval.core.messages import ToolInvocationHistory
from maseval.core.model import ModelAdapter
from maseval.core.provider_errors import ProviderError
from maseval.core.recorded import Shape, entries, mapping
from maseval.core.simulator import ToolLLMSimulator
from maseval.core.tracing import ConfigurableMixin, JsonObject, TraceableMixin

_KEPT = ("description", "enum", "default", "format")


def type_of(schema: Shape) -> object:
    """Return the type under either name, or None if there is none."""
    return schema.get("data_type") or schema.get("type")


def standard_schema(schema: Shape) -> JsonObject:
    """Return a schema with ``type`` in place of ``data_type``, all the way down."""
    standard: JsonObject = {"type": type_of(schema)} if type_of(schema) else {}
    standard |= {key: schema[key] for key in _KEPT if key in schema}
    if isinstance(schema.get("items"), Mapping):
        standard["items"] = standard_schema(mapping(schema, "items"))
    if isinstance(schema.get("properties"), Mapping):
        properties = mapping(schema, "properties")
        standard["properties"] = {
            name: standard_schema(mapping(properties, name)) for name in properties
        }
        if required := entries(schema.get("required")):
            standard["required"] = required
    return standard


def parameters_of(action: JsonObject) -> JsonObject:
    schema = standard_schema(action.get("input_schema") or {})
    return {"type": "object", "properties": {}, **schema}


def inputs_of(action: JsonObject) -> dict[str, JsonObject]:
    properties = mapping(action.get("input_schema"), "properties")
    return {name: _input(name, mapping(properties, name)) for name in properties}


def _input(name: str, schema: Shape) -> JsonObject:
    kind = type_of(schema) or "string"
    described: JsonObject = {
        # MASEval's ``inputs`` have one type each, so a list of types becomes a string.
        "type": "string" if isinstance(kind, list) else kind,
        "description": schema.get("description") or "",
    }
    if kind == "array":
        item = type_of(mapping(schema, "items"))
        if not item:
            raise ConfigurationError(
                f"argument {name!r} is an array whose items have no type; give it "
                '"items": {"data_type": …}'
            )
        described["items"] = {"type": item}
    return described


class MACSToolSimulator(ToolLLMSimulator):
    """Tells the model what the action's result looks like, where its description says so."""

    def __init__(self, model: ModelAdapter, action: JsonObject, use_output_schema: bool) -> None:
        super().__init__(
            model,
            tool_name=action["name"],
            tool_description=action.get("description") or "",
            tool_inputs=dict(inputs_of(action)),
            template=_template(),
        )
        self._result_form = ""
        if use_output_schema and action.get("output_schema"):
            schema = json.dumps(standard_schema(action["output_schema"]), indent=2)
            self._result_form = (
                "4. Make `text` a JSON document that fits this schema, written as a string:\n"
                f"{schema}\n"
            )

    def _values(self, arguments: Mapping[str, object]) -> dict[str, object]:
        return {**super()._values(arguments), "result_form": self._result_form}


class MACSGenericTool(TraceableMixin, ConfigurableMixin):
    """An action as a callable; every call is checked, answered by the model and recorded.

    ``spec`` is an action of the benchmark's files. With ``use_output_schema`` the model is shown
    the action's output schema, which the description alone does not tell.
    """

    output_type = "string"

    def __init__(
        self, spec: JsonObject, model: ModelAdapter, *, use_output_schema: bool = True
    ) -> None:
        self.name: str = spec["name"]
        self.description: str = spec.get("description") or ""
        self.input_schema = spec.get("input_schema") or {}
        self.inputs = inputs_of(spec)
        self.use_output_schema = use_output_schema
        self.owners: list[str] = []
        """The agents that were given the tool."""
        self.history = ToolInvocationHistory()
        self.simulator: ToolLLMSimulator = MACSToolSimulator(model, spec, use_output_schema)
        self._parameters = parameters_of(spec)

    def __call__(self, **kwargs: object) -> str:
        try:
            validate_arguments_from_schema(kwargs, _lenient_schema(self._parameters), self.name)
            text, details = self.simulator(actual_inputs=kwargs)
        # These errors already say whose fault it was, and pass unchanged.
        except (AgentError, EnvironmentError, TaskTimeoutError, ProviderError) as error:
            self._record(kwargs, str(error), "error")
            raise
        except Exception as error:  # a tool called by a model: whatever broke, it is not the agent
            self._record(kwargs, str(error), "error")
            raise EnvironmentError(
                f"the simulated tool failed: {error!r}", component=self.name
            ) from error
        self._record(kwargs, text, "success", details)
        return text

    def _record(
        self, arguments: dict[str, object], answer: str, status: str, meta: object = None
    ) -> None:
        self.history.add_invocation(inputs=arguments, outputs=answer, status=status, meta=meta)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}: {each['type']}" for name, each in self.inputs.items())
        return f"{type(self).__name__}({self.name}({arguments}) -> {self.output_type})"

    @property
    def definition(self) -> JsonObject:
        """The tool in OpenAI's form, with everything that the files say about its arguments."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self._parameters,
            },
        }

    def gather_traces(self) -> JsonObject:
        return {
            **super().gather_traces(),
            "name": self.name,
            "owners": list(self.owners),
            "invocations": self.history.to_list(),
        }

    def gather_config(self) -> JsonObject:
        return {
            **super().gather_config(),
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
            "use_output_schema": self.use_output_schema,
        }


# The files give some arguments a list of types, which models fill in any way.
def _lenient_schema(parameters: JsonObject) -> JsonObject:
    properties = {
        name: {} if isinstance(schema.get("type"), list) else schema
        for name, schema in parameters["properties"].items()
    }
    return {**parameters, "properties": properties}


@cache
def _template() -> str:
    folder = files("maseval.benchmark.macs") / "prompt_templates"
    return (folder / "tool.txt").read_text(encoding="utf-8")


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
        callbacks: Iterable[Any] | None = None,
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
        actions: dict[str, JsonObject] = {}
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

    def get_tools_for_agent(self, agent_spec: JsonObject) -> dict[str, MACSGenericTool]:
        """Return the tools of an agent's groups by the plain names of their actions."""
        groups = set(entries(agent_spec.get("tools")))
        keys = {key: action for (group, key), action in self._names.items() if group in groups}
        owner = agent_spec.get("agent_id")
        chosen: dict[str, MACSGenericTool] = {}
        for key, tool in self.tools.items():
            if key in keys:
                # Of two actions with one name the second keeps its key, so that both can be called.
                chosen[key if keys[key] in chosen else keys[key]] = tool
                if owner and owner not in tool.owners:
                    tool.owners.append(owner)
        return chosen

    def group_of(self, tool: MACSGenericTool, agent_spec: JsonObject) -> str:
        """Return the group through which an agent has a tool."""
        groups = entries(agent_spec.get("tools"))
        found = (group for group, key in self._names if self.tools[key] is tool and group in groups)
        return next(found, "")

    def gather_traces(self) -> JsonObject:
        """Return the tools' traces and, if the agents recorded it, the whole conversation."""
        recorded = {"trajectories": self.log.rows} if self.log.rows else {}
        return {**super().gather_traces(), **recorded}

    def _actions(self) -> Iterator[tuple[str, JsonObject]]:
        for group in entries(self.state["tool_specs"]):
            name = str(mapping(group).get("tool_name") or "")
            for action in entries(mapping(group).get("actions")):
                if mapping(action).get("name"):
                    yield name, dict(mapping(action))


def _key(group: str, action: JsonObject, taken: Mapping[str, JsonObject]) -> str:
    # Groups repeat actions: an equal one is the same tool, and needs one model.
    equal = next((key for key, other in taken.items() if other == action), None)
    if equal is not None:
        return equal
    # Groups may use one name for unequal actions. The first keeps the plain name, the others are
    # told apart by their group.
    plain, full = str(action["name"]), f"{group}__{action['name']}"
    further = (f"{full}_{number}" for number in count(2))
    return next(key for key in chain((plain, full), further) if key not in taken)
