"""Functions as tools of the OpenAI Agents SDK, with their full schemas."""

import json
from typing import Any

from maseval.core.event_loop import in_thread
from maseval.core.exceptions import AgentError, MASEvalError
from maseval.interface.agents.openai_agents.sdk import sdk_module
from maseval.interface.agents.tools import Tool, Tools, as_text, described


def as_tools(tools: Tools) -> list[Any]:
    """Functions, such as ``environment.tools``, as ``FunctionTool`` with their full schemas."""
    return [_function_tool(tool) for tool in described(tools)]


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
