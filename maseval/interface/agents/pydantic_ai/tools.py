"""Functions as tools of Pydantic AI, with their full schemas."""

import inspect
from typing import Any

from pydantic_core import SchemaValidator, core_schema

from maseval.core.event_loop import in_thread
from maseval.core.exceptions import AgentError
from maseval.interface.agents.pydantic_ai.agent import pydantic_ai
from maseval.interface.agents.tools import Tool, Tools, as_text, described


def as_tools(tools: Tools) -> list[Any]:
    """Functions, such as ``environment.tools``, as ``Tool`` with their full schemas."""
    return [_tool(tool) for tool in described(tools)]


def _tool(tool: Tool) -> object:
    library = pydantic_ai()
    # Of the wrapper, not of the wrapped function: a tool that accepts anything checks by itself.
    signature = inspect.signature(tool.function, follow_wrapped=False)

    async def call(**arguments: object) -> str:
        try:
            signature.bind(**arguments)
        except TypeError as error:
            raise library.ModelRetry(str(error)) from None
        try:
            return as_text(await in_thread(lambda: tool.function(**arguments)))
        except AgentError as error:  # the agent's own mistake, which it may correct
            raise library.ModelRetry(str(error)) from error

    made = library.Tool.from_schema(
        call,
        name=tool.name,
        description=tool.description,
        json_schema=tool.parameters,
        sequential=True,  # in the order of the calls in the model's answer
    )
    made.strict = False  # strict mode would rewrite the schema
    # Any JSON object passes unchanged; anything else is refused, and the model can try again.
    made.function_schema.validator = SchemaValidator(core_schema.dict_schema())
    return made
