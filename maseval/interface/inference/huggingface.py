"""Models in this process, through a text-generation pipeline of ``transformers``."""

import json
import logging
import re
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from maseval.core import provider_errors as errors
from maseval.core.exceptions import MASEvalError
from maseval.core.messages import ChatResponse, Message, ToolCall, chat_usage
from maseval.core.model import Params
from maseval.core.provider_errors import ProviderError
from maseval.core.usage import CostCalculator
from maseval.interface.inference.chat_completions import (
    ToolDefinitions,
    as_object,
    calls_so_far,
    function_call,
    request_messages,
    text_of,
)
from maseval.interface.inference.provider import ModelRequest, ProviderModelAdapter, can_call

_log = logging.getLogger(__name__)

# The random number generator is shared by the whole process, and so is a loaded model.
_alone = threading.Lock()

_TAGGED_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|$)", re.S)


class ToolCallingNotSupportedError(MASEvalError):
    """The model has no chat template that supports tools."""


class HuggingFacePipelineModelAdapter(ProviderModelAdapter):
    """A model behind a pipeline, or behind any function from a prompt to a text.

    The tokenizer's chat template builds the prompt. Calls are parsed from the answer, as
    ``<tool_call>{json}</tool_call>`` or as bare ``{"name": ..., "arguments": {...}}``. A
    ``tool_choice`` other than ``auto`` and ``none`` cannot be enforced.
    """

    provider = "huggingface"

    def __init__(
        self,
        model: Callable[..., object],
        model_id: str | None = None,
        default_generation_params: Params | None = None,
        seed: int | None = None,
        cost_calculator: CostCalculator | None = None,
    ) -> None:
        name = model_id or getattr(model, "name_or_path", None) or "huggingface:unknown"
        super().__init__(name, default_generation_params, seed, cost_calculator)
        self._model = model

    def gather_config(self) -> dict[str, Any]:
        settings = {
            name: str(value)
            for name in ("task", "device", "framework")
            if (value := getattr(self._model, name, None)) is not None
        }
        config = {**super().gather_config(), "callable_type": type(self._model).__name__}
        return {**config, "pipeline_config": settings} if settings else config

    def _ask(self, request: ModelRequest) -> ChatResponse:
        messages, params, tools, tool_choice = request
        if tool_choice == "none":
            tools = None
        seed = params.pop("seed", None)
        prompt = self._prompt(messages, tools)
        asked = self._check_length(_count(self._model, prompt))
        with _alone:
            if seed is not None and (library := sys.modules.get("transformers")):
                library.set_seed(seed)
            text = self._generate(prompt, _own_names(params))
        spoken, calls = _read(text, calls_so_far(messages)) if tools else (text, [])
        return ChatResponse(
            content=None if calls and not spoken else spoken,
            tool_calls=calls or None,
            usage=None if asked is None else chat_usage(asked, _count(self._model, text) or 0),
            model=self.model_id,
            stop_reason="tool_calls" if calls else "stop",
        )

    def _check_length(self, tokens: int | None) -> int | None:
        """Return the prompt's tokens, if they fit: the library itself would continue, or crash."""
        config = getattr(getattr(self._model, "model", None), "config", None)
        limit = getattr(config, "max_position_embeddings", None)
        if tokens is not None and isinstance(limit, int) and tokens >= limit:
            raise self._error(
                errors.ContextOverflowError,
                f"the prompt has {tokens} tokens, but the model takes at most {limit}",
            )
        return tokens

    def _prompt(self, messages: list[Message], tools: ToolDefinitions | None) -> str:
        tokenizer = _tokenizer_of(self._model)
        if tokenizer is None:
            if tools:
                raise self._without_tools()
            lines = [f"{m['role']}: {text_of(m.get('content'))}" for m in messages]
            return "\n".join([*lines, "assistant:"])
        options = {"add_generation_prompt": True, "tokenize": False}
        if not tools:
            return str(tokenizer.apply_chat_template(request_messages(messages), **options))
        parsed = [_with_parsed_calls(message) for message in request_messages(messages)]
        try:
            return str(tokenizer.apply_chat_template(parsed, tools=list(tools), **options))
        except TypeError as error:
            raise self._without_tools() from error

    def _without_tools(self) -> ToolCallingNotSupportedError:
        return ToolCallingNotSupportedError(
            f"model {self.model_id!r} has no chat template that supports tools; use a model "
            "trained to call tools, or serve it with tools added (openai/NAME with its base_url)"
        )

    def _generate(self, prompt: str, params: dict[str, object]) -> str:
        if params and not can_call(self._model, prompt, **params):
            _log.warning("model %s takes no parameters: %s unused", self.model_id, sorted(params))
            params = {}
        output = self._model(prompt, **params)
        first = output[0] if isinstance(output, list) and output else output
        text = first.get("generated_text") if isinstance(first, Mapping) else first
        if not isinstance(text, str):
            raise self._error(
                errors.MalformedResponseError, f"no generated text in {output!s:.200}"
            )
        # A pipeline repeats the prompt before the text that it generates, unless told otherwise.
        return text.removeprefix(prompt).strip()

    def _translate(self, error: Exception) -> ProviderError | None:
        return None


def _tokenizer_of(model: object) -> Any:
    """Return the model's tokenizer, if it has a chat template."""
    tokenizer = getattr(model, "tokenizer", None)
    if tokenizer is None:
        tokenizer = getattr(getattr(model, "model", None), "tokenizer", None)
    has_template = getattr(tokenizer, "chat_template", "unknown") is not None
    return tokenizer if hasattr(tokenizer, "apply_chat_template") and has_template else None


def _count(model: object, text: str) -> int | None:
    """Count the tokens of a text; None without a tokenizer."""
    encode = getattr(getattr(model, "tokenizer", None), "encode", None)
    return None if encode is None else len(encode(text, add_special_tokens=False))


def _with_parsed_calls(message: Message) -> Mapping[str, object]:
    """Return a message with parsed arguments: templates serialize calls themselves."""
    calls = message.get("tool_calls")
    if not calls:
        return message
    parsed = [
        {**call, "function": {**function, "arguments": as_object(function["arguments"])}}
        for call in calls
        if (function := call["function"])
    ]
    return {**message, "tool_calls": parsed}


def _own_names(params: dict[str, object]) -> dict[str, object]:
    """Rename parameters for ``transformers``, which has no JSON mode and no temperature of 0."""
    named = {"max_new_tokens" if key == "max_tokens" else key: v for key, v in params.items()}
    named.pop("response_format", None)
    if named.get("temperature") == 0:
        del named["temperature"]
        named["do_sample"] = False
    return named


def _read(text: str, first_number: int) -> tuple[str, list[ToolCall]]:
    """Return the text of an answer, and its calls."""
    found = [call for body in _TAGGED_CALL.findall(text) if (call := _parse_call(body))]
    spoken = _TAGGED_CALL.sub("", text)
    if not found and (start := text.find("{")) >= 0 and (bare := _parse_call(text[start:])):
        found, spoken = [bare], text[:start]
    if not found:
        return text, []
    calls = [
        function_call(f"call_{number}", call["name"], call.get("arguments"))
        for number, call in enumerate(found, first_number)
    ]
    return spoken.strip(), calls


def _parse_call(text: str) -> dict[str, Any] | None:
    """Return the call that ``text`` starts with, whatever follows it."""
    try:
        call, _ = json.JSONDecoder().raw_decode(text.strip())
    except ValueError:
        return None
    is_call = isinstance(call, dict) and isinstance(call.get("name"), str)
    return call if is_call and isinstance(call.get("arguments", {}), dict) else None
