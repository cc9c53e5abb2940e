"""OpenAI Agents SDK: one agent under evaluation, or several with handoffs.

The SDK's items become messages, and an agent's work for other agents is recorded by its adapter.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, partialmethod, wraps
from types import ModuleType
from typing import Any, Protocol

from maseval.core import provider_errors as errors
from maseval.core.agent import AgentObserver
from maseval.core.clock import acting_as
from maseval.core.event_loop import in_thread, run_async
from maseval.core.exceptions import AgentError, ConfigurationError, MASEvalError
from maseval.core.messages import MessageHistory
from maseval.core.provider_errors import ProviderError
from maseval.core.storage.redaction import redact
from maseval.core.tracing import now
from maseval.core.usage import CostCalculator, Usage
from maseval.interface import extras
from maseval.interface.agents.framework import (
    DelegatedWork,
    FrameworkAgentAdapter,
    Tool,
    Tools,
    as_text,
    bystanding_adapter,
    describe_tools,
    is_unreadable_answer,
    member_name,
    name_tool_results,
    running_adapter,
)
from maseval.interface.agents.openai_agents_items import (
    InputItem,
    add_inputs,
    add_items,
    items_of,
    tokens_of,
)
from maseval.interface.inference.chat_completions import get

__all__ = ["OpenAIAgentsAdapter", "as_tools"]

MODULE, EXTRA = "agents", "openai-agents"


def sdk_module() -> ModuleType:
    """Import the SDK, which is called ``agents``."""
    return extras.load(MODULE, extra=EXTRA, package=EXTRA)


# The SDK's own limit, 10, is too low for the reference solutions of some tasks.
MAX_TURNS = 100
_NO_CHOICES = "response has no choices"
_FILTERED = "content filter"


class SdkSession(Protocol):
    """A session of the SDK, which keeps a conversation."""

    async def get_items(self) -> list[InputItem]: ...
    async def add_items(self, items: list[InputItem]) -> None: ...


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
        session: Keeps the conversation; by default the adapter does.
        run_config: The SDK's ``RunConfig``; by default, tracing is off.
        context: What the SDK passes to tools, hooks and instructions.
        cost_calculator: Prices the tokens.
        model_id: The model to report, if not the agent's.
    """

    module, extra, package = MODULE, EXTRA, EXTRA

    def __init__(
        self,
        agent_instance: object,
        name: str,
        callbacks: Iterable[AgentObserver] | None = None,
        max_turns: int | None = MAX_TURNS,
        session: SdkSession | None = None,
        run_config: object = None,
        context: object = None,
        cost_calculator: CostCalculator | None = None,
        model_id: str | None = None,
    ) -> None:
        super().__init__(agent_instance, name, callbacks, cost_calculator, model_id)
        self.messages: MessageHistory = MessageHistory()
        self.max_turns = max_turns
        self.session = session
        self.run_config = run_config
        self.context = context
        self.current_agent = self.agent
        """The agent that currently holds the conversation."""
        if hasattr(agent_instance, "hooks"):
            observe_agent(self.agent)
            observe_runs()
        self.work: SdkWork = SdkWork()
        self._memory: list[InputItem] = []
        self._run_context: Any = None  # counts the tokens of all turns

    def load_messages(self, messages: MessageHistory) -> None:
        """Continue a conversation; a session that has one already is not given another."""
        self._worked = True
        items = items_of(messages)
        if self.session is not None:
            run_async(self._begin_session(self.session, items))
        self._memory, self.current_agent = items, self.agent
        self.messages = MessageHistory()
        self._record_instructions()
        self.messages = MessageHistory([*self.messages, *name_tool_results(messages)])

    async def _begin_session(self, session: SdkSession, items: list[InputItem]) -> None:
        if await session.get_items():
            raise ConfigurationError(
                f"the session of agent {self.name!r} has messages already; give each adapter a "
                "session of its own, or none"
            )
        await session.add_items(items)

    def _run_framework(self, query: str) -> str:
        with self._log_turn(query):
            return run_async(self._turn(query))

    async def _turn(self, query: str) -> str:
        sdk = sdk_module()
        if self._run_context is None:
            self._run_context = sdk.RunContextWrapper(self.context)
        if not self.messages:
            self._record_instructions()
        self.messages.add_message("user", query)
        asked = query if self.session else [*self._memory, {"role": "user", "content": query}]
        times = _times_class()()
        try:
            result = await sdk.Runner.run(
                self.current_agent,
                asked,
                context=self._run_context,
                max_turns=self.max_turns,
                run_config=self._effective_run_config(),
                session=self.session,
                hooks=times,
            )
        except Exception as error:
            if isinstance(error, sdk.AgentsException) and error.run_data is not None:
                add_items(self.messages, error.run_data.new_items, times.asked, times.answered)
            self._raise_provider_error(error)
            raise
        add_items(self.messages, result.new_items, times.asked, times.answered)
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
        in_order = sdk.ToolExecutionConfig(max_function_tool_concurrency=1)
        return replace(config, tool_execution=in_order)

    def _raise_provider_error(self, error: Exception) -> None:
        """Raise a provider's failure, for which the SDK has errors of its own."""
        sdk = sdk_module()
        kind: type[ProviderError] | None = None
        is_empty = isinstance(error, sdk.ModelBehaviorError) and _NO_CHOICES in str(error)
        if isinstance(error, sdk.ModelTimeoutError):
            kind = errors.ProviderTimeoutError
        elif isinstance(error, sdk.ModelRefusalError) and _FILTERED in str(error):
            kind = errors.ContentFilterError
        elif is_empty or is_unreadable_answer(error, "agents.models"):
            kind = errors.MalformedResponseError
        if kind is not None:
            raise self._provider_error(kind, error) from None

    def _gave_up(self, error: Exception) -> bool:
        sdk = sdk_module()
        return isinstance(
            error, sdk.MaxTurnsExceeded | sdk.ModelBehaviorError | sdk.ModelRefusalError
        )

    def _record_instructions(self) -> None:
        if isinstance(instructions := self.agent.instructions, str):
            self.messages.add_message("system", instructions)

    def _gather_usage(self) -> Usage:
        used: list[Usage] = [*self.work.usage]
        if self._run_context is not None and self._run_context.usage.total_tokens:
            used.append(self._without_delegated(tokens_of(self._run_context.usage)))
        return sum(used) or Usage()

    def _resolve_model_id(self) -> str | None:
        return _model_id(getattr(self.run_config, "model", None) or self.agent.model)

    def gather_config(self) -> dict[str, Any]:
        config = {
            "agents": [_description(agent) for agent in _reachable(self.agent)],
            "max_turns": self.max_turns,
            "session": None if self.session is None else type(self.session).__name__,
            "has_run_config": self.run_config is not None,
        }
        return {**super().gather_config(), "openai_agents_config": redact(config)}


def _model_id(model: object) -> str | None:
    name = model if isinstance(model, str) else getattr(model, "model", None)
    return None if name is None else str(name)


def _reachable(agent: Any) -> list[Any]:
    """Return the agent and all agents it can hand over to, as far as they are known."""
    found: list[Any] = []
    waiting = [agent]
    while waiting:
        agent = waiting.pop(0)
        if all(agent is not other for other in found):
            found.append(agent)
            waiting += [other for other in agent.handoffs if hasattr(other, "handoffs")]
    return found


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


class SdkWork(DelegatedWork):
    """The work of an agent for others: what its model was asked and answered in each run."""

    def __init__(self) -> None:
        super().__init__()
        self._system: str | None = None
        self._asked: list[InputItem] = []
        self._earlier = 0  # messages of the runs that are finished

    def begin_run(self) -> None:
        self._earlier = len(self.messages)

    def ask(self, system: str | None, asked: Sequence[InputItem]) -> None:
        """Note a request, which holds the run so far."""
        self._system, self._asked = system, list(asked)

    def answer(self, answer: Any) -> None:
        """Count a model's answer, and replace the messages of the run with those so far."""
        self.usage.append(tokens_of(answer.usage))
        run = MessageHistory()
        if self._system:
            run.add_message("system", self._system)
        add_inputs(run, [*self._asked, *answer.to_input_items()])
        for known, message in zip(self.messages[self._earlier :], run, strict=False):
            message["timestamp"] = known["timestamp"]
        self.messages[self._earlier :] = run


def observe_agent(agent: Any) -> None:
    """Give an agent hooks that tell its adapter of its work; its own hooks still work.

    The SDK tells an agent's own hooks of every answer of its model, whoever runs the agent. They
    pass this on to the adapter that the agent has in the current repetition.
    """
    kind = _hooks_class()
    if not isinstance(agent.hooks, kind):
        agent.hooks = kind(agent.hooks)


def _work_of(agent: object) -> SdkWork | None:
    """Return the record of an agent's work for others; None if it works for itself."""
    adapter = bystanding_adapter(agent, OpenAIAgentsAdapter)
    return None if adapter is None else adapter.work


@cache
def _times_class() -> Callable[[], Any]:
    base = sdk_module().RunHooks

    class Times(base):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            self.asked: list[str] = []
            self.answered: list[str] = []

        async def on_llm_start(self, *args: object) -> None:
            self.asked.append(now())

        async def on_llm_end(self, *args: object) -> None:
            self.answered.append(now())

    return Times


@cache
def observe_runs() -> None:
    """Let the SDK tell of agents without an adapter, too, which run as the tools of others."""
    runner = sdk_module().Runner
    own = runner.run

    @wraps(own)
    async def run(starting_agent: Any, *args: Any, **kwargs: Any) -> Any:
        leader = running_adapter()
        if leader is not None and getattr(leader, "current_agent", None) is not starting_agent:
            observe_agent(starting_agent)
        return await own(starting_agent, *args, **kwargs)

    runner.run = run


@cache
def _hooks_class() -> type[Any]:
    base = sdk_module().AgentHooks

    class WorkHooks(base):  # type: ignore[misc, valid-type]
        def __init__(self, own: Any) -> None:
            self.own = own

        async def on_start(self, context: Any, agent: Any) -> None:
            if (work := _work_of(agent)) is not None:
                work.begin_run()
            await self._forward("on_start", context, agent)

        async def on_llm_start(
            self, context: Any, agent: Any, system_prompt: str | None, input_items: Any
        ) -> None:
            if (work := _work_of(agent)) is not None:
                work.ask(system_prompt, input_items)
            await self._forward("on_llm_start", context, agent, system_prompt, input_items)

        async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
            if (work := _work_of(agent)) is not None:
                work.answer(response)
                leader = running_adapter()
                # Where the SDK adds the tokens of this run to the leader's.
                if leader is not None and context.usage is get(
                    get(leader, "_run_context"), "usage"
                ):
                    leader.delegated_usage.append(work.usage[-1])
            await self._forward("on_llm_end", context, agent, response)

        async def _forward(self, name: str, *args: Any, **kwargs: Any) -> None:
            if self.own is not None:
                await getattr(self.own, name)(*args, **kwargs)

    for name in ("on_end", "on_handoff", "on_tool_start", "on_tool_end"):
        setattr(WorkHooks, name, partialmethod(WorkHooks._forward, name))
    return WorkHooks
