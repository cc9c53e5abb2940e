"""Inside a LlamaIndex run: tools are called one after another, model answers are collected.

Here are also the conversions of messages, and the classes of LlamaIndex as far as they are used.
"""

import asyncio
import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache, wraps
from types import ModuleType
from typing import Any

from maseval.core.clock import acting_agent, acting_as
from maseval.core.event_loop import in_thread
from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.messages import Message, MessageHistory
from maseval.core.tracing import now
from maseval.core.usage import TokenUsage
from maseval.interface import extras
from maseval.interface.agents.framework import (
    FrameworkAgentAdapter,
    Tool,
    Tools,
    as_text,
    bystanding_adapter,
    describe_tools,
    member_name,
    running_adapter,
)
from maseval.interface.inference.chat_completions import JsonSchema, function_call, get, usage_of

MODULE, EXTRA, PACKAGE = "llama_index.core", "llamaindex", "llama-index-core"


@cache
def library(part: str) -> ModuleType:
    """Import a module of LlamaIndex: ``memory`` is ``llama_index.core.memory``."""
    return extras.load(f"{MODULE}.{part}", extra=EXTRA, package=PACKAGE)


NOT_JSON = "Error: the arguments are not a valid JSON object, so nothing was done"

# The answers of the models in the current run, and the lock that orders its tool calls.
_answers: ContextVar[list[Any] | None] = ContextVar("maseval_llamaindex_answers", default=None)
_turn: ContextVar[asyncio.Lock | None] = ContextVar("maseval_llamaindex_turn", default=None)


def as_tools(tools: Tools) -> list[Any]:
    """Return functions, such as ``environment.tools``, as LlamaIndex tools with full schemas."""
    return [_tool_class()(tool) for tool in describe_tools(tools)]


@contextmanager
def collect_answers() -> Iterator[list[Any]]:
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
        messages = [openai_message(each) for each in said if each is not None]
        self._adapter.messages_for_others[self._earlier :] = messages
        self._adapter.note_times()
        if (used := tokens_of(get(answer, "raw"))) is not None:
            self._adapter.used.append(used)


@cache
def observe_runs(kind: type[FrameworkAgentAdapter]) -> None:
    """Let adapters record the runs that others make of agents, such as a tool does."""
    agents = library("agent.workflow")

    def observed(own: Callable[..., object]) -> Callable[..., object]:
        @wraps(own)
        def run(self: object, *args: object, **kwargs: object) -> object:
            if (adapter := bystanding_adapter(self, kind)) is None:
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

    for each in (agents.BaseWorkflowAgent, agents.AgentWorkflow):
        each.run = observed(each.run)


@contextmanager
def run_tools_in_order() -> Iterator[None]:
    """Make tool calls in the block run one after another, in the model's order.

    LlamaIndex starts the calls of one answer all at once, but their effect depends on their order.
    """
    token = _turn.set(asyncio.Lock())
    try:
        yield
    finally:
        _turn.reset(token)


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
    return not calls or arguments in map(_parse_arguments, calls)


def _parse_arguments(arguments: object) -> object:
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return None


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
            text = event.tool_output.content
            self.add_tool_response(event.tool_id, text, name=event.tool_name)

    def close(self, answer: str) -> None:
        """End a turn with its answer; the last message may contain more than the answer."""
        last = self[-1]
        if last["role"] == "assistant" and not last.get("tool_calls"):
            last["content"] = answer
        else:
            self.add_message("assistant", answer)

    def _add_instructions(self, asked: Sequence[Any]) -> None:
        """Record the instructions of the first agent."""
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


def is_output(event: object) -> bool:
    """Return True if an event is an agent's answer."""
    return isinstance(event, library("agent.workflow").AgentOutput)


def tokens_of(raw: object) -> TokenUsage | None:
    """Return the tokens of one answer, as the provider reports them."""
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
