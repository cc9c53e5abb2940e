"""Google's Gemini models, through the library ``google-genai``."""

import os
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from maseval.core import provider_errors as errors
from maseval.core.answers import tokens, tool_name
from maseval.core.exceptions import UnreadableAnswerError
from maseval.core.messages import ChatResponse, ChatUsage, Message, Reasoning, ToolCall, chat_usage
from maseval.core.model import Params
from maseval.core.provider_errors import ProviderError
from maseval.core.reasoning import ReasoningPolicy
from maseval.core.structured import AnswerForm
from maseval.core.words import excerpt
from maseval.interface import extras
from maseval.interface.inference.chat_completions import (
    ToolChoice,
    as_object,
    calls_so_far,
    function_call,
    get,
    reading,
    system_text,
    text_of,
    thought_details,
)
from maseval.interface.inference.endings import check_ending
from maseval.interface.inference.http import client_options
from maseval.interface.inference.provider import (
    NO_KEY,
    ClientModelAdapter,
    Endpoint,
    ModelRequest,
    no_key,
    shared_client,
)

GeminiPart = dict[str, object]

GeminiContent = dict[str, Any]
"""A turn of the conversation in Google's form: its ``role`` and its ``parts``."""

_SIGNATURES = "thought_signatures"
_UNREAD = frozenset({"ValidationError", "TypeError", "AttributeError", "KeyError", "IndexError"})
_MODES = {"none": "NONE", "auto": "AUTO", "required": "ANY"}
_OWN_NAMES = {"max_tokens": "max_output_tokens", "stop": "stop_sequences"}
# Any of these may hold credentials, or tell the library where to find them.
_KEY_VARIABLES = (
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_GENAI_USE_ENTERPRISE",
)


class GoogleGenAIModelAdapter(ClientModelAdapter):
    """A model behind a ``google.genai.Client``."""

    provider = "google"
    # A call must be sent back with its signature.
    default_reasoning_policy = ReasoningPolicy.AUTO
    auto_with_every_call = True

    def _answer_format(self, form: AnswerForm[Any], params: Params) -> Params | None:
        return {"response_mime_type": "application/json", "response_json_schema": form.schema}

    def _ask(self, request: ModelRequest) -> ChatResponse:
        messages, params, tools, tool_choice = request
        genai = extras.load("google.genai", extra="google-genai", package="google-genai")
        config = {_OWN_NAMES.get(name, name): value for name, value in params.items()}
        if config.pop("response_format", None) == {"type": "json_object"}:
            config["response_mime_type"] = "application/json"
        if isinstance(config.get("stop_sequences"), str):
            config["stop_sequences"] = [config["stop_sequences"]]
        if system := system_text(messages):
            config["system_instruction"] = system
        if tools:
            config["tools"] = [{"function_declarations": [_declaration(tool) for tool in tools]}]
            # Otherwise the library may call functions and ask again by itself.
            config.setdefault("automatic_function_calling", {"disable": True})
            if tool_choice is not None:
                config["tool_config"] = {"function_calling_config": _choice(tool_choice)}
        checked = genai.types.GenerateContentConfig(**config)
        answer = self._generate(self._contents(messages), checked)
        with reading(answer):
            return self._read(answer, calls_so_far(messages))

    def _generate(self, contents: list[GeminiContent], config: object) -> object:
        try:
            return self._client.models.generate_content(
                model=self.model_id, contents=contents, config=config
            )
        except Exception as error:
            # The request is in order, so that what the library cannot take is the answer.
            if type(error).__name__ not in _UNREAD:
                raise
            raise UnreadableAnswerError(f"{type(error).__name__}: {excerpt(error)}") from None

    def _contents(self, messages: Sequence[Message]) -> list[GeminiContent]:
        names: dict[str | None, str] = {
            call.get("id"): call["function"]["name"]
            for message in messages
            for call in message.get("tool_calls") or ()
        }
        contents: list[GeminiContent] = []
        for message in messages:
            role, parts = self._entry(message, names)
            if role == "function" and contents and contents[-1]["role"] == "function":
                contents[-1]["parts"].extend(parts)
            elif parts:
                contents.append({"role": role, "parts": parts})
        return contents

    def _entry(
        self, message: Message, names: Mapping[str | None, str]
    ) -> tuple[str, list[GeminiPart]]:
        text = text_of(message.get("content"))
        match message["role"]:
            case "system" | "developer":
                return "system", []
            case "tool":
                call_id = message.get("tool_call_id")
                name = names.get(call_id) or message.get("name") or call_id
                return "function", [
                    {"function_response": {"name": name, "response": {"result": text}}}
                ]
            case "assistant":
                said: list[GeminiPart] = [{"text": text}] if text else []
                calls = message.get("tool_calls") or ()
                signatures = thought_details(message).get(_SIGNATURES) or {}
                return "model", [*said, *(_call_part(call, signatures) for call in calls)]
        return "user", [{"text": text}] if text else []

    def _read(self, answer: object, earlier_calls: int) -> ChatResponse:
        blocked = get(get(answer, "prompt_feedback"), "block_reason")
        if blocked:
            raise self._error(
                errors.ContentFilterError, f"the prompt was blocked: {_word(blocked)}"
            )
        candidates = get(answer, "candidates")
        if not candidates:
            raise self._error(errors.MalformedResponseError, "no candidates in the answer")
        reason = _word(get(candidates[0], "finish_reason"))
        check_ending(reason, words=get(candidates[0], "finish_message"))
        content = get(candidates[0], "content")
        parts = get(content, "parts") or ()
        # Without parts it is the model that is silent; in the API an empty list is left out.
        if (content is None and reason != "MAX_TOKENS") or any(map(_is_blank, parts)):
            raise UnreadableAnswerError(f"no content in the answer {excerpt(answer)}")
        texts = [part.text for part in parts if get(part, "text") and not get(part, "thought")]
        calls = _calls(parts, earlier_calls)
        # Once more, as a reason that nobody knows is only believed if there is an answer.
        check_ending(reason, is_silent=not (texts or calls))
        return ChatResponse(
            content="".join(texts) if texts else None,
            tool_calls=[call for call, _ in calls] or None,
            usage=_usage(get(answer, "usage_metadata")),
            model=get(answer, "model_version") or self.model_id,
            stop_reason=reason.lower() if reason else None,
            reasoning=_reasoning(parts, calls),
        )

    def _address(self) -> str:
        return str(get(get(get(self._client, "_api_client"), "_http_options"), "base_url") or "")

    def _secrets(self) -> Sequence[object]:
        return (get(get(self._client, "_api_client"), "api_key"),)

    def _translate(self, error: Exception) -> ProviderError | None:
        known = extras.load("google.genai.errors", extra="google-genai", package="google-genai")
        match error:
            case known.APIError():
                headers = get(error.response, "headers") or {}
                return self._status_error(
                    error.code,
                    f"{error.status}: {error.message or error.details}",
                    # A header takes precedence over what stands in the body.
                    {**_retry_info(error), **headers},
                )
            case known.UnknownApiResponseError():
                return self._error(errors.MalformedResponseError, error)
        if type(error).__name__ == "ValidationError":
            return self._error(errors.MalformedRequestError, error)
        if type(error).__module__.startswith("google.auth"):
            return self._error(errors.AuthenticationError, error)
        return self._transport_error(error)

    @classmethod
    def _connect(cls, name: str, endpoint: Endpoint, **settings: Any) -> "GoogleGenAIModelAdapter":
        """Make the client; without a key the library reads the settings of Vertex AI."""
        extras.load("google.genai", extra="google-genai", package="google-genai")
        key = endpoint.api_key
        base_url = endpoint.base_url or os.environ.get("GOOGLE_GEMINI_BASE_URL") or None
        if not (key or any(os.environ.get(variable) for variable in _KEY_VARIABLES)):
            if not base_url:
                raise no_key(" or ".join(_KEY_VARIABLES[:2]), provider="google", model_id=name)
            key = NO_KEY
        endpoint = endpoint._replace(base_url=base_url, api_key=key)
        # Without a key the library reads the environment, each time.
        client = shared_client(_client, endpoint=endpoint) if key else _client(endpoint)
        return cls(client, name, **settings)


def _calls(parts: Iterable[object], earlier: int) -> list[tuple[ToolCall, bytes | None]]:
    """Return the calls, each with the signature of the thought that led to it."""
    calls: list[tuple[ToolCall, bytes | None]] = []
    for part in parts:
        called = get(part, "function_call")
        if called is None:
            continue
        # The API rarely assigns ids and takes none back: order and name identify calls.
        call_id = f"call_{earlier + len(calls)}_{get(called, 'name')}"
        call = function_call(call_id, tool_name(get(called, "name")), get(called, "args"))
        calls.append((call, get(part, "thought_signature")))
    return calls


def _reasoning(
    parts: Iterable[object], calls: Iterable[tuple[ToolCall, bytes | None]]
) -> Reasoning | None:
    thoughts = [str(get(part, "text") or "") for part in parts if get(part, "thought")]
    # As text, because messages and reports are JSON and a signature is bytes.
    signed = {call["id"]: b64encode(mark).decode() for call, mark in calls if mark}
    found: Reasoning = {"text": "\n".join(thoughts)} if thoughts else {}
    return {**found, "details": {_SIGNATURES: signed}} if signed else found or None


def _call_part(call: ToolCall, signatures: Mapping[str, object]) -> GeminiPart:
    function = call["function"]
    part: GeminiPart = {
        "function_call": {"name": function["name"], "args": as_object(function.get("arguments"))}
    }
    if signature := signatures.get(call.get("id") or ""):
        part["thought_signature"] = b64decode(str(signature))
    return part


def _is_blank(part: object) -> bool:
    """Return whether a part has nothing in it that the library knows."""
    given = part if isinstance(part, Mapping) else vars(part)
    return all(value is None for value in given.values())


def _declaration(tool: Mapping[str, Any]) -> dict[str, object]:
    function = tool["function"]
    declaration = {"name": function["name"], "description": function.get("description", "")}
    parameters = function.get("parameters") or {}
    if not parameters.get("properties"):
        return {**declaration}
    return {**declaration, "parameters_json_schema": parameters}


def _choice(choice: ToolChoice) -> dict[str, object]:
    if isinstance(choice, str):
        return {"mode": _MODES.get(choice, choice)}
    return {"mode": "ANY", "allowed_function_names": [choice["function"]["name"]]}


def _word(reason: object) -> str:
    """Return a reason as the API spells it, from an enum member or a string."""
    return str(getattr(reason, "value", reason) or "")


def _retry_info(error: object) -> dict[str, str]:
    """Return the time to wait, which Google sends in the body, as ``"retryDelay": "17s"``."""
    delay = re.search(r"retryDelay['\"]: ['\"]([\d.]+)s", str(get(error, "details")))
    return {"retry-after": delay[1]} if delay else {}


def _usage(usage: object) -> ChatUsage | None:
    """Count tokens as other providers do: thoughts are part of the output."""
    if usage is None:
        return None
    thoughts = tokens(get(usage, "thoughts_token_count"))
    asked = tokens(get(usage, "prompt_token_count"))
    asked += tokens(get(usage, "tool_use_prompt_token_count"))
    return chat_usage(
        asked,
        tokens(get(usage, "candidates_token_count")) + thoughts,
        tokens(get(usage, "total_token_count")),
        cached_input_tokens=tokens(get(usage, "cached_content_token_count")),
        reasoning_tokens=thoughts,
    )


def _client(endpoint: Endpoint) -> object:
    genai = extras.load("google.genai", extra="google-genai", package="google-genai")
    timeout = endpoint.timeout
    options = {
        "base_url": endpoint.base_url,
        # In whole milliseconds, at least one.
        "timeout": None if timeout is None else max(1, round(timeout * 1000)),
        "client_args": client_options(),
    }
    given = {key: value for key, value in options.items() if value is not None}
    return genai.Client(api_key=endpoint.api_key, http_options=given)


from_id = GoogleGenAIModelAdapter.from_id
