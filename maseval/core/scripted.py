"""ScriptedModelAdapter: a language model that returns prepared replies.

For tests, demonstrations and dry runs: everything around the model is real, the model costs
nothing, and it records the requests it receives.
"""

import copy
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, cast

from maseval.core.answer_cache import AnswerCache
from maseval.core.exceptions import (
    ConfigurationError,
    HookResultError,
    ScriptExhaustedError,
    UnknownModelError,
)
from maseval.core.messages import (
    ChatResponse,
    ChatUsage,
    Message,
    ToolCall,
    chat_usage,
    text_of,
    tool_call,
)
from maseval.core.model import ModelAdapter, Params
from maseval.core.storage import strict_json
from maseval.core.tracing import JsonObject
from maseval.core.usage import CostCalculator

Tools: TypeAlias = Sequence[JsonObject] | None
FixedReply: TypeAlias = (
    str | ChatResponse | Mapping[str, Any] | Sequence[Mapping[str, Any]] | BaseException
)
Reply: TypeAlias = FixedReply | Callable[[list[Message], Tools], FixedReply]
"""One reply of a scripted model: a text, a whole ``ChatResponse``, one tool call or a list of them,
an exception to raise, or a function that sees the request and returns one of these.

A tool call has OpenAI's form (see ``tool_call``) or is short: ``{"name", "arguments", "id"?}``. A
mapping with ``content`` or ``tool_calls`` is a text with calls, and may have ``reasoning``."""


class ScriptedModelAdapter(ModelAdapter):
    """Returns ``replies`` one after another; ``requests`` records what it received.

    Args:
        replies: The replies in order, or one function that answers every request.
        model_id: The id to report.
        seed: As for every model; it has no effect here.
        cost_calculator: Computes the cost of the usage.
        usage: The usage of each reply. By default it is estimated from the texts, a token for
            every four characters, so that the same conversation always costs the same.
        delay_seconds: How long each answer takes.
        loop: Start again when the replies run out, instead of raising ``ScriptExhaustedError``.
    """

    def use_cache(self, cache: AnswerCache) -> None:
        """Leave the cache alone: a script's next answer does not depend on the request."""

    def __init__(
        self,
        replies: Iterable[Reply] | Callable[[list[Message], Tools], FixedReply],
        *,
        model_id: str = "scripted",
        seed: int | None = None,
        cost_calculator: CostCalculator | None = None,
        usage: Mapping[str, float] | None = None,
        delay_seconds: float = 0.0,
        loop: bool = False,
    ) -> None:
        super().__init__(seed=seed, cost_calculator=cost_calculator)
        if isinstance(replies, str | Mapping):
            raise ConfigurationError(
                f"replies must be a list, not {replies!r}; write [{replies!r}]"
            )
        self.requests: list[JsonObject] = []
        self._script: list[Reply] = [replies] if callable(replies) else list(replies)
        self._loop = loop or callable(replies)
        self._model_id = model_id
        self._usage = usage
        self._delay_seconds = delay_seconds

    @property
    def model_id(self) -> str:
        return self._model_id

    def gather_config(self) -> JsonObject:
        return {
            **super().gather_config(),
            "reply_count": len(self._script),
            "loop": self._loop,
            "delay_seconds": self._delay_seconds,
        }

    def _chat_impl(
        self,
        messages: list[Message],
        generation_params: Params | None = None,
        tools: Tools = None,
        tool_choice: str | dict[str, object] | None = None,
        **kwargs: object,
    ) -> ChatResponse:
        # What was asked is to stay as it was, whatever becomes of the conversation.
        messages = copy.deepcopy(messages)
        reply = self._next_reply(messages)
        self.requests.append(
            {
                "messages": messages,
                "tools": tools,
                "tool_choice": tool_choice,
                "generation_params": generation_params,
            }
        )
        if self._delay_seconds:
            time.sleep(self._delay_seconds)
        fixed = reply(messages, tools) if callable(reply) else reply
        response = to_response(fixed, turn=len(self.requests))
        usage = response.usage or cast(ChatUsage, dict(self._usage or {}))
        if self._usage is None and not usage:
            usage = chat_usage(sum(map(_tokens, messages)), _tokens(response.to_message()))
        return replace(response, model=response.model or self.model_id, usage=usage)

    def _next_reply(self, messages: list[Message]) -> Reply:
        count, asked = len(self._script), len(self.requests)
        if asked >= count and not (self._loop and count):
            last = messages[-1] if messages else None
            raise ScriptExhaustedError(
                f"the scripted model {self.model_id!r} received more requests than its {count} "
                f"replies; the last message was {last!r}. Add a reply, or pass loop=True"
            )
        return self._script[asked % count]


def from_id(name: str, **options: Any) -> ScriptedModelAdapter:
    """Return the model for the id ``scripted/<name>``.

    ``echo`` repeats the last user message; ``<path>.json`` plays the list of replies in that file;
    with the option ``replies`` any name will do. Further options go to the adapter.
    """
    options = {"model_id": f"scripted/{name}", **options}
    if "replies" in options:
        return ScriptedModelAdapter(options.pop("replies"), **options)
    if name == "echo":
        return ScriptedModelAdapter(_echo, **options)
    if name.endswith(".json"):
        return ScriptedModelAdapter(_read_script(Path(name)), **options)
    raise UnknownModelError(
        f"unknown scripted model {name!r}; use scripted/echo, scripted/<file>.json "
        "with a list of replies, or give the option replies=[…]"
    )


def _echo(messages: list[Message], tools: Tools) -> str:
    return next((text_of(m) for m in reversed(messages) if m.get("role") == "user"), "")


def _read_script(path: Path) -> list[Reply]:
    try:
        script = strict_json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnknownModelError(f"cannot read the replies in {str(path)!r}: {error}") from error
    if not isinstance(script, list):
        raise UnknownModelError(f"{str(path)!r} must hold a JSON list of replies")
    return script


def to_response(reply: FixedReply, turn: int) -> ChatResponse:
    """Return a reply as the answer of a model in that turn."""
    match reply:
        case BaseException():
            raise reply
        case ChatResponse():
            return copy.deepcopy(reply)
        case str(text):
            return ChatResponse(text, stop_reason="stop")
        case Mapping() if isinstance(reply.get("content"), str) or "tool_calls" in reply:
            said = _calling(reply.get("tool_calls") or [], turn, reply.get("content"))
            thought = reply.get("reasoning")
            return replace(said, reasoning={"text": thought}) if thought else said
        case Mapping():
            return _calling([reply], turn)
        case [_, *_]:
            return _calling(reply, turn)
    raise HookResultError(
        f"a scripted model cannot reply {reply!r}; a reply is a text, a ChatResponse, a tool call "
        "or a list of those, or an exception"
    )


def _calling(calls: Sequence[object], turn: int, text: str | None = None) -> ChatResponse:
    tool_calls = [_tool_call(call, f"call_{turn}_{place}") for place, call in enumerate(calls)]
    return ChatResponse(text, tool_calls or None, stop_reason="tool_calls" if calls else "stop")


def _tool_call(call: Any, default_id: str) -> ToolCall:
    match call:
        case {"function": {"name": str(), "arguments": str()}}:
            return cast(ToolCall, copy.deepcopy(dict(call)))
        case {"name": str(name)}:
            return tool_call(name, call.get("arguments"), id=call.get("id", default_id))
    raise HookResultError(f"{call!r} is not a tool call; write tool_call(name, {{…}})")


def _tokens(message: Message) -> int:
    calls = message.get("tool_calls") or []
    spoken = len(text_of(message)) + sum(len(json.dumps(call.get("function"))) for call in calls)
    return spoken // 4
