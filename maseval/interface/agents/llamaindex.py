"""LlamaIndex: agents, workflows of agents, and engines that can chat or be queried."""

import asyncio
import copy
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import cache, wraps
from types import ModuleType
from typing import Any

from maseval.core.agent import AgentObserver
from maseval.core.clock import acting_agent, acting_as
from maseval.core.event_loop import in_thread, run_async, settle
from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.messages import Message, MessageHistory
from maseval.core.provider_errors import MalformedResponseError
from maseval.core.tracing import now
from maseval.core.usage import CostCalculator, TokenUsage
from maseval.interface import extras
from maseval.interface.agents.framework import (
    AskedLLMUser,
    FrameworkAgentAdapter,
    Tool,
    Tools,
    adapter_of,
    as_text,
    bystanding_adapter,
    describe_tools,
    member_name,
    running_adapter,
)
from maseval.interface.inference.chat_completions import JsonSchema, function_call, get, usage_of

__all__ = ["LlamaIndexAgentAdapter", "LlamaIndexLLMUser", "as_tools"]

MODULE, EXTRA, PACKAGE = "llama_index.core", "llamaindex", "llama-index-core"


@cache
def library(part: str) -> ModuleType:
    """Import a module of LlamaIndex: ``memory`` is ``llama_index.core.memory``."""
    return extras.load(f"{MODULE}.{part}", extra=EXTRA, package=PACKAGE)


NOT_JSON = "Error: the arguments are not a valid JSON object, so nothing was done"

# The answers of the models in the current run, and the lock that orders its tool calls.
_answers: ContextVar[list[Any] | None] = ContextVar("maseval_llamaindex_answers", default=None)
_turn: ContextVar[asyncio.Lock | None] = ContextVar("maseval_llamaindex_turn", default=None)


class LlamaIndexAgentAdapter(FrameworkAgentAdapter):
    """An agent or workflow of LlamaIndex, or an engine with ``chat`` or ``query``.

    ``max_iterations`` limits how often an agent may call its model in one turn (LlamaIndex: 20).
    ``memory`` is one of LlamaIndex's; the default is the one that its agents create themselves.
    The messages and usage of a workflow's agent belong to its own adapter, if it has one.
    """

    module, extra, package = MODULE, EXTRA, PACKAGE

    def __init__(
        self,
        agent_instance: object,
        name: str,
        callbacks: Iterable[AgentObserver] | None = None,
        max_iterations: int | None = None,
        cost_calculator: CostCalculator | None = None,
        model_id: str | None = None,
        *,
        memory: Any = None,
    ) -> None:
        super().__init__(agent_instance, name, callbacks, cost_calculator, model_id)
        self.max_iterations = max_iterations
        self.memory = memory
        self._transcript = Transcript()
        self._context: Any | None = None
        self._outputs: list[Any] = []  # the provider's answers that this turn's outputs carry
        is_engine = any(hasattr(agent_instance, name) for name in ("run_sync", "chat", "query"))
        if hasattr(agent_instance, "run") and not is_engine:
            _observe_runs()
        self._speaker: LlamaIndexAgentAdapter | None = None
        """The adapter of the agent of a workflow whose turn it is."""

    def _run_framework(self, query: str) -> str:
        self._transcript.add_message("user", query)
        self._outputs = []
        with _collect_answers() as answers:
            try:
                text = self._answer(query)
            finally:
                self._count(answers)
            # A stream in which nothing can be read ends like one that has nothing in it.
            if not text and not answers:
                raise self._provider_error(MalformedResponseError, "nothing in the model's answer")
            return text

    def _answer(self, query: str) -> str:
        agent = self.agent
        limit = {} if self.max_iterations is None else {"max_iterations": self.max_iterations}
        if hasattr(agent, "run_sync"):
            result = agent.run_sync(input=query)
        elif hasattr(agent, "chat"):
            result = agent.chat(query)
        elif hasattr(agent, "query"):
            result = agent.query(query)
        elif not isinstance(agent, library("workflow").Workflow):  # it has no context, no events
            result = settle(agent.run(user_msg=query, **limit))
        else:
            result = run_async(self._converse(query, limit))
        self._outputs = self._outputs or [getattr(result, "raw", None)]
        content = getattr(getattr(result, "response", None), "content", None)
        text = content if isinstance(content, str) else str(result)
        self._transcript.close(text)
        return text

    async def _converse(self, query: str, limit: dict[str, int]) -> object:
        context = self._context or library("workflow").Context(self.agent)
        self._context = None
        if self.memory is None:
            self.memory = library("memory").ChatMemoryBuffer.from_defaults(llm=self._llm)
        _turn.set(asyncio.Lock())  # LlamaIndex starts the calls of one answer all at once
        handler = self.agent.run(user_msg=query, memory=self.memory, ctx=context, **limit)
        try:
            self._speaker = None
            async for event in handler.stream_events():
                self._transcript.record(event)
                self._delegate(event)
                if isinstance(event, library("agent.workflow").AgentOutput):
                    self._outputs.append(event.raw)
            result: object = await handler
        except BaseException:
            # Its steps would go on, and call the tools of a repetition that is over.
            await handler.cancel_run()
            raise
        await self._keep(context)
        return result

    def _delegate(self, event: object) -> None:
        """Pass an event of a workflow's agent on to that agent's own adapter."""
        before = self._speaker
        if name := getattr(event, "current_agent_name", None):
            found = adapter_of(self._members.get(name))
            self._speaker = found if isinstance(found, LlamaIndexAgentAdapter) else None
        if self._speaker is not None and self._speaker is not self:
            transcript, asked = self._speaker._transcript, getattr(event, "input", None) or ()
            if self._speaker is not before:
                questions = [message for message in asked if message.role.value == "user"]
                for question in questions[-1:]:
                    transcript.add_message("user", question.content or "")
            transcript.record(event)
            is_answer = isinstance(event, library("agent.workflow").AgentOutput)
            used = tokens_of(getattr(event, "raw", None)) if is_answer else None
            if used is not None:
                self._speaker.used.append(used)
                self.delegated_usage.append(used)

    async def _keep(self, context: Any) -> None:
        """Keep the state that agents share, such as whose turn it is, without that of this turn."""
        # A context is copied for its next run, which loses a memory with tool calls; so the memory
        # is passed to every run.
        await context.store.set("memory", None)
        # A stopped agent leaves calls without results, which no model would accept.
        for agent in self._members.values() or [self.agent]:
            for notes in ("scratchpad_key", "reasoning_key"):
                if key := getattr(agent, notes, None):
                    await context.store.set(key, [])
        self._context = context

    def _count(self, answers: list[Any]) -> None:
        # Models that chat by completing a text report one answer twice; others report none, as an
        # agent that asks its model in a way of its own.
        raws = [answer.raw for answer in answers] or self._outputs
        different = {id(raw): raw for raw in raws}
        used = [tokens for raw in different.values() if (tokens := tokens_of(raw)) is not None]
        self.used += used
        if answers and not used:
            logging.getLogger(__name__).warning(
                "the model of agent %r does not report its tokens; for a streaming OpenAI model "
                'set additional_kwargs={"stream_options": {"include_usage": True}}',
                self.name,
            )

    def _gave_up(self, error: Exception) -> bool:
        errors = library("workflow.errors")
        return isinstance(error, errors.WorkflowTimeoutError) or (
            isinstance(error, errors.WorkflowRuntimeError) and "Max iterations" in str(error)
        )

    def get_messages(self) -> MessageHistory:
        memory = getattr(self.agent, "memory", None)
        kept = memory.get_all() if memory is not None and hasattr(memory, "get_all") else None
        if kept := kept or getattr(self.agent, "chat_history", None):
            return MessageHistory([openai_message(message) for message in kept])
        return MessageHistory([*self._transcript, *self.messages_for_others])

    @property
    def _members(self) -> dict[str, object]:
        members = getattr(self.agent, "agents", None)
        return dict(members) if isinstance(members, Mapping) else {}

    @property
    def _llm(self) -> object:
        root = self._members.get(getattr(self.agent, "root_agent", ""), self.agent)
        return getattr(root, "llm", None) or getattr(root, "_llm", None)

    def _resolve_model_id(self) -> str | None:
        model_name = getattr(getattr(self._llm, "metadata", None), "model_name", None)
        return None if model_name is None else str(model_name)

    def _settings(self) -> dict[str, Any]:
        config = {
            "max_iterations": self.max_iterations,
            "early_stopping_method": getattr(self.agent, "early_stopping_method", None),
            "streaming": getattr(self.agent, "streaming", None),
            "timeout": getattr(self.agent, "_timeout", None),
        }
        if members := self._members:
            config["root_agent"] = self.agent.root_agent
            config["agents"] = [_description(member) for member in members.values()]
        return {**_description(self.agent), "workflow_config": config}


def _description(agent: object) -> dict[str, object]:
    llm = getattr(agent, "llm", None) or getattr(agent, "_llm", None)
    return {
        "agent_name": getattr(agent, "name", None),
        "agent_description": getattr(agent, "description", None),
        "system_prompt": getattr(agent, "system_prompt", None),
        "tools": [
            {"name": tool.metadata.name, "description": tool.metadata.description}
            for tool in getattr(agent, "tools", None) or ()
        ],
        "llm": None if llm is None else llm.metadata.model_dump(mode="json"),
    }


def as_tools(tools: Tools) -> list[Any]:
    """Return functions, such as ``environment.tools``, as LlamaIndex tools with full schemas."""
    return [_tool_class()(tool) for tool in describe_tools(tools)]


class LlamaIndexLLMUser(AskedLLMUser):
    """A simulated user that a LlamaIndex agent can ask through a tool."""

    as_tools = staticmethod(as_tools)


@contextmanager
def _collect_answers() -> Iterator[list[Any]]:
    """Collect the model answers of the code in the block, in all of its threads and tasks."""
    _register_collector()
    answers: list[Any] = []
    token = _answers.set(answers)
    try:
        yield answers
    finally:
        _answers.reset(token)


class MemberAnswers(list[Any]):
    """The model answers of one run that others made of an agent; its work is noted meanwhile."""

    def __init__(self, adapter: FrameworkAgentAdapter) -> None:
        super().__init__()
        self._adapter, self._earlier = adapter, len(adapter.messages_for_others)

    def note(self, asked: Sequence[Any], answer: Any) -> None:
        """Note an answer, and all messages of the run so far."""
        said = [*asked, getattr(answer, "message", None)]
        messages = [openai_message(message) for message in said if message is not None]
        # Each request holds the whole run, so it replaces what the one before had noted.
        self._adapter.messages_for_others[self._earlier :] = messages
        self._adapter.note_times()
        if (used := tokens_of(get(answer, "raw"))) is not None:
            self._adapter.used.append(used)


@cache
def _observe_runs() -> None:
    """Let adapters record the runs that others make of agents, such as a tool does."""
    agents = library("agent.workflow")

    def observed(own: Callable[..., object]) -> Callable[..., object]:
        @wraps(own)
        def run(self: object, *args: object, **kwargs: object) -> object:
            if (adapter := bystanding_adapter(self, LlamaIndexAgentAdapter)) is None:
                return own(self, *args, **kwargs)
            _register_collector()
            # What is run takes the context with it.
            token = _answers.set(MemberAnswers(adapter))
            try:
                with acting_as(adapter.name):
                    return own(self, *args, **kwargs)
            finally:
                _answers.reset(token)

        return run

    for kind in (agents.BaseWorkflowAgent, agents.AgentWorkflow):
        kind.run = observed(kind.run)


_CONTEXT = "context of the workflow"  # which no model can send as an argument's name


def _caller(within: str | None) -> str | None:
    """Return the name of the agent that calls: of a workflow's member, or of the leader."""
    members = getattr(getattr(running_adapter(), "agent", None), "agents", None)
    return member_name(members.get(within)) if isinstance(members, Mapping) else acting_agent()


@cache
def _tool_class() -> Callable[[Tool], object]:
    tools = library("tools")

    class LlamaIndexFunctionTool(tools.FunctionTool):  # type: ignore[misc, name-defined]
        def __init__(self, tool: Tool) -> None:
            metadata = tools.ToolMetadata(
                name=tool.name, description=tool.description, fn_schema=_model_of(tool.parameters)
            )
            super().__init__(fn=tool.function, metadata=metadata)
            # The context tells which agent of a workflow makes the call.
            self.requires_context, self.ctx_param_name = True, _CONTEXT

        # Positional-only: an argument sent by the model may have any name.
        def call(self, /, **arguments: object) -> object:
            arguments.pop(_CONTEXT, None)
            name = self.metadata.name
            sent = _was_sent(name, arguments)
            result = self.fn(**arguments) if sent else NOT_JSON
            return tools.ToolOutput(
                tool_name=name,
                content=as_text(result),
                raw_input=arguments,
                raw_output=result,
                is_error=not sent,
            )

        async def acall(self, /, **arguments: Any) -> object:
            context = arguments.pop(_CONTEXT, None)
            within = context and await context.store.get("current_agent_name", default=None)
            async with _turn.get() or nullcontext():
                with acting_as(_caller(within)):
                    return await in_thread(lambda: self._call_alone(arguments))

        def _call_alone(self, arguments: dict[str, object]) -> object:
            # A tool may wait for another agent, whose calls must not wait for this one.
            _turn.set(None)
            return self.call(**arguments)

    return LlamaIndexFunctionTool


def _was_sent(name: str, arguments: dict[str, object]) -> bool:
    """Return True if a model really sent these arguments.

    LlamaIndex completes truncated arguments, and replaces unreadable ones with none.
    """
    blocks = (
        block
        for answer in _answers.get() or ()
        for block in getattr(getattr(answer, "message", None), "blocks", ())
    )
    calls = [block.tool_kwargs for block in blocks if getattr(block, "tool_name", None) == name]
    for sent in calls:
        with suppress(ValueError):
            if arguments == (json.loads(sent) if isinstance(sent, str) else sent):
                return True
    return not calls


def _model_of(parameters: JsonSchema) -> type[object]:
    """Return a class whose schema is ``parameters``: LlamaIndex takes schemas in no other form.

    It does not validate arguments.
    """

    from pydantic import BaseModel, ConfigDict  # here, because importing it is slow

    class Parameters(BaseModel):
        model_config = ConfigDict(extra="allow")

        @classmethod
        def model_json_schema(cls, *args: object, **kwargs: object) -> JsonSchema:
            return copy.deepcopy(parameters)

    return Parameters


@cache
def _register_collector() -> None:
    """Register, once per process, a handler that collects model answers."""
    handlers = library("instrumentation.event_handlers")
    events = library("instrumentation.events.llm")

    class AnswerCollector(handlers.BaseEventHandler):  # type: ignore[misc, name-defined]
        def handle(self, event: object, **kwargs: object) -> None:
            answers = _answers.get()
            kinds = (events.LLMChatEndEvent, events.LLMCompletionEndEvent)
            if answers is not None and isinstance(event, kinds) and event.response is not None:
                answers.append(event.response)
                if isinstance(answers, MemberAnswers):
                    answers.note(getattr(event, "messages", ()), event.response)

    library("instrumentation").get_dispatcher().add_event_handler(AnswerCollector())


class Transcript(MessageHistory):
    """A conversation as the events of a workflow report it, including the tool calls."""

    _has_instructions = False

    def record(self, event: object) -> None:
        """Record an event, if it is part of the conversation.

        A failure that is not the agent's, such as a user's or a deadline, is raised; LlamaIndex
        would pass it to the agent as the result of a tool.
        """
        events = library("agent.workflow")
        if isinstance(event, events.AgentInput):
            self._add_instructions(event.input)
        elif isinstance(event, events.AgentOutput):
            self._add_answer(event)
        elif isinstance(event, events.ToolCallResult):
            error = getattr(event.tool_output, "exception", None)
            if isinstance(error, MASEvalError) and not isinstance(error, AgentError):
                raise error
            self.add_tool_response(event.tool_id, event.tool_output.content, name=event.tool_name)

    def close(self, answer: str) -> None:
        """End a turn with its answer; the last message may contain more than the answer."""
        last = self[-1]
        if last["role"] == "assistant" and not last.get("tool_calls"):
            last["content"] = answer
        else:
            self.add_message("assistant", answer)

    def _add_instructions(self, asked: Sequence[Any]) -> None:
        is_first, self._has_instructions = not self._has_instructions, True
        if is_first and asked and asked[0].role.value == "system":
            instructions = openai_message(asked[0])
            instructions["timestamp"] = self[0].get("timestamp") or now()
            self._messages.insert(0, instructions)

    def _add_answer(self, event: Any) -> None:
        message = openai_message(event.response)
        # Agents without native tool calls write them into the text, from which LlamaIndex parses
        # them. At the end it adds all results to the same list; those are not calls.
        calls = message.get("tool_calls") or [
            function_call(call.tool_id, call.tool_name, call.tool_kwargs)
            for call in event.tool_calls
            if not hasattr(call, "tool_output")
        ]
        metadata: dict[str, object] = {"agent": _caller(event.current_agent_name)}
        if calls:
            self.add_tool_call(calls, message["content"], metadata=metadata)
        else:
            self.add_message("assistant", message["content"] or "", metadata=metadata)


def openai_message(message: Any) -> Message:
    """Convert a ``ChatMessage`` to OpenAI's form; blocks that call tools have ``tool_kwargs``."""
    more = message.additional_kwargs
    blocks = [block for block in message.blocks if hasattr(block, "tool_kwargs")]
    calls = [function_call(b.tool_call_id, b.tool_name, b.tool_kwargs) for b in blocks] or [
        function_call(get(call, "id"), get(function, "name"), get(function, "arguments"))
        for call in more.get("tool_calls") or ()
        if (function := get(call, "function"))
    ]
    known: Message = {"role": message.role.value, "content": message.content or ""}
    if calls:
        known["tool_calls"] = calls
    if call_id := more.get("tool_call_id"):
        known["tool_call_id"] = call_id
    if name := more.get("name"):
        known["name"] = name
    return known


def tokens_of(raw: object) -> TokenUsage | None:
    usage = get(raw, "usage")
    if get(usage, "input_tokens") is None:
        counted = usage_of(usage)
    else:  # as Anthropic counts
        asked, answered = get(usage, "input_tokens"), get(usage, "output_tokens") or 0
        counted = {
            "input_tokens": asked,
            "output_tokens": answered,
            "total_tokens": asked + answered,
            "cached_input_tokens": get(usage, "cache_read_input_tokens"),
            "cache_creation_input_tokens": get(usage, "cache_creation_input_tokens"),
        }
    if counted is None:
        return None
    return TokenUsage.from_chat_response_usage(counted, cost=counted.get("cost") or 0.0)
