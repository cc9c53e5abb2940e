"""A scripted model behind HTTP, and the questions that are put to the tools of every framework."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from maseval import ScriptedModelAdapter
from maseval.benchmark.tau2 import Tau2Environment
from maseval.core.clock import acting_agent
from maseval.core.provider_errors import (
    AuthenticationError,
    OverloadedError,
    ProviderConnectionError,
    ProviderTimeoutError,
    RateLimitError,
)
from maseval.core.scripted import Reply
from maseval.server import ModelServer
from maseval.testing import provider_server
from maseval.testing.provider_server import OpenAIProtocol
from tests.interface.libraries import py_example

NAME = "served"
KEY = "key-1234"
DOMAINS = ("airline", "retail", "telecom", "library")


CALLERS: list[str | None] = []
"""Who has called ``look``."""


def ask_in_vain() -> str:
    """Ask another model."""
    raise ProviderTimeoutError("too slow", provider="other", model_id="m")


def look(text: str, numbers: list[int], place: dict | None = None) -> str:
    """Look at something."""
    CALLERS.append(acting_agent())
    return text


LOOKING = {"name": "look", "arguments": {"text": "é", "numbers": []}}
ORDER = {"name": "get_order_details", "arguments": {"order_id": "#W2378156"}}

COUNTED = {
    "input_tokens": 100,
    "output_tokens": 20,
    "total_tokens": 120,
    "cached_input_tokens": 60,
    "reasoning_tokens": 5,
}
"""What a provider may say that an answer has used."""

NAMES = (
    *("self", "args", "kwargs", "arguments", "name", "type", "function", "tool", "tool_input"),
    *("input", "ctx", "config", "run_manager", "callbacks", "runtime", "state", "store"),
    *("tool_call_id", ""),
)
"""What an argument may be called, although a framework has its own use for most of it."""

HARD_ARGUMENTS = [
    {"text": 'été 東京 \U0001f600 "quoted" \\ \n'},
    {"text": 7, "numbers": "not a list", "place": ["not an object"]},
    {"text": None, "numbers": [1, 2.5, [3, {"deep": [None, True]}]]},
    {"numbers": [], "place": {"city": "Łódź", "unheard": 1}},
    {"text": "a", "unknown_key": {"nested": []}},
    {"text": "1", "numbers": ["2"], "place": None},
    {"number": "12", "flag": "true", "when": 1e300, "é": "\\u00e9"},
    {name: {name: number} for number, name in enumerate(NAMES)},
    {},
]
"""What a model may send to a tool."""

FAILURES = [
    (
        provider_server.Reply({"error": {"message": "slow"}}, 429, {"Retry-After": "7"}),
        RateLimitError,
    ),
    (provider_server.Reply({"error": {"message": "broken"}}, 500), OverloadedError),
    (provider_server.Reply({"error": {"message": "no such key"}}, 401), AuthenticationError),
    (provider_server.Reply("", drop=True), ProviderConnectionError),
    (provider_server.Reply({}, delay=1.0), ProviderTimeoutError),
]
"""What a provider may do instead of answering within half a second, and what it is called."""


UNREADABLE = [
    "{not json",
    [],
    {"hello": 1},
    OpenAIProtocol.empty(),
    *(
        {**OpenAIProtocol.text("Hello"), "choices": [{"index": 0, "message": message}]}
        for message in (1.5, "Hello", [])
    ),
    provider_server.Reply("<html>", headers={"Content-Type": "text/html"}),
]
"""What a provider may send as an answer that is none."""


@contextmanager
def served(
    *replies: Reply, name: str = NAME, **options: Any
) -> Iterator[tuple[ScriptedModelAdapter, str]]:
    """A model that plays the replies, and the URL where it does so, under ``name``."""
    model = ScriptedModelAdapter(replies, model_id=name, **options)
    with ModelServer(model) as server:
        yield model, server.url


def answers(model: ScriptedModelAdapter) -> list[str]:
    """What the model read of the tools' results."""
    messages = model.requests[-1]["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def recorded_calls(environment: Tau2Environment) -> list[tuple[str, dict]]:
    """The agent's calls, as the trajectory has them."""
    return [
        (call["name"], call["arguments"])
        for message in environment.trajectory.messages
        for call in message.get("tool_calls") or ()
        if call["requestor"] == "assistant"
    ]


def same_json(first: object, second: object) -> bool:
    """Equal to the letter: 1 is not 1.0 and not True."""
    return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def example_of(page: str) -> str:
    return py_example(f"agents/{page}")
