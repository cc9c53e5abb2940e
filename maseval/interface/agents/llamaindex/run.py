"""Inside a LlamaIndex run: tools are called one after another, model answers are collected."""

import asyncio
import copy
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from typing import Any

from maseval.core.event_loop import in_thread
from maseval.interface.agents.llamaindex.workflow import ModelResponse, library
from maseval.interface.agents.tools import Tool, Tools, as_text, described
from maseval.interface.inference.definitions import JsonSchema

NOT_JSON = "Error: the arguments are not a valid JSON object, so nothing was done"

# Of the current run: the answers of its models, and the lock that orders its tool calls.
_answers: ContextVar[list[ModelResponse] | None] = ContextVar(
    "maseval_llamaindex_answers", default=None
)
_turn: ContextVar[asyncio.Lock | None] = ContextVar("maseval_llamaindex_turn", default=None)


def as_tools(tools: Tools) -> list[Any]:
    """Functions, such as ``environment.tools``, as LlamaIndex tools with their full schemas."""
    return [_tool_class()(tool) for tool in described(tools)]


@contextmanager
def overheard() -> Iterator[list[ModelResponse]]:
    """Collects the model answers of the code in the block, in all of its threads and tasks."""
    _listen()
    answers: list[ModelResponse] = []
    token = _answers.set(answers)
    try:
        yield answers
    finally:
        _answers.reset(token)


@contextmanager
def in_order() -> Iterator[None]:
    """Makes tool calls in the block run one after another, in the model's order.

    LlamaIndex starts the calls of one answer all at once, but their effect depends on their order.
    """
    token = _turn.set(asyncio.Lock())
    try:
        yield
    finally:
        _turn.reset(token)


@cache
def _tool_class() -> Callable[[Tool], object]:
    tools = library("llama_index.core.tools")

    class FunctionTool(tools.FunctionTool):  # type: ignore[misc, name-defined]
        def __init__(self, tool: Tool) -> None:
            metadata = tools.ToolMetadata(
                name=tool.name, description=tool.description, fn_schema=_model_of(tool.parameters)
            )
            super().__init__(fn=tool.function, metadata=metadata)

        # Positional-only: an argument sent by the model may have any name.
        def call(self, /, **arguments: object) -> object:
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

        async def acall(self, /, **arguments: object) -> object:
            async with _turn.get() or nullcontext():
                return await in_thread(lambda: self._call_alone(arguments))

        def _call_alone(self, arguments: dict[str, object]) -> object:
            # A tool may wait for another agent, whose calls must not wait for this one.
            _turn.set(None)
            return self.call(**arguments)

    return FunctionTool


def _was_sent(name: str, arguments: dict[str, object]) -> bool:
    """Whether a model really sent these arguments.

    LlamaIndex completes truncated arguments, and replaces unreadable ones with none.
    """
    blocks = (
        block
        for answer in _answers.get() or ()
        for block in getattr(getattr(answer, "message", None), "blocks", ())
    )
    calls = [block.tool_kwargs for block in blocks if getattr(block, "tool_name", None) == name]
    return not calls or arguments in map(_parsed, calls)


def _parsed(arguments: object) -> object:
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return None


def _model_of(parameters: JsonSchema) -> type[object]:
    """A class whose schema is ``parameters``, since LlamaIndex takes schemas in no other form.

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
def _listen() -> None:
    """Register, once per process, a handler that collects model answers."""
    handlers = library("llama_index.core.instrumentation.event_handlers")
    events = library("llama_index.core.instrumentation.events.llm")

    class Listener(handlers.BaseEventHandler):  # type: ignore[misc, name-defined]
        def handle(self, event: object, **kwargs: object) -> None:
            answers = _answers.get()
            kinds = (events.LLMChatEndEvent, events.LLMCompletionEndEvent)
            if answers is not None and isinstance(event, kinds) and event.response is not None:
                answers.append(event.response)

    library("llama_index.core.instrumentation").get_dispatcher().add_event_handler(Listener())
