"""OpenAI and compatible servers, through the library ``openai``."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from maseval.core.exceptions import MASEvalError
from maseval.core.messages import ChatResponse
from maseval.core.model import Params
from maseval.core.provider_errors import ProviderError
from maseval.core.structured import AnswerForm
from maseval.interface import extras
from maseval.interface.inference.chat_completions import (
    calls_so_far,
    chat_response,
    get,
    request_messages,
    response_format,
)
from maseval.interface.inference.provider import (
    NO_KEY,
    ClientModelAdapter,
    Endpoint,
    ModelRequest,
    can_call,
    library_client,
    no_key,
    shared_client,
    with_extra_body,
)

_METHODS = ("create", "complete", "chat", "generate")


class UnusableClientError(MASEvalError, TypeError):
    """The object passed as a client cannot be called like one."""


class OpenAIModelAdapter(ClientModelAdapter):
    """A model behind an ``openai.OpenAI`` client, or behind anything that can be called like one.

    The library's clients are used with their own retries disabled. Any other object may have
    ``chat.completions.create``, one of ``create``, ``complete``, ``chat``, ``generate``, or be a
    callable; it takes ``model``, ``messages`` and the parameters, and answers in OpenAI's form.
    """

    provider = "openai"
    sdk_client = ("openai", "OpenAI")

    def gather_config(self) -> dict[str, Any]:
        config = super().gather_config()
        if settings := _settings(self._client):
            config["client_config"] = settings
        return config

    def _answer_format(self, form: AnswerForm[Any], params: Params) -> Params | None:
        chat = getattr(self._client, "chat", None)
        if not (hasattr(chat, "completions") or hasattr(self._client, "responses")):
            return None  # somebody's own function may take no parameters
        return response_format(form)

    def _ask(self, request: ModelRequest) -> ChatResponse:
        messages, params, tools, tool_choice = request
        sent = request_messages(messages, self.message_form)
        body = {"model": self.model_id, "messages": sent, **params}
        if tools:
            body["tools"] = list(tools)
        if tool_choice is not None:
            body["tool_choice"] = tool_choice
        answer = _method_of(self._client, body)()
        if isinstance(answer, Mapping) and not {"choices", "error"} & answer.keys():
            return ChatResponse(content=str(answer))
        return chat_response(answer, earlier_calls=calls_so_far(messages))

    def _secrets(self) -> Sequence[object]:
        return (getattr(self._client, "api_key", None),)

    def _translate(self, error: Exception) -> ProviderError | None:
        sdk = sys.modules.get("openai")
        known = None if sdk is None else self._sdk_error(sdk, error)
        return known or self._transport_error(error)

    @classmethod
    def _connect(cls, name: str, endpoint: Endpoint, **settings: Any) -> "OpenAIModelAdapter":
        return cls(shared_openai_client(name, endpoint), name, **settings)


def _method_of(client: object, request: dict[str, object]) -> Callable[[], object]:
    """Return the request, bound to the method of the client that takes it."""
    completions: Any = getattr(getattr(client, "chat", None), "completions", None)
    if completions is not None:
        return partial(completions.create, **with_extra_body(completions.create, request))
    # A function of somebody's own knows which model it asks.
    without_model = {key: value for key, value in request.items() if key != "model"}
    candidates = [getattr(client, name, None) for name in _METHODS]
    for method in [*candidates, client]:
        for arguments in (request, without_model):
            if callable(method) and can_call(method, **arguments):
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


def shared_openai_client(
    name: str, endpoint: Endpoint, *, prefix: str = "openai", address: str | None = None
) -> Any:
    """Return the library's client for an endpoint, shared by all that use it; it does not retry.

    A key and an address that are not given are read from the variables of ``prefix``, such as
    ``OPENAI_API_KEY`` and ``OPENAI_BASE_URL``; ``address`` is the provider's own.
    """
    extras.load("openai", extra="openai")
    key = endpoint.api_key or os.environ.get(f"{prefix.upper()}_API_KEY")
    base_url = endpoint.base_url or os.environ.get(f"{prefix.upper()}_BASE_URL") or None
    if not (key or base_url):
        raise no_key(f"{prefix.upper()}_API_KEY", provider=prefix, model_id=name)
    options = endpoint._replace(base_url=base_url or address, api_key=key or NO_KEY).client_options
    return shared_client(library_client, library="openai", kind="OpenAI", **options)


from_id = OpenAIModelAdapter.from_id
