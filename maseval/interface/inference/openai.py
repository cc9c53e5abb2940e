"""OpenAI and compatible servers, through the library ``openai``."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any

from maseval.core.exceptions import MASEvalError
from maseval.core.messages import ChatResponse, Message
from maseval.core.model import MAX_ANSWER_MB, Params
from maseval.core.provider_errors import (
    ContentFilterError,
    MalformedResponseError,
    ProviderConnectionError,
    ProviderError,
    ProviderTimeoutError,
)
from maseval.core.usage import CostCalculator
from maseval.interface import extras
from maseval.interface.inference.chat_completions import (
    FilteredAnswerError,
    ToolChoice,
    ToolDefinitions,
    calls_so_far,
    chat_response,
    get,
    request_messages,
)
from maseval.interface.inference.http import limited_client
from maseval.interface.inference.provider import (
    NO_KEY,
    ProviderModelAdapter,
    accepts,
    cause_of,
    limited,
    no_key,
    refusal_of,
    shared_client,
    with_extra_body,
)

_METHODS = ("create", "complete", "chat", "generate")


class UnusableClientError(MASEvalError, TypeError):
    """The object passed as a client cannot be called like one."""


class OpenAIModelAdapter(ProviderModelAdapter):
    """A model behind an ``openai.OpenAI`` client, or behind anything that can be called like one.

    The library's clients are used with their own retries disabled. Any other object may have
    ``chat.completions.create``, one of ``create``, ``complete``, ``chat``, ``generate``, or be a
    callable; it takes ``model``, ``messages`` and the parameters, and answers in OpenAI's form.
    """

    provider = "openai"

    def __init__(
        self,
        client: object,
        model_id: str,
        default_generation_params: Params | None = None,
        seed: int | None = None,
        cost_calculator: CostCalculator | None = None,
    ) -> None:
        super().__init__(model_id, default_generation_params, seed, cost_calculator)
        sdk = sys.modules.get("openai")
        self._client = client
        if sdk is not None and isinstance(client, sdk.OpenAI):
            self._client = client.with_options(max_retries=0)

    def gather_config(self) -> dict[str, Any]:
        config = {**super().gather_config(), "client_type": type(self._client).__name__}
        if settings := _settings(self._client):
            config["client_config"] = settings
        return config

    def _ask(
        self,
        messages: list[Message],
        params: dict[str, object],
        tools: ToolDefinitions | None,
        tool_choice: ToolChoice | None,
    ) -> ChatResponse:
        sent = request_messages(messages, self.message_form)
        request = {"model": self.model_id, "messages": sent, **params}
        if tools:
            request["tools"] = list(tools)
        if tool_choice is not None:
            request["tool_choice"] = tool_choice
        answer = _method_of(self._client, request)()
        self._check_refusal(answer)
        if isinstance(answer, Mapping) and not {"choices", "error"} & answer.keys():
            return ChatResponse(content=str(answer))
        return chat_response(answer, earlier_calls=calls_so_far(messages))

    def _check_refusal(self, answer: object) -> None:
        """Some servers refuse a request with the status of a good answer."""
        refusal = None if get(answer, "choices") else get(answer, "error")
        code = get(refusal, "code")
        if isinstance(code, int) and 400 <= code < 600:
            raise self._failed_with(code, get(refusal, "message") or refusal)

    def _secrets(self) -> Sequence[object]:
        return (getattr(self._client, "api_key", None),)

    def _meaning(self, error: Exception) -> ProviderError | None:
        if isinstance(error, FilteredAnswerError):
            return self._failed(ContentFilterError, error)
        return self._meaning_in(sys.modules.get("openai"), error) or self._transport_failure(error)

    def _meaning_in(self, sdk: ModuleType | None, error: Exception) -> ProviderError | None:
        if sdk is None:
            return None
        match error:
            case sdk.APITimeoutError():
                return self._failed(ProviderTimeoutError, cause_of(error))
            case sdk.APIConnectionError():
                return self._failed(ProviderConnectionError, cause_of(error))
            case sdk.APIStatusError():
                text = f"{error.code}: {error.message}" if error.code else refusal_of(error)
                return self._failed_with(error.status_code, text, error.response.headers)
            case sdk.APIError():
                return self._failed(MalformedResponseError, error)
        return None


def _method_of(client: object, request: dict[str, object]) -> Callable[[], object]:
    """The request, bound to the method of the client that takes it."""
    completions = getattr(getattr(client, "chat", None), "completions", None)
    if completions is not None:
        return partial(completions.create, **with_extra_body(completions.create, request))
    without_model = {key: value for key, value in request.items() if key != "model"}
    candidates = [getattr(client, name, None) for name in _METHODS]
    for method in [*candidates, client]:
        for arguments in (request, without_model):
            if callable(method) and accepts(method, **arguments):
                return partial(method, **arguments)
    raise UnusableClientError(
        f"{client!r} cannot be called as a client: pass an openai.OpenAI client, or an object with "
        f"one of the methods {', '.join(_METHODS)}, or a function, that takes {sorted(request)}"
    )


def _settings(client: object) -> dict[str, object]:
    timeout = getattr(client, "timeout", None)
    settings = {"timeout": _seconds(timeout), "max_retries": getattr(client, "max_retries", None)}
    return {name: value for name, value in settings.items() if value is not None}


def _seconds(timeout: object) -> object:
    if timeout is None or isinstance(timeout, int | float):
        return timeout
    if hasattr(timeout, "connect"):
        return {part: get(timeout, part) for part in ("connect", "read", "write", "pool")}
    return str(timeout)


def from_id(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout: float | None = None,
    max_answer_mb: float = MAX_ANSWER_MB,
    seed: int | None = None,
    cost_calculator: CostCalculator | None = None,
    generation_params: Params | None = None,
    **params: object,
) -> OpenAIModelAdapter:
    """The model for the id ``openai/<name>``.

    Without options the library reads ``OPENAI_API_KEY`` and ``OPENAI_BASE_URL``. Your own server,
    given by ``base_url``, needs no key. ``timeout`` is in seconds; an answer of more than
    ``max_answer_mb`` is refused. Any other option, such as ``temperature``, is a generation
    parameter.
    """
    extras.load("openai", extra="openai")
    key = api_key or os.environ.get("OPENAI_API_KEY")
    address = base_url or os.environ.get("OPENAI_BASE_URL") or None
    if not (key or address):
        raise no_key("OPENAI_API_KEY", provider="openai", model_id=name)
    client = client_at(address, key, timeout=timeout, max_answer_mb=max_answer_mb)
    return limited(
        OpenAIModelAdapter(
            client, name, {**(generation_params or {}), **params}, seed, cost_calculator
        ),
        max_answer_mb,
    )


def client_at(
    address: str | None,
    key: str | None,
    *,
    timeout: float | None = None,
    max_answer_mb: float = MAX_ANSWER_MB,
) -> Any:
    """The library's client for an address, shared by all that use it; it does not retry."""
    extras.load("openai", extra="openai")
    given = {} if timeout is None else {"timeout": timeout}
    return shared_client(
        _client, base_url=address, api_key=key or NO_KEY, max_answer_mb=max_answer_mb, **given
    )


def _client(*, max_answer_mb: float, **options: object) -> object:
    sdk: Any = extras.load("openai", extra="openai")
    http_client = limited_client(sdk.DefaultHttpxClient, max_answer_mb)
    return sdk.OpenAI(max_retries=0, http_client=http_client, **options)
