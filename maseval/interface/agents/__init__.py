"""Adapters to agent frameworks, one file for each.

Every name can be listed and imported without any of the frameworks; they are needed at use. Each
file also has ``as_tools``, which turns functions into the framework's own tools.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "SmolAgentAdapter": "smolagents",
    "SmolAgentLLMUser": "smolagents",
    "LangGraphAgentAdapter": "langgraph",
    "LangGraphLLMUser": "langgraph",
    "LlamaIndexAgentAdapter": "llamaindex",
    "LlamaIndexLLMUser": "llamaindex",
    "CamelAgentAdapter": "camel",
    "CamelAgentUser": "camel",
    "CamelLLMUser": "camel",
    "OpenAIAgentsAdapter": "openai_agents",
    "PydanticAIAgentAdapter": "pydantic_ai",
    "ChatCompletionsAgentAdapter": "chat_completions",
    "McpAgentAdapter": "mcp",
    "serve_tools": "mcp_tools",
    "AgentGaveUpError": "framework",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
