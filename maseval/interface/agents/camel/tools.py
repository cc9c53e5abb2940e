"""What CAMEL is given: tools that reach their functions unharmed, and a counter of tokens."""

from functools import cache
from typing import Any

from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.messages import Message
from maseval.interface import extras
from maseval.interface.agents.tools import Tool, Tools, as_text, described


def as_tools(tools: Tools) -> list[Any]:
    """The tools as CAMEL's ``FunctionTool``, with their full schemas."""
    make = _tool_class(_of_camel("toolkits").FunctionTool)
    return [make(tool) for tool in described(tools)]


def token_counter() -> Any:
    """A counter that takes four characters for a token, to give to a CAMEL model.

    Without one, CAMEL downloads a tokenizer when an agent is made, which needs the internet.
    """
    return _counter_class(_of_camel("utils").BaseTokenCounter)()


def _of_camel(part: str) -> Any:
    return extras.load(f"camel.{part}", extra="camel", package="camel-ai")


class Escape(BaseException):
    """Carries an error out of a tool: any ``Exception`` becomes a text for the model in CAMEL."""

    def __init__(self, error: MASEvalError) -> None:
        self.error = error


@cache
def _tool_class(base: Any) -> Any:
    class RecordedTool(base):  # type: ignore[misc]
        def __init__(self, tool: Tool) -> None:
            told = {"name": tool.name, "description": tool.description}
            function = {**told, "parameters": tool.parameters}
            super().__init__(_unchanged(tool), {"type": "function", "function": function})

        def __call__(self, /, *args: Any, **arguments: Any) -> Any:  # one may be named `self`
            return self.func(*args, **arguments)

        @staticmethod
        def validate_openai_tool_schema(openai_tool_schema: dict[str, Any]) -> None:
            """Nothing: CAMEL would check the schema at every request, and warn each time."""

    return RecordedTool


def _unchanged(tool: Tool) -> Any:
    """The tool's function without its signature, by which CAMEL would convert arguments."""

    def call(*args: Any, **arguments: Any) -> str:
        try:
            return as_text(tool.function(*args, **arguments))
        except AgentError:  # for the agent to read, and to do better
            raise
        except MASEvalError as error:
            raise Escape(error) from error

    call.__name__ = tool.name
    return call


@cache
def _counter_class(base: Any) -> Any:
    class CharacterCounter(base):  # type: ignore[misc]
        def count_tokens_from_messages(self, messages: list[Message]) -> int:
            return sum(len(self.encode(str(message))) for message in messages)

        def encode(self, text: str) -> list[int]:
            return [0] * (len(text) // 4)

        def decode(self, token_ids: list[int]) -> str:
            return ""

    return CharacterCounter
