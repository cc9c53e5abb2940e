"""Tools that are found by reading: what they say about themselves, and how their calls are made.

The description of such a tool is the answer of another tool, so a conversation can only be replayed
with the original's own words. They come from the extracted texts and are not part of maseval.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/tools.py (MIT, Sierra Research).
"""

import inspect
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from maseval.benchmark.tau2.domains.banking_knowledge.values import Refused, json_problem, lines
from maseval.benchmark.tau2.texts.loading import load_texts
from maseval.benchmark.tau2.texts.texts import DiscoverableTool

_VERSION = "1.0.1"
_MODULE = "tau2.domains.banking_knowledge.tools"

Descriptions = Mapping[str, DiscoverableTool]


def descriptions() -> tuple[Descriptions, Descriptions]:
    """Return the texts of the discoverable tools, agent's and user's, fetched if need be."""
    return _load_descriptions(load_texts(_VERSION, verbose=0).sha256)


@cache
def _load_descriptions(sha256: str) -> tuple[Descriptions, Descriptions]:
    tools = load_texts(_VERSION, verbose=0).tools["banking_knowledge"]
    agent, user = tools.discoverable_assistant, tools.discoverable_user
    return {tool.name: tool for tool in agent}, {tool.name: tool for tool in user}


def success_text(name: str) -> str:
    """Return a discoverable tool's own words about its result, said when it has done its work."""
    agent, user = descriptions()
    tool = agent.get(name) or user[name]
    _, told, result = tool.description.rpartition("Returns:\n")
    return result.strip() if told else tool.success_message


def executed(tool: str, *parts: str | None) -> str:
    """Return the lines of the answer of a discoverable tool, after its own words and its name."""
    return lines(success_text(tool), "", f"Executed: {tool}", *parts)


def parse_arguments(arguments: str, *, whole_numbers: bool = False) -> Any:
    """The arguments of a call; unless ``whole_numbers`` are to stay, they become floats."""
    try:
        return json.loads(arguments, parse_int=None if whole_numbers else float)
    except json.JSONDecodeError as error:
        raise Refused(f"Error: Invalid JSON in arguments: {json_problem(error)}") from None


def call_tool(tool: Callable[..., str], arguments: Any) -> str:
    """Call a tool with what was parsed, which need not be a mapping."""
    if not isinstance(arguments, Mapping):
        raise TypeError(
            f"{_MODULE}.{tool.__qualname__}() argument after ** must be a mapping, "
            f"not {type(arguments).__name__}"
        )
    return tool(**arguments)


def signature(function: Callable[..., str]) -> Mapping[str, inspect.Parameter]:
    """A tool's parameters by name."""
    return inspect.signature(function).parameters


def manual(tool: DiscoverableTool) -> str:
    """A tool's description and its parameters, as an agent that unlocks it reads them."""
    parameters = "\n".join(
        f"  - {name}: {parameter.type} ({'required' if parameter.required else 'optional'}) - "
        f"{parameter.description}"
        for name, parameter in tool.parameters.items()
    )
    return (
        f"Tool: {tool.name}\nDescription: {tool.description}\n"
        f"Parameters:\n{parameters or '  (no parameters)'}"
    )
