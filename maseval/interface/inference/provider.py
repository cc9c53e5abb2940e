"""ProviderModelAdapter: what all adapters to a model provider have in common.

Each adapter makes requests (``_ask``) and translates the errors of its library (``_meaning``). No
adapter retries: whether a failed request is repeated is decided in one place, the call policy.
"""

import inspect
import json
import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, TypeVar, cast

from maseval.core.exceptions import UnreadableAnswerError
from maseval.core.messages import ChatResponse, Message
from maseval.core.model import ModelAdapter, Params
from maseval.core.provider_errors import (
    AuthenticationError,
    MalformedResponseError,
    ProviderError,
    RedirectRefusedError,
)
from maseval.core.shapes import excerpt
from maseval.core.storage.redaction import redact
from maseval.core.usage import CostCalculator
from maseval.interface.inference.chat_completions import (
    ToolChoice,
    ToolDefinitions,
    sendable,
)
from maseval.interface.inference.http import (
    RefusedAnswer,
    error_from_status,
    remove_secrets,
    transport_error,
)

_log = logging.getLogger(__name__)

# Self-hosted servers often need no key, but the libraries require one.
NO_KEY = "no-key-needed"


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

    @property
    def model_id(self) -> str:
        return self._model_id

    def gather_config(self) -> dict[str, Any]:
        return {
            **super().gather_config(),
            "default_generation_params": redact(self._default_generation_params),
        }

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
        definitions = cast("ToolDefinitions | None", tools or None)
        try:
            return self._ask(sendable(messages), params, definitions, tool_choice)
        except (ProviderError, UnreadableAnswerError):
            raise
        except Exception as error:
            known = self.meaning_of(error)
            if known is None:
                raise
            # Not chained: the library's message may quote the key, and reports keep tracebacks.
            raise known from None

    def meaning_of(self, error: Exception) -> ProviderError | None:
        """The named error for a failed request; None if it is not the provider's failure."""
        return self._refusal_behind(error) or self._meaning(error)

    @abstractmethod
    def _ask(
        self,
        messages: list[Message],
        params: dict[str, object],
        tools: ToolDefinitions | None,
        tool_choice: ToolChoice | None,
    ) -> ChatResponse:
        """Make one request and read the answer; ``params`` are complete and may be changed."""

    @abstractmethod
    def _meaning(self, error: Exception) -> ProviderError | None:
        """The named error for what the library raised; None if it is not the provider's failure."""

    def _refusal_behind(self, error: BaseException) -> ProviderError | None:
        """What our own HTTP client refused; the libraries wrap it in errors of theirs."""
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, RefusedAnswer):
                return self._failed(cause.kind, cause)
            if type(cause).__name__ == "TooManyRedirects":
                return self._failed(RedirectRefusedError, "in a circle")
            cause = cause.__cause__ or cause.__context__
        return None

    def _secrets(self) -> Sequence[object]:
        """Values that must not appear in any message."""
        return ()

    def _failed(
        self, kind: type[ProviderError], text: object, status: int | None = None
    ) -> ProviderError:
        return kind(
            remove_secrets(self._secrets(), str(text)),
            provider=self.provider,
            model_id=self.model_id,
            status=status,
        )

    def _failed_with(
        self, status: int, text: object, headers: Mapping[str, str] | None = None
    ) -> ProviderError:
        return error_from_status(
            status,
            remove_secrets(self._secrets(), str(text)),
            provider=self.provider,
            model_id=self.model_id,
            headers=headers,
        )

    def _transport_failure(self, error: Exception) -> ProviderError | None:
        """The named error for a failure of the HTTP client, or of decoding its response."""
        match error:
            case json.JSONDecodeError():
                text = f"{error.msg} in {excerpt(error.doc) or 'an empty body'}"
                return self._failed(MalformedResponseError, text)
            case UnicodeDecodeError():
                return self._failed(MalformedResponseError, f"no text: {excerpt(error.object)}")
            case ValueError() if "integer string conversion" in str(error):
                return self._failed(MalformedResponseError, "a number of thousands of digits")
            case RecursionError():
                return self._failed(MalformedResponseError, "it is nested too deeply")
        kind = transport_error(error)
        return None if kind is None else self._failed(kind, _described(error))


def with_extra_body(method: Callable[..., object], request: dict[str, object]) -> dict[str, object]:
    """The request for a library's method, which may not know every parameter of the server.

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


def accepts(function: Callable[..., object], /, *args: object, **arguments: object) -> bool:
    """Whether a function takes these arguments, as far as its signature shows."""
    try:
        inspect.signature(function).bind(*args, **arguments)
    except ValueError:  # a built-in without a signature: just try it
        return True
    except TypeError:
        return False
    return True


@cache
def shared_client(make: Callable[..., object], **options: object) -> object:
    """One client for all adapters with equal options.

    A run creates adapters for every simulation; with one client each, a thousand simulations would
    open a thousand connections. The libraries' clients are thread-safe.
    """
    return make(**options)


AdapterT = TypeVar("AdapterT", bound=ModelAdapter)


def limited(adapter: AdapterT, max_answer_mb: float) -> AdapterT:
    """The adapter with a limit of its own on the size of an answer."""
    adapter.max_answer_mb = max_answer_mb
    return adapter


def no_key(variable: str, *, provider: str, model_id: str) -> AuthenticationError:
    """The error for a model whose key is missing."""
    return AuthenticationError(
        f"no API key was given; set the environment variable {variable}, "
        "or pass the option api_key=…",
        provider=provider,
        model_id=model_id,
    )


@cache  # a run creates an adapter for every simulation; once is enough
def warn_seed_unused(provider: str, model_id: str) -> None:
    """Warn that a seed was left out, so that nobody takes the answers for reproducible."""
    _log.warning("%s takes no seed for model %s: it runs unseeded", provider, model_id)


def cause_of(error: BaseException) -> str:
    """An error's message with its cause: libraries often say only 'Connection error.'"""
    cause = error.__cause__
    return _described(error) if cause is None else f"{_described(error)} ({_described(cause)})"


def refusal_of(error: Any) -> str:
    """What a refused request was answered: the library's message, or the body it did not read."""
    message = str(error.message)
    body = error.body if isinstance(error.body, Mapping) else {}
    received = "" if body.get("message") or body.get("error") else excerpt(error.response.text)
    return f"{message}: {received}" if received else message


def _described(error: BaseException) -> str:
    return str(error) or type(error).__name__
