"""Maps an HTTP status and a provider's message to a named error."""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from maseval.core.provider_errors import (
    AuthenticationError,
    ContentFilterError,
    ContextOverflowError,
    MalformedRequestError,
    MalformedResponseError,
    ModelNotFoundError,
    OverloadedError,
    ProviderConnectionError,
    ProviderError,
    ProviderTimeoutError,
    QuotaExhaustedError,
    RateLimitError,
)
from maseval.core.storage.redaction import REDACTED

_BY_STATUS: dict[int, type[ProviderError]] = {
    401: AuthenticationError,
    402: QuotaExhaustedError,
    403: AuthenticationError,
    404: ModelNotFoundError,
    408: ProviderTimeoutError,
    409: OverloadedError,
    413: ContextOverflowError,
    429: RateLimitError,
}

# A provider uses one status for many faults, distinguished only by a code or by the message.
_BY_WORDS: tuple[tuple[re.Pattern[str], frozenset[int], type[ProviderError]], ...] = (
    (
        re.compile(r"insufficient_quota|credit balance is too low", re.I),
        frozenset({400, 403, 429}),
        QuotaExhaustedError,
    ),
    (
        re.compile(
            r"context[_ ](length|size|window)|maximum context|prompt is too long"
            r"|too many (input )?tokens|token count .*exceeds|exceeds the .*context",
            re.I,
        ),
        frozenset({400, 413, 422, 500}),
        ContextOverflowError,
    ),
    (
        re.compile(
            r"content[_ ](filter|policy|management)|responsible ai|safety (system|setting|polic)",
            re.I,
        ),
        frozenset({400, 403, 422}),
        ContentFilterError,
    ),
    (
        re.compile(r"api[_ ]key[_ ](not[_ ]valid|invalid|expired)|invalid[_ ]api[_ ]key", re.I),
        frozenset({400}),
        AuthenticationError,
    ),
    (
        re.compile(r"model_not_found|invalid model|model .*(not exist|not found)", re.I),
        frozenset({400}),
        ModelNotFoundError,
    ),
)


def error_from_status(
    status: int,
    text: str,
    *,
    provider: str,
    model_id: str | None,
    headers: Mapping[str, str] | None = None,
) -> ProviderError:
    """The error for a response with that status; ``text`` may include the provider's own code."""
    return kind_of(status, text)(
        text,
        provider=provider,
        model_id=model_id,
        status=status,
        retry_after=retry_after(headers or {}),
    )


def kind_of(status: int, text: str) -> type[ProviderError]:
    """The class of error for a status and a provider's message."""
    for words, statuses, kind in _BY_WORDS:
        if status in statuses and words.search(text):
            return kind
    if status < 400:  # neither an answer nor a refusal
        return MalformedResponseError
    return _BY_STATUS.get(status, OverloadedError if status >= 500 else MalformedRequestError)


# By name: some libraries use httpx, some its successor httpx2, and neither is imported here.
_TIMEOUTS = {"httpx.TimeoutException", "httpx2.TimeoutException", "openai.APITimeoutError"}
_BROKEN = {"httpx.TransportError", "httpx2.TransportError", "openai.APIConnectionError"}


def transport_error(error: BaseException) -> type[ProviderError] | None:
    """The class of error for an HTTP client's exception; None if it is not one."""
    bases = type(error).__mro__
    names = {f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in bases}
    if names & _TIMEOUTS:
        return ProviderTimeoutError
    return ProviderConnectionError if names & _BROKEN else None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds to wait, from ``Retry-After`` as a number or a date, if present."""
    names = {name.lower(): value for name, value in headers.items()}
    if (milliseconds := _number(names.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    value = names.get("retry-after")
    seconds = _number(value)
    return _seconds_until(value) if seconds is None and value else seconds


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _seconds_until(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def without(secrets: Iterable[object], text: str) -> str:
    """``text`` with all of the secrets removed."""
    for secret in secrets:
        if isinstance(secret, str) and len(secret) > 3:  # a shorter one would match ordinary words
            text = text.replace(secret, REDACTED)
    return text
