"""The parts of CAMEL that maseval uses or replaces: models, tools, memory, a token counter.

CAMEL reports too little of a request that failed: after the last 429 it raises an error of its own
that does not carry the provider's, and it meets an answer that it cannot read with whatever its
parser raises. CAMEL takes any ``ModelManager`` as an agent's models, so ours sees the requests.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import cache
from types import ModuleType
from typing import Any

from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.messages import Message, text_of
from maseval.interface import extras
from maseval.interface.agents.framework import (
    Tool,
    Tools,
    as_text,
    describe_tools,
    name_tool_results,
)


def camel_module(part: str) -> ModuleType:
    """Import a module of CAMEL: ``models`` is ``camel.models``."""
    return extras.load(f"camel.{part}", extra="camel", package="camel-ai")


def observe_models(
    models: Any,
    observe: Callable[[], AbstractContextManager[None]],
    check: Callable[[object], object],
) -> Any:
    """Return the same models; each request is made in ``observe()``, and ``check`` sees its answer.

    Nothing else is replaced: models, strategy and settings stay those of the ``ModelManager``.
    """
    kind = _observed_models_class(camel_module("models").ModelManager)
    return kind(models, observe, check)


def is_out_of_attempts(error: Exception) -> bool:
    """Return True if CAMEL gave up on a request after several attempts."""
    return isinstance(error, camel_module("models").ModelProcessingError)


@cache
def _observed_models_class(base: type) -> Callable[..., Any]:
    class ObservedModels(base):  # type: ignore[misc]
        def __init__(self, models: Any, observe: Any, check: Any) -> None:
            self.observed, self.observe, self.check = models, observe, check

        def __getattr__(self, name: str) -> object:
            return getattr(self.observed, name)

        def run(self, *args: object, **kwargs: object) -> object:
            with self.observe():
                answer = self.observed.run(*args, **kwargs)
            return self.check(answer)

        async def arun(self, *args: object, **kwargs: object) -> object:
            with self.observe():
                answer = await self.observed.arun(*args, **kwargs)
            return self.check(answer)

    return ObservedModels


def remember(agent: Any, messages: Iterable[Message]) -> None:
    """Replace all that the agent remembers, except its system message, with a conversation."""
    roles, kinds = camel_module("types").OpenAIBackendRole, camel_module("messages")
    agent.clear_memory()
    for message in name_tool_results(messages):
        text = text_of(message)
        speaker = {"role_name": agent.role_name, "role_type": agent.role_type}
        if message["role"] == "tool":
            result = kinds.FunctionCallingMessage(
                **speaker,
                meta_dict=None,
                content="",
                func_name=message.get("name"),
                result=text,
                tool_call_id=message.get("tool_call_id"),
            )
            agent.update_memory(result, roles.FUNCTION)
        elif message["role"] == "assistant":
            calls = message.get("tool_calls")
            answer = kinds.BaseMessage(
                **speaker, meta_dict={"tool_calls": list(calls)} if calls else None, content=text
            )
            agent.update_memory(answer, roles.ASSISTANT)
        else:
            question = kinds.BaseMessage.make_user_message("User", text)
            agent.update_memory(question, roles.USER)


def as_tools(tools: Tools) -> list[Any]:
    """Return functions, such as ``environment.tools``, as ``FunctionTool`` with full schemas."""
    make = _tool_class(camel_module("toolkits").FunctionTool)
    return [make(tool) for tool in describe_tools(tools)]


class Escape(BaseException):
    """Carries an error out of a tool: CAMEL turns any ``Exception`` into text for the model."""

    def __init__(self, error: MASEvalError) -> None:
        self.error = error


@cache
def _tool_class(base: type) -> Callable[[Tool], object]:
    class CamelFunctionTool(base):  # type: ignore[misc]
        def __init__(self, tool: Tool) -> None:
            super().__init__(_without_signature(tool), tool.definition)

        def __call__(self, /, *args: object, **arguments: object) -> object:
            """Call the function; ``self`` by position only, since an argument may be so named."""
            result: object = self.func(*args, **arguments)
            return result

        @staticmethod
        def validate_openai_tool_schema(openai_tool_schema: object) -> None:
            """Do nothing: CAMEL would check the schema at every request, and warn each time."""

    return CamelFunctionTool


def _without_signature(tool: Tool) -> Callable[..., str]:
    """Return the tool's function without its signature, by which CAMEL would convert arguments."""

    def call(*args: object, **arguments: object) -> str:
        try:
            return as_text(tool.function(*args, **arguments))
        except AgentError:  # for the agent to read and correct
            raise
        except MASEvalError as error:
            raise Escape(error) from error

    call.__name__ = tool.name
    return call


def token_counter() -> Any:
    """Return a counter that estimates four characters per token, to pass to a CAMEL model.

    Without one, CAMEL downloads a tokenizer when an agent is created, which needs the internet.
    """
    return _counter_class(camel_module("utils").BaseTokenCounter)()


@cache
def _counter_class(base: type) -> Callable[[], object]:
    class CharacterCounter(base):  # type: ignore[misc]
        def count_tokens_from_messages(self, messages: list[Message]) -> int:
            return sum(len(self.encode(str(message))) for message in messages)

        def encode(self, text: str) -> list[int]:
            return [0] * (len(text) // 4)

        def decode(self, token_ids: list[int]) -> str:
            return ""

    return CharacterCounter
