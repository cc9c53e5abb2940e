"""Functions as LangChain tools, which LangGraph runs."""

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from maseval.core.exceptions import AgentError
from maseval.interface import extras
from maseval.interface.agents.tools import Tools, described


def langchain(module: str) -> ModuleType:
    """A module of LangChain's core, on which LangGraph is built."""
    extras.load("langgraph", extra="langgraph")
    return extras.load(f"langchain_core.{module}", extra="langgraph", package="langchain-core")


def as_tools(tools: Tools) -> list[Any]:
    """Functions, such as ``environment.tools``, as LangChain tools with their full schemas."""
    make = _tool_class(langchain("tools").BaseTool)
    return [
        make(
            name=tool.name,
            description=tool.description,
            args_schema=tool.parameters,
            function=tool.function,
        )
        for tool in described(tools)
    ]


@cache
def _tool_class(base: type) -> Callable[..., object]:
    class FunctionTool(base):  # type: ignore[misc]
        """Passes arguments to the function as they come, whatever their names and types."""

        function: Callable[..., object]

        def run(self, tool_input: object, *args: object, **kwargs: object) -> object:
            result: object = super().run({"arguments": tool_input}, *args, **kwargs)
            return result

        async def arun(self, tool_input: object, *args: object, **kwargs: object) -> object:
            result: object = await super().arun({"arguments": tool_input}, *args, **kwargs)
            return result

        def _run(self, arguments: dict[str, Any]) -> object:
            try:
                return self.function(**arguments)
            except AgentError as error:  # the agent's own mistake, which it may correct
                return f"Error: {error}"

    return FunctionTool
