"""OpenAI Agents SDK: one agent under evaluation, or several with handoffs.

The SDK's items become messages, and an agent's work for other agents is recorded by its adapter.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache, partialmethod, wraps
from itertools import groupby
from types import ModuleType
from typing import Any

from maseval.core import provider_errors as errors
from maseval.core.agent import AgentObserver
from maseval.core.clock import acting_as
from maseval.core.event_loop import in_thread, run_async
from maseval.core.exceptions import AgentError, ConfigurationError, MASEvalError
from maseval.core.messages import MessageHistory
from maseval.core.tracing import now
from maseval.core.usage import CostCalculator, TokenUsage, Usage
from maseval.interface import extras
from maseval.interface.agents.framework import (
    FrameworkAgentAdapter,
    Tool,
    Tools,
    adapter_of,
    as_text,
    bystanding_adapter,
    describe_tools,
    member_name,
    reachable_from,
    running_adapter,
)
from maseval.interface.inference.chat_completions import function_call, get

__all__ = ["OpenAIAgentsAdapter", "as_tools"]

MODULE, EXTRA = "agents", "openai-agents"
# The SDK's own limit, 10, is too low for the reference solutions of some tasks.
MAX_TURNS = 100

InputItem = dict[str, Any]
"""An item as it is sent to a model; its keys depend on its ``type``."""


def sdk_module() -> ModuleType:
    """Import the SDK, which is called ``agents``."""
    return extras.load(MODULE, extra=EXTRA, package=EXTRA)


class OpenAIAgentsAdapter(FrameworkAgentAdapter):
    """An ``Agent`` of the SDK; after a handoff, the next turn goes to the other agent.

    The work of an agent after a handoff, or as a tool, belongs to its own adapter, if it has one.

    Several calls in one answer run one after another, in the model's order, unless ``run_config``
    sets ``tool_execution``.

    Args:
        agent_instance: The agent that starts the conversation.
        name: The name in reports.
        callbacks: Notified when a turn starts and ends.
        max_turns: How often the model may be called in one turn; None for no limit.
        run_config: The SDK's ``RunConfig``; by default, tracing is off.
        context: What the SDK passes to tools, hooks and instructions.
        cost_calculator: Prices the tokens.
        model_id: The model to report, if not the agent's.
    """

    module, extra, package = MODULE, EXTRA, EXTRA
    models_package = "agents.models"
    provider_errors = (
        ("ModelTimeoutError", "", errors.ProviderTimeoutError),
        ("ModelRefusalError", "content filter", errors.ContentFilterError),
        ("ModelBehaviorError", "response has no choices", errors.MalformedResponseError),
    )
    limit_errors = ("MaxTurnsExceeded", "ModelBehaviorError", "ModelRefusalError")

    def __init__(
        self,
        agent_instance: object,
        name: str,
        callbacks: Iterable[AgentObserver] | None = None,
        max_turns: int | None = MAX_TURNS,
        run_config: object = None,
        context: object = None,
        cost_calculator: CostCalculator | None = None,
        model_id: str | None = None,
    ) -> None:
        super().__init__(agent_instance, name, callbacks, cost_calculator, model_id)
        self.messages: MessageHistory = MessageHistory()
        self.max_turns = max_turns
        self.run_config = run_config
        self.context = context
        self.current_agent = self.agent
        """The agent that currently holds the conversation."""
        if hasattr(agent_instance, "hooks"):
            _observe_runs()
        self._asked_by_others: list[InputItem] = []
        self._is_asked_anew = False
        self._earlier = 0  # messages of the runs by others that are finished
        self._memory: list[InputItem] = []
        self._run_context: Any = None  # counts the tokens of all turns

    def _run_framework(self, query: str) -> str:
        return run_async(self._turn(query))

    async def _turn(self, query: str) -> str:
        sdk = sdk_module()
        if self._run_context is None:
            self._run_context = sdk.RunContextWrapper(self.context)
        # They may be a function as well, whose text is only made when the model is asked.
        if not self.messages and isinstance(instructions := self.agent.instructions, str):
            self.messages.add_message("system", instructions)
        if self.current_agent is self.agent:  # after a handoff, another one is asked
            self.messages.add_message("user", query)
        asked = [*self._memory, {"role": "user", "content": query}]
        times = observer(leader=self)
        try:
            result = await sdk.Runner.run(
                self.current_agent,
                asked,
                context=self._run_context,
                max_turns=self.max_turns,
                run_config=self._effective_run_config(),
                hooks=times,
            )
        except sdk.AgentsException as error:
            # What was said and done before the failure belongs in the record.
            if error.run_data is not None:
                self._add_items(error.run_data.new_items, times)
            raise
        self._add_items(result.new_items, times)
        self._memory = result.to_input_list(mode="normalized")
        self.current_agent = result.last_agent
        if result.interruptions:
            waiting = ", ".join(str(item.tool_name) for item in result.interruptions)
            raise ConfigurationError(
                f"agent {self.name!r} waits for approval of: {waiting}; an evaluation cannot give "
                "it, so use tools without needs_approval"
            )
        return "" if result.final_output is None else as_text(result.final_output)

    def _effective_run_config(self) -> object:
        sdk = sdk_module()
        config: Any = self.run_config or sdk.RunConfig(tracing_disabled=True)
        if config.tool_execution is not None:
            return config
        return replace(
            config, tool_execution=sdk.ToolExecutionConfig(max_function_tool_concurrency=1)
        )

    def _gather_usage(self) -> Usage:
        used: list[Usage] = [*self.used]
        if self._run_context is not None and self._run_context.usage.total_tokens:
            used.append(self._without_delegated(tokens_of(self._run_context.usage)))
        return sum(used) or Usage()

    def _add_items(self, items: Sequence[Any], times: Any) -> None:
        add_items(self.messages, items, times.asked, times.answered, self.agent)

    def begin_run_by_others(self, handed_over: bool = False) -> None:
        """Note that others, and not this adapter, run the agent; or hand a conversation over."""
        self._is_asked_anew = True
        if not handed_over:
            self._earlier, self._asked_by_others = len(self.messages_for_others), []

    def note_part(self, system: str | None, asked: Sequence[InputItem]) -> None:
        """Note a request after a handoff: of the whole conversation, what is new to this agent."""
        part = self._asked_by_others or ([{"role": "system", "content": system}] if system else [])
        kinds = [(item.get("call_id"), item.get("type")) for item in part]
        made = {call for call, kind in kinds if kind == "function_call"}
        waiting = made - {call for call, kind in kinds if kind == _RESULT}
        new = [item for item in asked if item.get("type") == _RESULT]
        new = [item for item in new if item.get("call_id") in waiting]
        if self._is_asked_anew:
            new += [item for item in asked if item.get("role") == "user"][-1:]
        self._is_asked_anew = False
        self._asked_by_others = [*part, *new]

    def note_request(self, system: str | None, asked: Sequence[InputItem]) -> None:
        """Note a request, which holds the run by others so far."""
        instructions = [{"role": "system", "content": system}] if system else []
        self._asked_by_others = [*instructions, *asked]

    def note_answer(self, answer: Any) -> None:
        """Count a model's answer, and replace the messages of the run with those so far."""
        self.used.append(tokens_of(answer.usage))
        run, before = MessageHistory(), self.messages_for_others[self._earlier :]
        add_inputs(run, [*self._asked_by_others, *answer.to_input_items()])
        # Each request tells the whole run again; what was known keeps its time.
        for known, message in zip(before, run, strict=False):
            message["timestamp"] = known["timestamp"]
        self.messages_for_others[self._earlier :] = run
        self._asked_by_others += answer.to_input_items()

    def _resolve_model_id(self) -> str | None:
        return _model_id(getattr(self.run_config, "model", None) or self.agent.model)

    def _settings(self) -> dict[str, Any]:
        return {
            "agents": [_description(agent) for agent in reachable_from(self.agent, _heirs)],
            "max_turns": self.max_turns,
            "has_run_config": self.run_config is not None,
        }


def _model_id(model: object) -> str | None:
    name = model if isinstance(model, str) else getattr(model, "model", None)
    return None if name is None else str(name)


def _heirs(agent: Any) -> list[Any]:
    """Return the agents it can hand over to, as far as they are known."""
    return [other for other in agent.handoffs if hasattr(other, "handoffs")]


def _description(agent: Any) -> dict[str, object]:
    settings = agent.model_settings.to_json_dict()
    instructions = agent.instructions
    return {
        "name": agent.name,
        "model": _model_id(agent.model),
        "instructions": instructions
        if isinstance(instructions, str | None)
        else repr(instructions),
        "tools": [tool.name for tool in agent.tools],
        "handoffs": [getattr(other, "agent_name", None) or other.name for other in agent.handoffs],
        "model_settings": {key: value for key, value in settings.items() if value is not None},
        "output_type": None if agent.output_type is None else str(agent.output_type),
    }


def as_tools(tools: Tools) -> list[Any]:
    """Return functions, such as ``environment.tools``, as ``FunctionTool`` with full schemas."""
    return [_function_tool(tool) for tool in describe_tools(tools)]


def _function_tool(tool: Tool) -> object:
    sdk = sdk_module()

    async def invoke(context: object, arguments: str) -> str:
        try:
            sent = json.loads(arguments) if arguments else {}
        except ValueError as error:
            return f"Error: the arguments are not valid JSON: {error}"
        if not isinstance(sent, dict):
            return f"Error: the arguments must be a JSON object, not {arguments}"
        try:
            with acting_as(member_name(getattr(context, "agent", None))):
                return as_text(await in_thread(lambda: tool.function(**sent)))
        except AgentError as error:  # the agent's own mistake, which it may correct
            return f"Error: {error}"
        except MASEvalError:
            raise
        except Exception as error:  # a tool of the user's own: reported as the SDK does
            return str(sdk.default_tool_error_function(context, error))

    return sdk.FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.parameters,
        on_invoke_tool=invoke,
        strict_json_schema=False,  # strict mode would rewrite the schema
    )


@cache
def _observe_runs() -> None:
    """Let adapters record the runs that others make of agents, as tools do."""
    runner = sdk_module().Runner
    for name in ("run", "run_sync", "run_streamed"):
        setattr(runner, name, _observed(getattr(runner, name)))


def _observed(own: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(own)
    def run(starting_agent: Any, *args: Any, hooks: Any = None, **kwargs: Any) -> Any:
        # A run that an adapter leads brings its observer; a second one would note all of it twice.
        is_ours = isinstance(hooks, RunObserver)
        return own(starting_agent, *args, hooks=hooks if is_ours else observer(own=hooks), **kwargs)

    return run


class RunObserver:
    """Hooks that tell adapters of a run; those of the caller, ``own``, still work.

    In a run that an adapter leads, an agent without an adapter is part of it.
    """

    def __init__(self, leader: OpenAIAgentsAdapter | None = None, own: Any = None) -> None:
        self.leader, self.own = leader, own
        self.asked: list[str] = []
        self.answered: list[str] = []

    def _adapter_of(self, agent: Any) -> OpenAIAgentsAdapter | None:
        if self.leader is None:
            return bystanding_adapter(agent, OpenAIAgentsAdapter)
        if agent is self.leader.agent:
            return None
        found = adapter_of(agent) or self.leader.adopt(agent, OpenAIAgentsAdapter)
        return found if isinstance(found, OpenAIAgentsAdapter) else None

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        if adapter := self._adapter_of(agent):
            adapter.begin_run_by_others(handed_over=self.leader is not None)
        await self._forward("on_agent_start", context, agent)

    async def on_llm_start(self, context: Any, agent: Any, *asked: Any) -> None:
        self.asked.append(now())
        if adapter := self._adapter_of(agent):
            (adapter.note_part if self.leader else adapter.note_request)(*asked)
        await self._forward("on_llm_start", context, agent, *asked)

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        self.answered.append(now())
        adapter = self._adapter_of(agent)
        if (worker := adapter or self.leader) is not None:
            since = datetime.fromisoformat(self.asked[-1])
            spent = datetime.fromisoformat(self.answered[-1]) - since
            worker.call_seconds.append(spent.total_seconds())
        if adapter is not None:
            adapter.note_answer(response)
            leader = running_adapter()
            counted = get(get(leader, "_run_context"), "usage")
            # Where the SDK adds the tokens of this run to the leader's.
            if leader is not None and context.usage is counted:
                leader.delegated_usage.append(adapter.used[-1])
        await self._forward("on_llm_end", context, agent, response)

    async def _forward(self, name: str, *args: Any, **kwargs: Any) -> None:
        if self.own is not None:
            await getattr(self.own, name)(*args, **kwargs)

    on_agent_end = partialmethod(_forward, "on_agent_end")
    on_handoff = partialmethod(_forward, "on_handoff")
    on_tool_start = partialmethod(_forward, "on_tool_start")
    on_tool_end = partialmethod(_forward, "on_tool_end")


@cache
def _observer_class() -> Callable[..., Any]:
    # The SDK takes no other hooks than those derived from its own.
    class SdkRunObserver(RunObserver, sdk_module().RunHooks):  # type: ignore[misc]
        pass

    return SdkRunObserver


def observer(**given: Any) -> Any:
    """Return a ``RunObserver`` that the SDK takes."""
    return _observer_class()(**given)


def tokens_of(usage: Any) -> TokenUsage:
    details = usage.input_tokens_details
    return TokenUsage.from_chat_response_usage(
        {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": usage.total_tokens,
            "cached_input_tokens": details.cached_tokens,
            "cache_creation_input_tokens": getattr(details, "cache_write_tokens", 0),
            "reasoning_tokens": usage.output_tokens_details.reasoning_tokens,
        }
    )


def add_items(
    history: MessageHistory,
    items: Iterable[Any],
    asked: Sequence[str],
    answered: Sequence[str],
    speaker: object = None,
) -> None:
    """Add the items of a turn: the model's answers, and the results of the tools it called.

    If a ``speaker`` is given, those of other agents, which have adapters of theirs, are left out.

    The SDK keeps the text and the calls of one answer as several items; here they are one message,
    whose ``metadata`` names the agent. Thoughts, and tools run by the provider, are left out. The
    times are those at which the model was asked, which is when results were there, and answered.
    """
    answers, results = iter(answered), iter(asked[1:])
    seen = [item for item in items if item.type != "tool_approval_item"]
    for (of_tools, agent), group in groupby(seen, key=_origin):
        time = next(results if of_tools else answers, None)
        own = [item for item in group if speaker is None or item.agent in (speaker, None)]
        if own:
            _add_message(history, [item.to_input_item() for item in own], {"agent": agent}, time)


def _origin(item: Any) -> tuple[bool, str]:
    """Return True if an item is a tool's result, and the name of its agent."""
    name = member_name(item.agent) or item.agent.name
    return item.type in ("tool_call_output_item", "handoff_output_item"), name


def add_inputs(history: MessageHistory, items: Iterable[InputItem]) -> None:
    """Add a model's request and answer, given in the form in which they are sent."""

    def speaker(item: InputItem) -> object:
        role = "tool" if item.get("type") == _RESULT else item.get("role", "assistant")
        return role if role in ("assistant", "tool") else id(item)

    for _, group in groupby(items, key=speaker):
        _add_message(history, list(group))


_RESULT = "function_call_output"


def _add_message(
    history: MessageHistory,
    items: Sequence[InputItem],
    metadata: dict[str, object] | None = None,
    time: str | None = None,
) -> None:
    """Add the items of an answer or a question as a message, or the results of its calls."""
    made = [call for message in history for call in message.get("tool_calls") or ()]
    names = {call["id"]: call["function"]["name"] for call in made}
    for result in [item for item in items if item.get("type") == _RESULT]:
        call_id, text = str(result.get("call_id")), as_text(result.get("output"))
        history.add_tool_response(call_id, text, names.get(call_id), timestamp=time)
    wanted = [item for item in items if item.get("type") == "function_call"]
    calls = [function_call(item["call_id"], item["name"], item["arguments"]) for item in wanted]
    said = [item for item in items if "role" in item and "content" in item]
    words = "".join(_content_text(item["content"]) for item in said) if said else None
    if calls:
        history.add_tool_call(calls, words, metadata, time)
    elif words is not None:
        history.add_message(said[0]["role"], words, metadata=metadata, timestamp=time)


def _content_text(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or part.get("refusal") or "" for part in content)
