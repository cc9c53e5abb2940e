"""smolagents: its agents as agents under evaluation, tools for them, and a user they can ask.

By default, smolagents forgets the conversation at every run, treats some failures as mistakes of
the agent, and merges the results of several tools into one text. The adapter therefore keeps the
agent's memory, follows the events of a run and inspects every step; it replaces nothing.

smolagents also rewrites a tool's schema before sending it, and refuses arguments that do not match
it before the tool sees them. It does both with the tool's ``inputs``, which are therefore made to
be sent unchanged and to match any arguments: only the functions themselves check them.
"""

import json
import re
import textwrap
from collections.abc import Callable, ItemsView, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any
from weakref import WeakSet

from maseval.core.clock import Clock, acting_as
from maseval.core.exceptions import AgentError, MASEvalError, causes
from maseval.core.messages import MessageHistory
from maseval.core.provider_errors import (
    MalformedResponseError,
    ProviderConnectionError,
    ProviderError,
)
from maseval.core.tool import inline_references
from maseval.core.user import LLMUser, User
from maseval.interface import extras
from maseval.interface.agents.framework import (
    FrameworkAgentAdapter,
    Tool,
    Tools,
    adapter_of,
    as_text,
    describe_tools,
    member_name,
    reachable_from,
    running_adapter,
)
from maseval.interface.agents.smolagents_record import (
    EXTRA,
    TOKENS,
    AgentMemoryMessages,
    AgentRecord,
    is_last_resort,
    mark,
    plain_text,
)
from maseval.interface.inference.chat_completions import JsonSchema, get, text_of
from maseval.interface.inference.http import error_from_status

__all__ = ["SmolAgentAdapter", "SmolAgentLLMUser", "as_tools"]

# The errors that smolagents raises for an answer that is empty or not JSON.
_UNREADABLE = (IndexError, AttributeError, json.JSONDecodeError)
_STATUS = re.compile(r"(?:Error code|LLM output): (\d{3})\b")
_SETTINGS = (
    "name",
    "description",
    "prompt_templates",
    "max_steps",
    "planning_interval",
    "max_tool_threads",
    "authorized_imports",
    "executor_type",
    "max_print_outputs_length",
)
_IN_BRIEF = {"step_type", "step_number", "status", "duration_seconds", *TOKENS}


class SmolAgentAdapter(FrameworkAgentAdapter):
    """A smolagents agent, such as a ``ToolCallingAgent`` or a ``CodeAgent``.

    The adapter's first run starts a new conversation, later ones continue it. Until then it shows
    what the agent's memory holds, unless another adapter has recorded that. Several calls in one
    answer run one after another, in order, unless the agent sets ``max_tool_threads``. The steps of
    a managed agent belong to its own adapter, if it has one, and otherwise to its manager's.
    """

    module = extra = EXTRA
    logs_turns = False

    def _prepare(self) -> None:
        self._has_begun = False
        self._use(AgentRecord(self.agent))
        # Made in another adapter's turn, it is that of a member, which the turn begins anew.
        self._shows_earlier = running_adapter() is None and self._record.catch_up(self.agent)
        if hasattr(self.agent, "step_callbacks") and self.agent not in _observed:
            _observed.add(self.agent)
            memory = extras.load("smolagents.memory", extra=EXTRA)
            self.agent.step_callbacks.register(memory.MemoryStep, _observe_step)

    def _use(self, record: AgentRecord) -> None:
        self._record, self._shows_earlier = record, False
        self.messages: MessageHistory = record.messages
        self.logs, self.used = record.logs, record.used

    def get_messages(self) -> MessageHistory:
        """Return the conversation as smolagents writes it for a model."""
        record, memory = self._record, get(self.agent, "memory")
        if memory is None:
            return MessageHistory()
        if record.steps is memory.steps or not (record.steps or memory.steps):
            return AgentMemoryMessages(self.agent.write_memory_to_messages(), record)
        steps = [memory.system_prompt, *record.steps]
        return AgentMemoryMessages(
            [message for step in steps for message in step.to_messages()], record
        )

    def openai_messages(self) -> MessageHistory:
        return self.messages

    def _run_framework(self, query: str) -> str:
        if self._has_begun:
            self.agent.memory.steps = self._record.steps  # another adapter may have run the agent
        elif self._shows_earlier:
            self._use(AgentRecord(self.agent))
        first, self._has_begun = not self._has_begun, True
        with self._lead_team():
            events = self.agent.run(query, stream=True, reset=first)
            self._record.observe(self.agent)
            return self._follow(events)

    @contextmanager
    def _lead_team(self) -> Iterator[None]:
        """Observe every step of the agent and of the agents it manages."""
        before = dict(_led)
        team = reachable_from(self.agent, lambda agent: agent.managed_agents.values())
        for member in team:
            adapter = self if member is self.agent else self._adapter_of(member)
            _led[id(member)] = self, adapter
            if getattr(member, "max_tool_threads", 1) is None:
                # Its calls one after another, in the order of the model's answer.
                member.max_tool_threads = 1
        # Whoever has a `run` of its own is replaced already, in the turn around this one.
        workers = [member for member in team[1:] if "run" not in vars(member)]
        for worker in workers:
            worker.run = _run_as_member(worker)
        try:
            yield
        finally:
            for worker in workers:
                del worker.run
            for member in team:
                if known := before.get(id(member)):
                    _led[id(member)] = known
                else:
                    del _led[id(member)]

    def _adapter_of(self, member: object) -> "SmolAgentAdapter":
        """Return a member's adapter; one that has none gets one that reports to this."""
        found = adapter_of(member) or adapter_of(member, self._clock)
        if isinstance(found, SmolAgentAdapter):
            return found
        return self.adopt(member, SmolAgentAdapter)

    def _follow(self, events: Iterator[object]) -> str:
        output: object = None
        try:
            for event in events:
                match type(event).__name__:
                    case "ToolOutput":
                        self._record.results[get(event, "id")] = get(event, "observation")
                    case "FinalAnswerStep":
                        output = get(event, "output")
        except extras.load("smolagents.utils", extra=EXTRA).AgentGenerationError as error:
            if isinstance(error.__cause__, _UNREADABLE):
                raise self._failure(str(error), MalformedResponseError) from None
            raise
        return plain_text(output)

    def _check(self, step: Any) -> None:
        """Raise failures that are not the agent's, after which smolagents would continue."""
        clock = Clock.here() or self._clock
        if clock is not None:
            clock.check_timeout()
        if is_last_resort(step) and isinstance(step.action_output, list):
            # This is how smolagents presents a failed request for a last answer.
            raise self._failure(text_of(step.action_output), ProviderConnectionError)
        for cause in causes(get(step, "error")):
            ours = isinstance(cause, MASEvalError) and not isinstance(cause, AgentError)
            if ours or type(cause).__name__ == "AgentGenerationError":  # in a managed agent
                raise cause

    def _failure(self, text: str, otherwise: type[ProviderError]) -> ProviderError:
        """Return the provider's failure, of which smolagents keeps only the text."""
        if found := _STATUS.search(text):
            return error_from_status(
                int(found[1]), text, provider=self._asked, model_id=self._reported_model_id
            )
        return self._provider_error(otherwise, text)

    def _resolve_model_id(self) -> str | None:
        model_id: str | None = get(get(self.agent, "model"), "model_id")
        return model_id

    def gather_traces(self) -> dict[str, Any]:
        taken = ("ActionStep", "PlanningStep")
        steps = [entry for entry in self.logs if entry.get("step_type") in taken]
        return {
            **super().gather_traces(),
            "total_steps": len(steps),
            "total_duration_seconds": sum(step["duration_seconds"] for step in steps),
            "steps_detail": [{k: step[k] for k in step if k in _IN_BRIEF} for step in steps],
        }

    def _settings(self) -> dict[str, Any]:
        return _description(self.agent)


# The agents at work, by id, with the adapter that leads them and their own. Not by context: code of
# a ``CodeAgent`` runs in a bare thread.
_led: dict[int, tuple[SmolAgentAdapter, SmolAgentAdapter]] = {}
_observed: WeakSet[Any] = WeakSet()


def _run_as_member(member: Any) -> Callable[..., Any]:
    own = member.run

    def run(*args: object, **kwargs: object) -> Any:
        with acting_as(member_name(member)):
            return own(*args, **kwargs)

    return run


def _observe_step(step: Any, agent: Any) -> None:
    """Record a step that an agent has taken, for the adapter that runs it or its own."""
    if not mark(step):  # a copy of an agent has its callbacks, and may be given this one again
        return
    leader, adapter = _led.get(id(agent), (None, adapter_of(agent)))
    if leader is not None and is_last_resort(step):
        step.model_output = plain_text(step.action_output)  # smolagents would forget it
    if isinstance(adapter, SmolAgentAdapter):
        adapter._record.observe(agent, step)
    if leader is not None:
        leader._check(step)


def _description(agent: Any) -> dict[str, Any]:
    """Do what ``agent.to_dict()`` does, which prints, and fails for tools without source code."""
    model = get(agent, "model")
    return {
        "class": type(agent).__name__,
        "tools": list(agent.tools),
        "model": {
            "class": type(model).__name__,
            "data": {
                "model_id": get(model, "model_id"),
                **(get(model, "kwargs") or {}),
                "client_kwargs": get(model, "client_kwargs"),
            },
        },
        "managed_agents": [_description(member) for member in agent.managed_agents.values()],
        "requirements": sorted(_requirements(agent)),
        "verbosity_level": int(agent.logger.level),
        **{name: getattr(agent, name) for name in _SETTINGS if hasattr(agent, name)},
    }


def _requirements(agent: Any) -> set[str]:
    """Return the packages that the code of a team needs, as far as smolagents can find it."""
    found = {name.partition(".")[0] for name in getattr(agent, "additional_authorized_imports", ())}
    for tool in agent.tools.values():
        with suppress(Exception):  # a tool without source code, such as those of an environment
            found |= set(tool.to_dict()["requirements"])
    return found.union(*map(_requirements, agent.managed_agents.values()))


_ANYTHING = {"type": "any", "description": "", "nullable": True}
_TOLD_IN_WORDS = {"title", "description", "type", "default"}


def as_tools(tools: Tools) -> list[Any]:
    """Return functions, such as ``environment.tools``, as tools for any agent of smolagents."""
    make = _tool_class(extras.load("smolagents", extra=EXTRA).Tool)
    return [make(tool) for tool in describe_tools(tools)]


class Inputs(dict[str, JsonSchema]):
    """A tool's arguments as smolagents checks them: it accepts all of them.

    Unknown, missing or mistyped arguments are left to the tool. For the model, smolagents makes a
    deep copy, which is the real schema.
    """

    def __init__(self, parameters: JsonSchema) -> None:
        super().__init__(dict.fromkeys(parameters["properties"], _ANYTHING))
        self.properties: dict[str, JsonSchema] = parameters["properties"]
        self.required: list[str] = parameters.get("required", [])

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> JsonSchema:
        return _ANYTHING

    def __deepcopy__(self, memo: dict[int, object]) -> "Properties":
        return Properties(self)

    def __repr__(self) -> str:
        """Return the text that ``ToolCallingAgent`` writes into its prompt."""
        return repr(self.properties)


class Properties(dict[str, JsonSchema]):
    """The arguments' schemas as they are sent; the first iteration sees stand-ins.

    That iteration is smolagents', which looks for required arguments and would rewrite ``anyOf``.
    """

    def __init__(self, inputs: Inputs) -> None:
        super().__init__(json.loads(json.dumps(inputs.properties)))
        self._stand_ins: dict[str, JsonSchema] | None = {
            name: {"type": "string", "nullable": name not in inputs.required} for name in self
        }

    def items(self) -> ItemsView[str, JsonSchema]:  # type: ignore[override]
        stand_ins, self._stand_ins = self._stand_ins, None
        return super().items() if stand_ins is None else stand_ins.items()


@cache
def _tool_class(base: type) -> Callable[[Tool], object]:
    class SmolFunctionTool(base):  # type: ignore[misc]
        skip_forward_signature_validation = True
        output_type = "string"

        def __init__(self, tool: Tool) -> None:
            super().__init__()
            self.name = tool.name
            self.description = tool.description
            # Without ``$defs``: smolagents does not follow references.
            self.inputs = Inputs(inline_references(tool.parameters))
            self.function: Callable[..., object] = tool.function

        def __call__(
            self, /, *args: object, sanitize_inputs_outputs: bool = False, **kwargs: object
        ) -> object:
            """Return the result: as text for agents that call tools, else unchanged.

            Agents that write code get it unchanged; only the others request sanitizing.
            """
            result = self.forward(*args, **kwargs)
            return as_text(result) if sanitize_inputs_outputs else result

        def forward(self, /, *args: object, **kwargs: object) -> object:
            return self.function(*args, **kwargs)

        def to_code_prompt(self) -> str:
            return _code_prompt(self.name, self.description, self.inputs)

        def to_dict(self) -> dict[str, object]:
            """Return the tool's description; its code cannot be saved by smolagents."""
            return {
                "name": self.name,
                "description": self.description,
                "inputs": self.inputs.properties,
                "requirements": [],
            }

    return SmolFunctionTool


def _code_prompt(name: str, description: str, inputs: Inputs) -> str:
    """Return the tool as a ``CodeAgent`` sees it, in smolagents' form, with the full schemas."""
    signature = ", ".join(
        f"{argument}: {schema.get('type', 'any')}"
        + ("" if argument in inputs.required else f" = {schema.get('default')!r}")
        for argument, schema in inputs.properties.items()
    )
    arguments = [f"{argument}: {_argument_text(s)}" for argument, s in inputs.properties.items()]
    args = "\n\nArgs:\n" + textwrap.indent("\n".join(arguments), "    ") if arguments else ""
    docstring = textwrap.indent(f'"""{description}{args}\n"""', "    ")
    return f"def {name}({signature}) -> string:\n{docstring}"


def _argument_text(schema: JsonSchema) -> str:
    words = str(schema.get("description", ""))
    if schema.keys() <= _TOLD_IN_WORDS:
        return words
    rest = {key: value for key, value in schema.items() if key not in ("title", "description")}
    return f"{words} {json.dumps(rest, ensure_ascii=False)}".lstrip()


class SmolAgentLLMUser(LLMUser):
    """A simulated user that the agent can ask through a tool."""

    def get_tool(self) -> Any:
        """Return smolagents' tool ``user_input``, answered by this user."""
        return _user_tool_class(extras.load("smolagents", extra=EXTRA).UserInputTool)(self)


@cache
def _user_tool_class(base: type) -> Any:
    class SmolAgentUserSimulationInputTool(base):  # type: ignore[misc]
        """smolagents' tool ``user_input``, answered by a user."""

        def __init__(self, user: User) -> None:
            super().__init__()
            self.user: User = user

        def forward(self, question: str) -> str:
            return self.user.respond(question)

    return SmolAgentUserSimulationInputTool


def __getattr__(name: str) -> Any:
    """Load the class of the user's tool, which is derived from one of smolagents."""
    if name == "SmolAgentUserSimulationInputTool":
        return _user_tool_class(extras.load("smolagents", extra=EXTRA).UserInputTool)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
