"""Every provider that the library ``litellm`` supports."""

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, wraps
from importlib import import_module
from types import ModuleType
from typing import Any, cast

from maseval.core import provider_errors as errors
from maseval.core.exceptions import causes
from maseval.core.messages import ChatResponse, MessageForm
from maseval.core.model import Params
from maseval.core.provider_errors import ProviderError
from maseval.core.storage.redaction import environment_secrets
from maseval.core.structured import AnswerForm
from maseval.core.usage import CostCalculator
from maseval.interface import extras
from maseval.interface.inference.chat_completions import (
    calls_so_far,
    chat_response,
    check_error,
    get,
    request_messages,
    response_format,
)
from maseval.interface.inference.endings import check_ending
from maseval.interface.inference.http import (
    check_response,
    connection_error,
    limit_client,
)
from maseval.interface.inference.provider import (
    NO_KEY,
    Endpoint,
    ModelRequest,
    ProviderModelAdapter,
    no_key,
    warn_seed_unused,
)


class LiteLLMModelAdapter(ProviderModelAdapter):
    """A model by its LiteLLM name, such as ``anthropic/claude-sonnet-5-5`` or ``ollama/llama3``.

    Without ``api_key`` and ``api_base`` LiteLLM reads each provider's environment variables. It
    reports the cost of an answer if it knows the prices. Its own retries are disabled.
    """

    provider = "litellm"

    def __init__(
        self,
        model_id: str,
        default_generation_params: Params | None = None,
        api_key: str | None = None,
        api_base: str | None = None,
        seed: int | None = None,
        cost_calculator: CostCalculator | None = None,
    ) -> None:
        super().__init__(model_id, default_generation_params, seed, cost_calculator)
        self._api_key = api_key
        self._api_base = api_base

    def _address(self) -> str:
        return self._api_base or _address(self.model_id) or ""

    def gather_config(self) -> dict[str, Any]:
        config = super().gather_config()
        if extras.is_installed("litellm"):
            library = _library()
            config["litellm_global_config"] = {
                "num_retries": library.num_retries,
                "drop_params": library.drop_params,
                "verbose": get(library, "set_verbose"),
            }
        return config

    def _answer_format(self, form: AnswerForm[Any], params: Params) -> Params | None:
        return response_format(form)  # which LiteLLM translates, or refuses

    def _ask(self, request: ModelRequest) -> ChatResponse:
        messages, params, tools, tool_choice = request
        # LiteLLM's own retries would neither be logged nor end with the run.
        body = {"max_retries": 0, **params}
        optional = {
            "tools": list(tools) if tools else None,
            "tool_choice": tool_choice,
            "api_key": self._api_key,
            "api_base": self._api_base,
        }
        body |= {name: value for name, value in optional.items() if value is not None}
        # Anything but the plain form is handed over as it is: LiteLLM decides about null.
        plain = self.message_form is MessageForm.PLAIN
        sent = request_messages(messages, MessageForm.PLAIN if plain else MessageForm.NULLS)
        answer = _completion(model=self.model_id, messages=sent, **body)
        response = chat_response(answer, earlier_calls=calls_so_far(messages))
        cost = (get(answer, "_hidden_params") or {}).get("response_cost")
        if response.usage is not None and cost is not None:
            response.usage["cost"] = cost
        return response

    def _secrets(self) -> Sequence[object]:
        # Without a key LiteLLM reads one of many variables, and does not say which.
        given = self._default_generation_params.get("api_key")
        return [self._api_key, given, *environment_secrets()]

    def _translate(self, error: Exception) -> ProviderError | None:
        known = _library().exceptions
        match error:
            case known.ContentPolicyViolationError():
                return self._error(errors.ContentFilterError, error)
            case known.ContextWindowExceededError() if _status_of(error) < 500:
                return self._error(errors.ContextOverflowError, error, error.status_code)
            case known.Timeout():
                return self._error(errors.ProviderTimeoutError, error)
            case known.UnsupportedParamsError():
                return self._error(errors.MalformedRequestError, error)
            case known.BadRequestError() if "LLM Provider NOT provided" in str(error):
                return self._error(errors.ModelNotFoundError, error)
            case known.APIConnectionError() | known.InternalServerError() if _is_broken(error):
                return self._error(connection_error(error), error)
        if get(_asking.response, "status_code") == 200:  # LiteLLM cannot read it
            return self._error(errors.MalformedResponseError, error)
        if status := _status_of(error):
            return self._status_error(status, error, get(error, "litellm_response_headers"))
        return self._transport_error(error)

    @classmethod
    def _connect(cls, name: str, endpoint: Endpoint, **settings: Any) -> "LiteLLMModelAdapter":
        """Check the key.

        LiteLLM reads the provider's own variables, such as ``DEEPSEEK_API_KEY`` and
        ``DEEPSEEK_API_BASE``. A seed is left out, with a warning, for a provider without seeds.
        """
        library, key = _library(), endpoint.api_key
        if not key:
            missing = library.validate_environment(name)["missing_keys"]
            keys = [variable for variable in missing if variable.endswith("_KEY")]
            if keys and not (endpoint.base_url or _address(name)):
                raise no_key(" and ".join(keys), provider="litellm", model_id=name)
            key = NO_KEY if keys else None
        # Of a provider that LiteLLM does not know, the server decides.
        takes_seed = "seed" in (library.get_supported_openai_params(name) or ["seed"])
        if settings["seed"] is not None and not takes_seed:
            warn_seed_unused("litellm", name)
            settings["seed"] = None
        if endpoint.timeout is not None:
            settings["default_generation_params"]["timeout"] = endpoint.timeout
        return cls(name, api_key=key, api_base=endpoint.base_url, **settings)


def _is_broken(error: Exception) -> bool:
    """Return True if the connection broke, which LiteLLM may report as a server error."""
    is_connection = type(error).__name__ == "APIConnectionError"
    return is_connection or any(sign in str(error) for sign in ("Connection error", "[Errno "))


def _status_of(error: BaseException) -> int:
    """Return the status that the provider sent, 0 if none: LiteLLM may replace it by words."""
    found = [get(link, "status_code") for link in causes(error)]
    # The innermost error is the one nearest to what the provider sent.
    return next((status for status in reversed(found) if isinstance(status, int)), 0)


class _Request(threading.local):
    """The request that an adapter makes in this thread."""

    is_limited = False
    response: Any = None


_asking = _Request()


def _completion(**request: object) -> object:
    _asking.is_limited, _asking.response = True, None
    try:
        return _library().completion(**request)
    except ModuleNotFoundError as error:  # it needs more than it installs
        raise extras.MissingExtraError(
            f"litellm needs {error.name}. {extras.how_to_install('litellm')}"
        ) from error
    finally:
        _asking.is_limited = False
        # After an error as well: LiteLLM may have misread the provider's own failure.
        _check_received(_asking.response)


def _check_received(response: Any) -> None:
    """Raise the failure in an answer that LiteLLM took for a good one, or for a bad request."""
    with suppress(ValueError, RuntimeError):  # not JSON, or not read
        body = response.json() if response is not None and response.status_code == 200 else None
        check_error(get(body, "error"))
        check_ending(get(body, "stop_reason") or get(body, "stopReason"))


@cache
def _limit_clients() -> None:
    """Have LiteLLM's clients keep our limits while an adapter of ours asks.

    It shares them with whatever else uses it in this process, such as an agent that streams.
    """
    handler = import_module("litellm.llms.custom_httpx.http_handler").HTTPHandler
    openai = import_module("litellm.llms.openai.common_utils").BaseOpenAILLM
    handler.create_client = _limited(handler.create_client)
    openai._get_sync_http_client = staticmethod(_limited(openai._get_sync_http_client))


def _limited(make: Callable[..., object]) -> Callable[..., object]:
    def check(response: object) -> None:
        if _asking.is_limited:
            check_response(response)
            _asking.response = response

    @wraps(make)
    def make_limited(*given: object) -> object:
        client = make(*given)
        limit_client(client, check)
        return client

    return make_limited


def _library() -> ModuleType:
    library: Any = extras.load("litellm", extra="litellm")
    _limit_clients()
    # Otherwise it prints advice on every error, in the middle of other output.
    library.suppress_debug_info = True
    return cast(ModuleType, library)


def _address(name: str) -> str | None:
    provider, slash, _ = name.partition("/")
    prefix = provider.upper() if slash else "OPENAI"
    return os.environ.get(f"{prefix}_API_BASE") or os.environ.get(f"{prefix}_BASE_URL")


from_id = LiteLLMModelAdapter.from_id
