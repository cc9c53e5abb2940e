"""The failures of a request to a language model, whoever provides the model.

Adapters turn the errors of each provider's library into these few, so that one policy serves all::

    ProviderError
    ├── transient: another try may well go through
    │   ├── RateLimitError              retry_after says when
    │   ├── OverloadedError
    │   ├── ProviderTimeoutError (TimeoutError)
    │   ├── ProviderConnectionError (ConnectionError)
    │   │   ├── UnreachableError        fatal_for_run, if no attempt of a call gets through
    │   │   └── UntrustedServerError    fatal_for_run, and no other try gets through
    │   └── MalformedResponseError      the answer cannot be read; the next one may be whole
    └── lasting: the same request fails again
        ├── WaitTooLongError            fatal_for_run: a RateLimitError that no call waits out
        ├── RedirectRefusedError        fatal_for_run
        ├── AnswerTooLargeError
        ├── AuthenticationError         fatal_for_run: no other task would fare better
        ├── QuotaExhaustedError         fatal_for_run
        ├── ModelNotFoundError          fatal_for_run
        ├── ContextOverflowError
        ├── ContentFilterError
        └── MalformedRequestError
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import ClassVar, Literal

from maseval.core.exceptions import MASEvalError
from maseval.core.storage.redaction import redact_text
from maseval.core.words import excerpt

# Enough to recognise the fault; some providers send back whole pages.
_LONGEST_TEXT = 500


class ProviderError(MASEvalError):
    """A model provider did not answer a request as it should.

    Args:
        text: The provider's own words; keys and passwords in it are cut out.
        provider: Who was asked, such as ``openai``.
        model_id: The model that was asked.
        status: The HTTP status of the answer, if there was one.
        retry_after: How many seconds the provider asks to wait before the next request.
    """

    transient: ClassVar[bool] = False
    """True if the same request may succeed later."""

    fatal_for_run: ClassVar[bool] = False
    """True if every other request to this model would fail as well."""

    fault: ClassVar[str] = "failed"
    way_out: ClassVar[str] = ""

    def __init__(
        self,
        text: str,
        *,
        provider: str,
        model_id: str | None = None,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        # A refusal may quote the key, or the whole conversation.
        self.text = excerpt(redact_text(" ".join(text.split())), _LONGEST_TEXT)
        self.provider = provider
        self.model_id = model_id
        self.status = status
        self.retry_after = retry_after
        super().__init__(
            self._message(),
            details={
                "provider": provider,
                "model_id": model_id,
                "status": status,
                "retry_after": retry_after,
                "transient": self.transient,
            },
        )

    def __reduce__(self) -> tuple[Callable[[], "ProviderError"], tuple[()], dict[str, object]]:
        # The default way of copying and pickling knows nothing of keyword arguments.
        return self.as_kind(type(self)), (), {**vars(self), "details": dict(self.details)}

    def as_kind(self, kind: type["ProviderError"]) -> Callable[[], "ProviderError"]:
        """Return a call that makes the same error of another kind."""
        return partial(
            kind,
            self.text,
            provider=self.provider,
            model_id=self.model_id,
            status=self.status,
            retry_after=self.retry_after,
        )

    def _message(self) -> str:
        model = f" (model {self.model_id!r})" if self.model_id else ""
        status = f" [HTTP {self.status}]" if self.status else ""
        words = f": {self.text}" if self.text else ""
        return f"{self.provider} {self.fault}{model}{status}{words}{self._advice()}"

    def _advice(self) -> str:
        return f". {self.way_out}" if self.way_out else ""


OTHERS_THAN_THE_AGENT = ("user", "tool")
"""Whose model it may be that failed; without a component it is the agent's."""


@contextmanager
def model_of(component: Literal["user", "tool"]) -> Iterator[None]:
    """Have a failure within say that it was not the agent's model."""
    try:
        yield
    except ProviderError as error:
        error.component = error.component or component
        raise


class RateLimitError(ProviderError):
    """Too many requests, or too many tokens, for now."""

    transient = True
    fault = "refused the request because of its rate limit"

    def _advice(self) -> str:
        if self.retry_after is None:
            return ". Wait before the next request, or run with less concurrency"
        return f". Wait {self.retry_after:g} s before the next request"


class WaitTooLongError(RateLimitError):
    """The provider asks for a longer wait than any call may take."""

    transient = False
    fatal_for_run = True
    fault = "asks for a longer wait than a call allows"

    def _advice(self) -> str:
        return (
            f". Run again in {self.retry_after or 0.0:g} s, "
            "or allow longer waits: --max-wait SECONDS, in Python max_total_wait of the CallPolicy"
        )


class OverloadedError(ProviderError):
    """The provider is down or has too much to do."""

    transient = True
    fault = "is overloaded or out of order"
    way_out = "Try again later"


class ProviderTimeoutError(ProviderError, TimeoutError):
    """No answer came in time."""

    transient = True
    fault = "did not answer in time"
    way_out = "Try again, or give the model more time with the option timeout=SECONDS"


class ProviderConnectionError(ProviderError, ConnectionError):
    """The provider could not be reached, or the connection broke."""

    transient = True
    fault = "could not be reached"
    way_out = "Check the network and the option base_url"


class UnreachableError(ProviderConnectionError):
    """No connection could be made at all: the host is not known, or nothing listens there."""

    fatal_for_run = True
    fault = "cannot be connected to"


class UntrustedServerError(ProviderConnectionError):
    """The server's certificate is not trusted, or it does not speak TLS."""

    transient = False
    fatal_for_run = True
    fault = "cannot be connected to securely"
    way_out = (
        "Check the option base_url; for a server of your own, let SSL_CERT_FILE name the file of "
        "the certificate that vouches for it"
    )


class MalformedResponseError(ProviderError):
    """The response is invalid: not JSON, no choices, or empty ones."""

    transient = True
    fault = "sent an answer that cannot be read"
    way_out = "Try again; if it stays so, check that base_url is the provider's API"


class RedirectRefusedError(ProviderError):
    """The provider points to another address, to which neither key nor conversation is sent."""

    fatal_for_run = True
    fault = "redirects to another address, which is not followed"
    way_out = "If that address is the provider's, give it as base_url"


class AnswerTooLargeError(ProviderError):
    """The answer is larger than any answer may be."""

    fault = "sent an answer that is too large"
    way_out = "Limit it with max_tokens"


class AuthenticationError(ProviderError):
    """The key is missing or wrong, or may not be used for this model."""

    fatal_for_run = True
    fault = "refused the credentials"
    way_out = "Check the API key and what it is allowed to do"


class QuotaExhaustedError(ProviderError):
    """The account has no credit left, which waiting does not change."""

    fatal_for_run = True
    fault = "has no credit left for this key"
    way_out = "Add credit to the account, or use another key"


class ModelNotFoundError(ProviderError):
    """The provider has no such model, or no such address."""

    fatal_for_run = True
    fault = "does not have the model"
    way_out = "Check the model id and the option base_url"


class ContextOverflowError(ProviderError):
    """The conversation is longer than the model can read."""

    fault = "cannot take a conversation that long"
    way_out = "Use a model with a longer context, or a shorter conversation"


class ContentFilterError(ProviderError):
    """The provider withheld the answer because of its content policy."""

    fault = "withheld the answer because of its content filter"
    way_out = "Change the prompt, or the provider's safety settings"


class MalformedRequestError(ProviderError):
    """The provider does not accept the request as it is."""

    fault = "does not accept the request"
    way_out = "Check the generation parameters and the tool definitions"
