"""What CAMEL is given: tools that receive their arguments unchanged, and a token counter."""

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.messages import Message
from maseval.interface import extras
from maseval.interface.agents.tools import Tool, Tools, as_text, described


def as_tools(tools: Tools) -> list[Any]:
    """Functions, such as ``environment.tools``, as ``FunctionTool`` with their full schemas."""
    make = _tool_class(camel_module("toolkits").FunctionTool)
    return [make(tool) for tool in described(tools)]


def token_counter() -> Any:
    """A counter that estimates four characters per token, to pass to a CAMEL model.

    Without one, CAMEL downloads a tokenizer when an agent is created, which needs the internet.
    """
    return _counter_class(camel_module("utils").BaseTokenCounter)()


def camel_module(part: str) -> ModuleType:
    """A module of CAMEL: ``models`` is ``camel.models``."""
    return extras.load(f"camel.{part}", extra="camel", package="camel-ai")


class Escape(BaseException):
    """Carries an error out of a tool: CAMEL turns any ``Exception`` into text for the model."""

    def __init__(self, error: MASEvalError) -> None:
        self.error = error


@cache
def _tool_class(base: type) -> Callable[[Tool], object]:
    class RecordedTool(base):  # type: ignore[misc]
        def __init__(self, tool: Tool) -> None:
            super().__init__(_without_signature(tool), tool.definition)

        def __call__(self, /, *args: object, **arguments: object) -> object:
            """By position only: an argument may be named ``self``."""
            result: object = self.func(*args, **arguments)
            return result

        @staticmethod
        def validate_openai_tool_schema(openai_tool_schema: object) -> None:
            """Nothing: CAMEL would check the schema at every request, and warn each time."""

    return RecordedTool


def _without_signature(tool: Tool) -> Callable[..., str]:
    """The tool's function without its signature, by which CAMEL would convert arguments."""

    def call(*args: object, **arguments: object) -> str:
        try:
            return as_text(tool.function(*args, **arguments))
        except AgentError:  # for the agent to read and correct
            raise
        except MASEvalError as error:
            raise Escape(error) from error

    call.__name__ = tool.name
    return call


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
