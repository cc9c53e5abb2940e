"""ProviderModelAdapter: what all adapters to a model provider have in common.

Each adapter makes requests (``_ask``), translates the errors of its library (``_translate``) and
makes the library's client from an endpoint (``_connect``), so that every id of a hosted model leads
to its adapter by the same ``from_id``. No adapter retries: whether a failed request is repeated is
decided in one place, the call policy.
"""

import inspect
import json
import logging
import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

from maseval.core import provider_errors as errors
from maseval.core.exceptions import UnreadableAnswerError, causes
from maseval.core.messages import ChatResponse, Message
from maseval.core.model import ModelAdapter, Params
from maseval.core.provider_errors import ProviderError
from maseval.core.providers import check_base_url
from maseval.core.storage.redaction import redact, redact_text
from maseval.core.usage import CostCalculator
from maseval.core.words import excerpt
from maseval.interface import extras
from maseval.interface.inference.chat_completions import ToolChoice, ToolDefinitions, get, sendable
from maseval.interface.inference.http import (
    RefusedAnswer,
    connection_error,
    error_from_status,
    limited_client,
    remove_secrets,
    transport_error,
)

_log = logging.getLogger(__name__)

# Self-hosted servers often need no key, but the libraries require one.
NO_KEY = "no-key-needed"


class Endpoint(NamedTuple):
    """The address of a provider and the settings of the client for it."""

    base_url: str | None
    api_key: str | None
    timeout: float | None

    @property
    def client_options(self) -> dict[str, Any]:
        """The options for a library's client; a time-out that is not given is the library's own."""
        check_base_url(self.base_url)  # it may come from a variable
        given = self._asdict()
        if self.timeout is None:
            del given["timeout"]
        return given


class ModelRequest(NamedTuple):
    """A request to a model; ``params`` are complete."""

    messages: list[Message]
    params: dict[str, object]
    tools: ToolDefinitions | None
    tool_choice: ToolChoice | None


class ProviderModelAdapter(ModelAdapter):
    """A model behind a provider's library; its errors are raised as :class:`ProviderError`.

    Parameters of a call take precedence over default ones; one that is None is not sent at all,
    which removes a default that the model refuses.
    """

    provider: ClassVar[str]

    def __init__(
        self,
        model_id: str,
        default_generation_params: Params | None = None,
        seed: int | None = None,
        cost_calculator: CostCalculator | None = None,
    ) -> None:
        super().__init__(seed=seed, cost_calculator=cost_calculator)
        self._model_id = model_id
        self._default_generation_params = dict(default_generation_params or {})

    @classmethod
    def from_id(
        cls,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float | None = None,
        seed: int | None = None,
        cost_calculator: CostCalculator | None = None,
        generation_params: Params | None = None,
        **params: object,
    ) -> Self:
        """Return the adapter for the id ``<provider>/<name>``.

        Without options the library reads the provider's own environment variables. Your own server,
        given by ``base_url``, needs no key. ``timeout`` is in seconds. Any other option, such as
        ``temperature``, is a generation parameter.
        """
        return cls._connect(
            name,
            Endpoint(base_url, api_key, timeout),
            default_generation_params={**(generation_params or {}), **params},
            seed=seed,
            cost_calculator=cost_calculator,
        )

    @classmethod
    def _connect(cls, name: str, endpoint: Endpoint, **settings: Any) -> Self:
        """Make the client for an endpoint, and the adapter with ``settings`` that uses it."""
        raise NotImplementedError

    @property
    def model_id(self) -> str:
        return self._model_id

    def gather_config(self) -> dict[str, Any]:
        return {
            **super().gather_config(),
            "default_generation_params": redact(self._default_generation_params),
        }

    def cache_identity(self) -> dict[str, Any]:
        return {
            **super().cache_identity(),
            "address": redact_text(self._address()),
            "default_params": redact(self._default_generation_params),
        }

    def _address(self) -> str:
        """Return where requests go, as far as it is not the library's own business."""
        return ""

    def _chat_impl(
        self,
        messages: list[Message],
        generation_params: Params | None = None,
        tools: Sequence[dict[str, Any]] | None = None,
        tool_choice: ToolChoice | None = None,
        **kwargs: object,
    ) -> ChatResponse:
        given = {**self._default_generation_params, **(generation_params or {}), **kwargs}
        if self.seed is not None:
            given.setdefault("seed", self.seed)
        params = {name: value for name, value in given.items() if value is not None}
        try:
            return self._ask(ModelRequest(sendable(messages), params, tools or None, tool_choice))
        except (ProviderError, UnreadableAnswerError):
            raise
        except Exception as error:
            known = self.translate(error)
            if known is None:
                raise
            # Not chained: the library's message may quote the key, and reports keep tracebacks.
            raise known from None

    def translate(self, error: Exception) -> ProviderError | None:
        """Return the named error for a failed request; None if it is not the provider's failure."""
        return self._refusal_behind(error) or self._translate(error)

    @abstractmethod
    def _ask(self, request: ModelRequest) -> ChatResponse:
        """Make one request and read the answer; its parameters may be changed."""

    @abstractmethod
    def _translate(self, error: Exception) -> ProviderError | None:
        """Return the named error for what the library raised; None if the provider did not fail."""

    def _refusal_behind(self, error: BaseException) -> ProviderError | None:
        """Return what our own HTTP client refused; the libraries wrap it in errors of theirs."""
        for cause in causes(error):
            if isinstance(cause, RefusedAnswer):
                return self._error(cause.kind, cause, cause.status)
            if type(cause).__name__ == "TooManyRedirects":
                return self._error(errors.RedirectRefusedError, "in a circle")
        return None

    def _error(
        self, kind: type[ProviderError], text: object, status: int | None = None
    ) -> ProviderError:
        return kind(
            remove_secrets(self._secrets(), str(text)),
            provider=self.provider,
            model_id=self.model_id,
            status=status,
        )

    def _status_error(
        self,
        status: int,
        text: object,
        headers: Mapping[str, str] | None = None,
        code: object = None,
    ) -> ProviderError:
        return error_from_status(
            status,
            remove_secrets(self._secrets(), str(text)),
            provider=self.provider,
            model_id=self.model_id,
            headers=headers,
            code=code,
        )

    def _sdk_error(self, sdk: Any, error: Exception) -> ProviderError | None:
        """Return the named error for one of a library whose errors are named like OpenAI's."""
        match error:
            # From the special to the general: in these libraries a time-out is a connection error,
            # too.
            case sdk.APITimeoutError():
                return self._error(errors.ProviderTimeoutError, _text_with_cause(error))
            case sdk.APIConnectionError():
                return self._error(connection_error(error), _text_with_cause(error))
            case sdk.APIStatusError():
                text = _refusal_text(error)
                refused = get(error.body, "error") or error.body
                code = get(refused, "code") or get(refused, "type")
                return self._status_error(error.status_code, text, error.response.headers, code)
            case sdk.APIError():
                return self._error(errors.MalformedResponseError, error)
        return None

    def _transport_error(self, error: Exception) -> ProviderError | None:
        """Return the named error for a failure of the HTTP client, or of decoding its response."""
        match error:
            case json.JSONDecodeError():
                return self._error(
                    errors.MalformedResponseError,
                    f"{error.msg} in {excerpt(error.doc) or 'an empty body'}",
                )
            case UnicodeDecodeError():
                return self._error(
                    errors.MalformedResponseError, f"no text: {excerpt(error.object)}"
                )
            # Python does not convert numbers beyond a limit of digits.
            case ValueError() if "integer string conversion" in str(error):
                return self._error(errors.MalformedResponseError, "a number of thousands of digits")
            case RecursionError():
                return self._error(errors.MalformedResponseError, "it is nested too deeply")
        kind = transport_error(error)
        if kind is errors.ProviderConnectionError:
            kind = connection_error(error)
        return None if kind is None else self._error(kind, _error_text(error))


class ClientModelAdapter(ProviderModelAdapter):
    """A model behind a client of the provider's library, whose own retries are disabled."""

    sdk_client: ClassVar[tuple[str, str] | None] = None
    """The library and its class of clients, if those retry."""

    def __init__(
        self,
        client: object,
        model_id: str,
        default_generation_params: Params | None = None,
        seed: int | None = None,
        cost_calculator: CostCalculator | None = None,
    ) -> None:
        super().__init__(model_id, default_generation_params, seed, cost_calculator)
        self._client: Any = client
        library, kind = self.sdk_client or ("", "")
        # Not imported: if the client is one of the library's, the library is loaded.
        sdk = sys.modules.get(library)
        # Anything else that can be called like a client may have no such method.
        if sdk is not None and isinstance(client, getattr(sdk, kind)):
            self._client = client.with_options(max_retries=0)

    def _address(self) -> str:
        return str(getattr(self._client, "base_url", ""))

    def gather_config(self) -> dict[str, Any]:
        return {**super().gather_config(), "client_type": type(self._client).__name__}


def with_extra_body(method: Callable[..., object], request: dict[str, object]) -> dict[str, object]:
    """Return the request for a method that may not know every parameter of the server.

    Parameters that it does not know are sent in the body anyway: the server decides.
    """
    known = inspect.signature(method).parameters
    unknown = request.keys() - known.keys()
    if not unknown or "extra_body" not in known:
        return request
    extra = {name: request[name] for name in sorted(unknown)}
    rest = {name: value for name, value in request.items() if name not in unknown}
    given = rest.get("extra_body")
    return {**rest, "extra_body": {**extra, **(given if isinstance(given, Mapping) else {})}}


def can_call(function: Callable[..., object], /, *args: object, **arguments: object) -> bool:
    """Return True if a function takes these arguments, as far as its signature shows."""
    try:
        inspect.signature(function).bind(*args, **arguments)
    except ValueError:  # a built-in without a signature: just try it
        return True
    except TypeError:
        return False
    return True


@cache
def shared_client(make: Callable[..., object], **options: object) -> object:
    """Return one client for all adapters with equal options.

    A run creates adapters for every simulation; with one client each, a thousand simulations would
    open a thousand connections. The libraries' clients are thread-safe.
    """
    return make(**options)


def library_client(library: str, kind: str, **options: Any) -> Any:
    """Make a client of ``openai`` or ``anthropic``, which does not retry."""
    sdk: Any = extras.load(library, extra=library)
    return getattr(sdk, kind)(
        max_retries=0, http_client=limited_client(sdk.DefaultHttpxClient), **options
    )


def no_key(variable: str, *, provider: str, model_id: str) -> errors.AuthenticationError:
    """Return the error for a model whose key is missing."""
    return errors.AuthenticationError(
        f"no API key was given; set the environment variable {variable}, "
        "or pass the option api_key=…",
        provider=provider,
        model_id=model_id,
    )


@cache  # a run creates an adapter for every simulation; once is enough
def warn_seed_unused(provider: str, model_id: str) -> None:
    """Warn that a seed was left out, so that nobody takes the answers for reproducible."""
    _log.warning("%s takes no seed for model %s: it runs unseeded", provider, model_id)


def _text_with_cause(error: BaseException) -> str:
    """Return an error's message with its cause: libraries often say only 'Connection error.'"""
    cause = error.__cause__
    return _error_text(error) if cause is None else f"{_error_text(error)} ({_error_text(cause)})"


def _refusal_text(error: Any) -> str:
    """Return the library's message for a refused request, or the body that it did not read."""
    message = str(error.message)
    if code := getattr(error, "code", None):
        return f"{code}: {message}"
    body = error.body if isinstance(error.body, Mapping) else {}
    received = "" if body.get("message") or body.get("error") else excerpt(error.response.text)
    return f"{message}: {received}" if received else message


def _error_text(error: BaseException) -> str:
    return str(error) or type(error).__name__
