"""A model's answer, checked once where it enters: after this its parts are what their types say.

What can be read is read: an id that is a number becomes text, a number of tokens that is none is
left out. What cannot be read is an ``UnreadableAnswerError``, which a model reports as its
provider's fault. What the model itself wrote, such as the arguments of a call, is the agent's.
"""

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import cast

from maseval.core.exceptions import UnreadableAnswerError
from maseval.core.messages import ChatResponse, ChatUsage, Reasoning, ToolCall
from maseval.core.recorded import mapping
from maseval.core.words import excerpt

logger = logging.getLogger(__name__)

# More tokens than any provider will ever count in one answer, and a number that sums still hold.
_MOST_TOKENS = 10**12

MOST_CALLS = 128
"""The most tool calls of one answer; with more at each step no simulation ends in time."""


def check_answer(answer: ChatResponse) -> ChatResponse:
    """Return the answer with all its parts in their proper types."""
    return replace(
        answer,
        content=_text_or_none("content", answer.content),
        tool_calls=_check_calls(answer.tool_calls),
        role=answer.role if isinstance(answer.role, str) else "assistant",
        usage=_check_usage(answer.usage),
        model=None if answer.model is None else str(answer.model),
        stop_reason=None if answer.stop_reason is None else str(answer.stop_reason),
        reasoning=_check_reasoning(answer.reasoning),
    )


def size_of(answer: ChatResponse) -> int:
    calls = (call["function"] for call in answer.tool_calls or ())
    written = sum(len(call["name"]) + len(call["arguments"]) for call in calls)
    thought = (answer.reasoning or {}).get("text", "")
    return len(answer.content or "") + written + len(thought)


def tokens(value: object) -> int:
    """Return a number of tokens as a provider reports it; 0 if it is none."""
    number = _finite(value)
    if number is None or not 0 <= number <= _MOST_TOKENS:
        _warn_of_number(value)
        return 0
    return int(number)


def amount(value: object) -> float | None:
    """Return a cost as a provider reports it; None if it is none."""
    number = _finite(value)
    if number is None or number < 0:
        _warn_of_number(value)
        return None
    return number


def _warn_of_number(value: object) -> None:
    if value is not None:
        _warn_once(excerpt(repr(value), 40))


@lru_cache(maxsize=64)  # a run asks a model thousands of times; once is enough
def _warn_once(value: str) -> None:
    logger.warning("a provider reports %s as its usage: left out of the sums", value)


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    # JSON has integers of any length; no provider counted that many.
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _text_or_none(name: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise UnreadableAnswerError(f"the {name} is a {type(value).__name__}: {excerpt(value)}")


def _check_reasoning(reasoning: object) -> Reasoning | None:
    """Return the thoughts; what is no text, or nothing, is left out: nobody waits for it."""
    if reasoning is None:
        return None
    given = mapping(reasoning)
    kept: dict[str, object] = {
        name: given[name]
        for name in ("model", "text", "key")
        if isinstance(given.get(name), str) and given[name]
    }
    if details := mapping(given, "details"):
        kept["details"] = dict(details)
    return cast(Reasoning, kept) if {"text", "details"} & kept.keys() else None


def _check_calls(calls: object) -> list[ToolCall] | None:
    if calls is None:
        return None
    if not isinstance(calls, Sequence) or isinstance(calls, str | bytes):
        raise UnreadableAnswerError(f"tool_calls is not a list: {excerpt(calls)}")
    return [_check_call(call) for call in calls] or None


def _check_call(call: object) -> ToolCall:
    nested = mapping(call, "function")
    function = nested or mapping(call)  # adapters written for MASEval may give a call flat
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str):
        raise UnreadableAnswerError(f"a tool call without the name of a tool: {excerpt(call)}")
    if not nested and isinstance(arguments, dict):
        arguments = json.dumps(arguments)
    if not isinstance(arguments, str):
        raise UnreadableAnswerError(f"the arguments of {name!r} are not text: {excerpt(call)}")
    return {
        "id": call_id(mapping(call).get("id")),
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def call_id(given: object) -> str:
    """Return the id of a tool call as text, empty if there is none; some servers send numbers."""
    if given is None or isinstance(given, str):
        return given or ""
    if isinstance(given, int) and not isinstance(given, bool) and abs(given) < 10**100:
        return str(given)
    raise UnreadableAnswerError(f"the id of a tool call is not text: {excerpt(given, 80)}")


def tool_name(given: object) -> str:
    """Return the name of the tool that an answer calls; raise if it is empty or not text."""
    if not isinstance(given, str) or not given.strip():
        raise UnreadableAnswerError(f"a tool call without the name of a tool: {excerpt(given, 80)}")
    return given


def call_arguments(given: object) -> str | Mapping[str, object] | None:
    """Return the arguments of a tool call: JSON text, an object, or none; raise if they are not."""
    if given is None or isinstance(given, str | Mapping):
        return given
    raise UnreadableAnswerError(f"the arguments of a tool call are {excerpt(repr(given), 80)}")


def _check_usage(usage: object) -> ChatUsage | None:
    checked = {
        name: amount(value) if name == "cost" else tokens(value)
        for name, value in mapping(usage).items()
        if value is not None
    }
    kept = {name: value for name, value in checked.items() if value is not None}
    return cast(ChatUsage, kept) if kept else None
