"""Anthropic's models, through the library ``anthropic``."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from maseval.core import provider_errors as errors
from maseval.core.answers import tokens
from maseval.core.exceptions import UnreadableAnswerError
from maseval.core.messages import ChatResponse, ChatUsage, Message, Reasoning, ToolCall, chat_usage
from maseval.core.model import Params
from maseval.core.provider_errors import ProviderError
from maseval.core.reasoning import ReasoningPolicy
from maseval.core.seeding import SeedingError
from maseval.core.structured import AnswerForm
from maseval.core.usage import CostCalculator
from maseval.core.words import excerpt
from maseval.interface import extras
from maseval.interface.inference.chat_completions import (
    NO_PARAMETERS,
    ToolChoice,
    as_object,
    check_error,
    get,
    reading,
    received_call,
    strict_schema,
    system_text,
    text_of,
    thought_details,
    typed_parts,
)
from maseval.interface.inference.endings import check_ending
from maseval.interface.inference.provider import (
    NO_KEY,
    ClientModelAdapter,
    Endpoint,
    ModelRequest,
    library_client,
    no_key,
    shared_client,
    warn_seed_unused,
    with_extra_body,
)

AnthropicBlock = dict[str, object]

AnthropicTurn = dict[str, Any]
"""A turn of the conversation in Anthropic's form: its ``role``, and ``content`` in blocks."""

_BLOCKS = "thinking_blocks"
_TOOL_CHOICES = {"auto": "auto", "none": "none", "required": "any"}
# The API refuses conversations that the assistant starts, and benchmarks start with a greeting.
_OPENING = {"role": "user", "content": "(The conversation begins.)"}


class AnthropicModelAdapter(ClientModelAdapter):
    """A model behind an ``anthropic.Anthropic`` client, used with its own retries disabled.

    ``max_tokens`` limits each answer, since the API requires a limit; a generation parameter of
    that name takes precedence. Anthropic has no seeds: a seed raises :class:`SeedingError`.
    """

    provider = "anthropic"
    # The thinking that led to a call must be sent back with it; of earlier turns, the API itself
    # takes what it uses.
    default_reasoning_policy = ReasoningPolicy.AUTO
    auto_with_every_call = True
    sdk_client = ("anthropic", "Anthropic")

    def __init__(
        self,
        client: object,
        model_id: str,
        default_generation_params: Params | None = None,
        max_tokens: int = 4096,
        seed: int | None = None,
        cost_calculator: CostCalculator | None = None,
    ) -> None:
        if seed is not None:
            raise SeedingError(
                "Anthropic models do not support seeding. Leave the seed out for model "
                f"{model_id!r}, or use a model of another provider"
            )
        super().__init__(client, model_id, default_generation_params, None, cost_calculator)
        self._max_tokens = max_tokens

    def gather_config(self) -> dict[str, Any]:
        return {**super().gather_config(), "max_tokens": self._max_tokens}

    def _answer_format(self, form: AnswerForm[Any], params: Params) -> Params | None:
        schema = strict_schema(form.schema)
        if schema is None:
            return None
        name = "output_config"
        given = as_object(params.get(name, self._default_generation_params.get(name)))
        return {name: {**given, "format": {"type": "json_schema", "schema": schema}}}

    def _ask(self, request: ModelRequest) -> ChatResponse:
        messages, params, tools, tool_choice = request
        # The API has no default for it.
        body = {"model": self.model_id, "max_tokens": self._max_tokens, **params}
        body.pop("response_format", None)  # a wish for JSON, for which the API has no switch
        if stop := body.pop("stop", None):
            body["stop_sequences"] = [stop] if isinstance(stop, str) else stop
        if system := system_text(messages):
            body["system"] = system
        body["messages"] = self._turns(messages)
        if tools:
            body["tools"] = [_tool(tool["function"]) for tool in tools]
            if tool_choice is not None:
                body["tool_choice"] = _choice(tool_choice)
        create = self._client.messages.create
        answer = create(**with_extra_body(create, body))
        with reading(answer):
            return self._read(answer)

    def _turns(self, messages: Iterable[Message]) -> list[Mapping[str, object]]:
        turns: list[AnthropicTurn] = []
        for message in messages:
            role = "assistant" if message["role"] == "assistant" else "user"
            blocks = self._blocks(message)
            if not blocks:
                continue
            if turns and role == "user" == turns[-1]["role"] and _results_only(turns[-1], blocks):
                turns[-1]["content"].extend(blocks)
            else:
                turns.append({"role": role, "content": blocks})
        if turns and turns[0]["role"] == "assistant":
            return [_OPENING, *turns]
        return [*turns]

    def _blocks(self, message: Message) -> list[AnthropicBlock]:
        match message["role"]:
            case "system" | "developer":
                return []
            case "tool":
                return [
                    {
                        "type": "tool_result",
                        "tool_use_id": message.get("tool_call_id"),
                        "content": text_of(message.get("content")),
                    }
                ]
        # The API refuses empty blocks.
        text = text_of(message.get("content"))
        blocks: list[AnthropicBlock] = [{"type": "text", "text": text}] if text.strip() else []
        if message["role"] != "assistant":
            return blocks
        calls = message.get("tool_calls") or []
        thoughts = thought_details(message).get(_BLOCKS) if blocks or calls else None
        return [*(thoughts or ()), *blocks, *(_tool_use(call) for call in calls)]

    def _read(self, answer: object) -> ChatResponse:
        check_error(get(answer, "error"))
        reason = get(answer, "stop_reason")
        check_ending(reason, words=get(get(answer, "stop_details"), "explanation"))
        blocks = typed_parts(answer, "content")
        calls = [_tool_call(block) for block in blocks if get(block, "type") == "tool_use"]
        if reason == "tool_use" and not calls:
            raise UnreadableAnswerError("it ends because of tool calls, and there are none")
        texts = [get(block, "text") for block in blocks if get(block, "type") == "text"]
        # Once more, as a reason that nobody knows is only believed if there is an answer.
        check_ending(reason, is_silent=not (any(texts) or calls))
        return ChatResponse(
            content="".join(texts) if texts else None,
            tool_calls=calls or None,
            usage=_usage(get(answer, "usage")),
            model=get(answer, "model"),
            stop_reason=reason,
            reasoning=_reasoning(blocks),
        )

    def _secrets(self) -> Sequence[object]:
        return [getattr(self._client, name, None) for name in ("api_key", "auth_token")]

    def _translate(self, error: Exception) -> ProviderError | None:
        sdk: Any = sys.modules.get("anthropic")
        match error:
            # Without credentials the library sends nothing, and raises a plain TypeError.
            case TypeError() if sdk is not None and "authentication method" in str(error):
                return self._error(errors.AuthenticationError, error)
            case ValueError() if sdk is not None and "Streaming is required" in str(error):
                return self._error(
                    errors.MalformedRequestError,
                    "max_tokens is so large that a timeout is required: pass timeout=SECONDS",
                )
        known = None if sdk is None else self._sdk_error(sdk, error)
        return known or self._transport_error(error)

    @classmethod
    def _connect(cls, name: str, endpoint: Endpoint, **settings: Any) -> "AnthropicModelAdapter":
        """Make the client; without options the library reads its own variables.

        A seed is left out with a warning, so that seeded runs can use these models.
        """
        if settings.pop("seed") is not None:
            warn_seed_unused("anthropic", name)
        return cls(_client(name, endpoint), name, **settings)


def _results_only(turn: AnthropicTurn, blocks: Iterable[AnthropicBlock]) -> bool:
    """Return True if both are tool results: all those for one message belong in one turn."""
    return all(block["type"] == "tool_result" for block in [*turn["content"], *blocks])


def _tool_use(call: ToolCall) -> AnthropicBlock:
    function = call["function"]
    return {
        "type": "tool_use",
        "id": call.get("id"),
        "name": function["name"],
        "input": as_object(function.get("arguments")),
    }


def _tool(function: Mapping[str, Any]) -> dict[str, object]:
    return {
        "name": function["name"],
        "description": function.get("description", ""),
        "input_schema": function.get("parameters") or NO_PARAMETERS,
    }


def _choice(choice: ToolChoice) -> dict[str, object]:
    if isinstance(choice, str):
        return {"type": _TOOL_CHOICES.get(choice, choice)}
    if "function" in choice:
        return {"type": "tool", "name": choice["function"]["name"]}
    return choice


def _tool_call(block: object) -> ToolCall:
    arguments = get(block, "input")
    if isinstance(arguments, str):  # JSON text is another protocol's form
        raise UnreadableAnswerError(f"the input of a tool call is text: {excerpt(arguments, 80)}")
    return received_call(get(block, "id"), get(block, "name"), arguments)


def _reasoning(blocks: Iterable[object]) -> Reasoning | None:
    keys = {"thinking": ("thinking", "signature"), "redacted_thinking": ("data",)}
    thoughts: list[AnthropicBlock] = [
        {"type": kind, **{key: get(block, key) for key in keys[kind]}}
        for block in blocks
        if (kind := get(block, "type")) in keys
    ]
    texts = [str(block["thinking"]) for block in thoughts if block.get("thinking")]
    found: Reasoning = {"text": "\n".join(texts), "details": {_BLOCKS: thoughts}}
    return found if thoughts else None


def _usage(usage: object) -> ChatUsage | None:
    """Count tokens as other providers do: cache reads and writes are input, too."""
    if usage is None:
        return None
    read = tokens(get(usage, "cache_read_input_tokens"))
    written = tokens(get(usage, "cache_creation_input_tokens"))
    return chat_usage(
        tokens(get(usage, "input_tokens")) + read + written,
        tokens(get(usage, "output_tokens")),
        cached_input_tokens=read,
        cache_creation_input_tokens=written,
        reasoning_tokens=tokens(get(get(usage, "output_tokens_details"), "thinking_tokens")),
    )


def _client(name: str, endpoint: Endpoint) -> Any:
    sdk = extras.load("anthropic", extra="anthropic")
    key = endpoint.api_key or os.environ.get("ANTHROPIC_API_KEY")
    base_url = endpoint.base_url or os.environ.get("ANTHROPIC_BASE_URL") or None
    options = endpoint._replace(base_url=base_url, api_key=key).client_options
    # Without a key the library looks for other credentials, each time.
    make = partial(shared_client, library_client) if key else library_client
    try:
        client: Any = make(library="anthropic", kind="Anthropic", **options)
    except sdk.AnthropicError as error:  # credentials are configured, but cannot be read
        raise errors.AuthenticationError(str(error), provider="anthropic", model_id=name) from None
    if any(getattr(client, kind, None) for kind in ("api_key", "auth_token", "credentials")):
        return client
    if not base_url:
        raise no_key("ANTHROPIC_API_KEY", provider="anthropic", model_id=name)
    return client.with_options(api_key=NO_KEY)


from_id = AnthropicModelAdapter.from_id
