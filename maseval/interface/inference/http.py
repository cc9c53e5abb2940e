"""HTTP with the providers: clients that trust no server, and statuses as named errors.

The providers' libraries by themselves trust every server. Here no redirect leads to another host:
the libraries would send the conversation there, and some of them the key. No answer is read beyond
a limit, which holds for what comes out of a compressed one, nor for longer than the time-out, which
the libraries apply to each piece of an answer alone.
"""

import math
import re
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from types import ModuleType
from typing import Any

from maseval.core import provider_errors as errors
from maseval.core.exceptions import MASEvalError, causes
from maseval.core.model import MAX_ANSWER_MB
from maseval.core.provider_errors import ProviderError
from maseval.core.storage.redaction import REDACTED
from maseval.core.words import excerpt

_MAX_REDIRECTS = 3
# The bytes of a compressed answer that are unpacked at a time.
_STEP = 1 << 16
# Other encodings unpack to thousands of times their size in one step.
_ENCODINGS = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}


class RefusedAnswer(MASEvalError):  # a signal that the libraries wrap, never seen
    """Something about an answer that is not accepted; ``kind`` is the error for it."""

    def __init__(self, kind: type[ProviderError], text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.kind = kind
        self.status = status


_ACCEPTED = {"Accept-Encoding": "gzip, deflate"}


def client_options() -> dict[str, Any]:
    """Return the options for a client of ``httpx``, or of a library like it."""
    return {
        "event_hooks": {"response": [check_response]},
        "headers": _ACCEPTED,
        "max_redirects": _MAX_REDIRECTS,
    }


def limit_client(client: Any, check: Callable[[Any], None]) -> None:
    """Put these limits on a client that a library has made; ``check`` calls `check_response`."""
    client.event_hooks["response"].append(check)
    client.headers.update(_ACCEPTED)
    client.max_redirects = _MAX_REDIRECTS


def check_response(response: Any) -> None:
    """Refuse a redirect to another host, and have the body read within the limits."""
    # The library that made the response only takes a body of its own class.
    library = sys.modules[type(response).__module__.partition(".")[0]]
    if response.has_redirect_location:
        _check_redirect(library, response)
    # Unpacked here, step by step; without the header the library leaves it as it is.
    unpack = _unpacker(response.headers.pop("Content-Encoding", "").strip().lower())
    pieces = _limit_body(response.stream, unpack, _deadline(response.request))
    response.stream = _body_class(library)(pieces, response.stream.close)


def limited_client(kind: Callable[..., object]) -> object:
    """Make a client of a library's own class, with these limits."""
    return _closing_class(kind)(**client_options())


@cache
def _closing_class(kind: Any) -> Callable[..., object]:
    class SelfClosingClient(kind):  # type: ignore[misc]
        """Closes its connections at its end, as the client does that a library makes itself."""

        def __del__(self) -> None:
            if not self.is_closed:
                self.close()

    return SelfClosingClient


@cache
def _body_class(library: ModuleType) -> Callable[..., object]:
    class Body(library.SyncByteStream):  # type: ignore[name-defined,misc]
        def __init__(self, pieces: Iterator[bytes], close: Callable[[], None]) -> None:
            self._pieces = pieces
            self.close = close

        def __iter__(self) -> Iterator[bytes]:
            return self._pieces

    return Body


def _limit_body(
    stream: Iterable[bytes], unpack: Callable[[bytes], Iterator[bytes]], until: float
) -> Iterator[bytes]:
    """Yield the body of an answer, unpacked, once it is known to be within the limits."""
    body = bytearray()
    for packed in stream:
        if time.monotonic() > until:
            raise RefusedAnswer(errors.ProviderTimeoutError, "the answer was still coming in")
        for piece in unpack(packed):
            body += piece
            if len(body) > MAX_ANSWER_MB * 1e6:
                raise RefusedAnswer(errors.AnswerTooLargeError, f"more than {MAX_ANSWER_MB:g} MB")
    yield bytes(body)


def _deadline(request: Any) -> float:
    seconds = (request.extensions.get("timeout") or {}).get("read")
    return float("inf") if seconds is None else time.monotonic() + seconds


def _unpacker(encoding: str) -> Callable[[bytes], Iterator[bytes]]:
    if encoding in ("", "identity"):
        return lambda packed: iter([packed])
    if encoding not in _ENCODINGS:
        raise RefusedAnswer(
            errors.MalformedResponseError,
            f"its encoding {excerpt(encoding, 40)!r} was not asked for",
        )
    unpacker = zlib.decompressobj(_ENCODINGS[encoding])

    def unpack(packed: bytes) -> Iterator[bytes]:
        try:
            while packed:
                yield unpacker.decompress(packed, _STEP)
                packed = unpacker.unconsumed_tail
        except zlib.error as error:
            raise RefusedAnswer(
                errors.MalformedResponseError, f"it is not {encoding}: {error}"
            ) from None

    return unpack


def _check_redirect(library: ModuleType, response: Any) -> None:
    asked = response.request.url
    try:
        target = asked.join(response.headers["Location"])
    except (library.InvalidURL, ValueError):
        raise RefusedAnswer(errors.RedirectRefusedError, "to an address that is none") from None
    is_same = (target.scheme, target.port) == (asked.scheme, asked.port)
    # From http to https, and never back.
    is_secured = (asked.scheme, target.scheme) == ("http", "https")
    if target.host != asked.host or not (is_secured or is_same):
        raise RefusedAnswer(
            errors.RedirectRefusedError, f"from {_origin(asked)} to {_origin(target)}"
        )


def _origin(url: Any) -> str:
    return excerpt(f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}")


_BY_STATUS: dict[int, type[ProviderError]] = {
    401: errors.AuthenticationError,
    402: errors.QuotaExhaustedError,
    403: errors.AuthenticationError,
    404: errors.ModelNotFoundError,
    408: errors.ProviderTimeoutError,
    409: errors.OverloadedError,
    429: errors.RateLimitError,
}

# A provider uses one status for many faults. Its code distinguishes them; words do where there is
# none that is known, and never against the status: a server that is down may say anything.
_BY_CODE: dict[str, type[ProviderError]] = {
    "insufficient_quota": errors.QuotaExhaustedError,
    "context_length_exceeded": errors.ContextOverflowError,
    "exceed_context_size_error": errors.ContextOverflowError,
    "content_filter": errors.ContentFilterError,
    "content_policy_violation": errors.ContentFilterError,
    "image_content_policy_violation": errors.ContentFilterError,
    "misalignment_policy_violation": errors.ContentFilterError,
    "bio_policy": errors.ContentFilterError,
    "invalid_api_key": errors.AuthenticationError,
    "model_not_found": errors.ModelNotFoundError,
}
_BY_WORDS: tuple[tuple[str, set[int], type[ProviderError]], ...] = (
    (
        r"insufficient_quota|credit balance is too low",
        {400, 403, 429},
        errors.QuotaExhaustedError,
    ),
    (
        r"model_not_found|invalid model|model .{0,99}(not exist|not found)",
        {400},
        errors.ModelNotFoundError,
    ),
    (
        r"context_length_exceeded|maximum context|prompt is too long|too many (input )?tokens|"
        r"token count .{0,99}exceeds|exceeds? .{0,99}context|context .{0,99}exceed",
        {400, 413, 422},
        errors.ContextOverflowError,
    ),
    (
        r"content[_ ](filter|policy|management)|moderation|responsible ai|"
        r"safety (system|setting|polic)",
        {400, 403, 422},
        errors.ContentFilterError,
    ),
    (
        r"api[_ ]key[_ ](not[_ ]valid|invalid|expired)|invalid[_ ]api[_ ]key",
        {400},
        errors.AuthenticationError,
    ),
)

# The statuses for which these codes stand, where they come with the status of a good answer.
_STATUSES = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "server_error": 500,
    "api_error": 500,
    "vector_store_timeout": 504,
    "timeout_error": 504,
    "overloaded_error": 529,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "billing_error": 402,
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "data_residency_mismatch": 400,
}


def status_of_code(code: object) -> int | None:
    """Return the HTTP status that a code is, or for which it stands; None if there is none."""
    name = str(code)
    number = int(name) if re.fullmatch(r"[45]\d\d", name) else None
    return number or _STATUSES.get(name.lower())


def error_from_status(
    status: int,
    text: str,
    *,
    provider: str,
    model_id: str | None,
    headers: Mapping[str, str] | None = None,
    code: object = None,
) -> ProviderError:
    """Return the error for a status and the provider's own code."""
    return kind_of(status, text, code)(
        text,
        provider=provider,
        model_id=model_id,
        status=status,
        retry_after=retry_after(headers or {}),
    )


def kind_of(status: int, text: str, code: object = None) -> type[ProviderError]:
    """Return the class of error for a status, a provider's message and its code."""
    if known := _BY_CODE.get(str(code).lower()):
        return known
    for words, statuses, kind in _BY_WORDS:
        if status in statuses and re.search(words, text, re.IGNORECASE):
            return kind
    if status < 400:  # neither an answer nor a refusal
        return errors.MalformedResponseError
    return _BY_STATUS.get(
        status, errors.OverloadedError if status >= 500 else errors.MalformedRequestError
    )


# Recognised by name: some libraries use httpx, some its successor httpx2; neither is imported.
_TIMEOUTS = {"httpx.TimeoutException", "httpx2.TimeoutException", "openai.APITimeoutError"}
_NO_CONNECTION = {"ConnectError", "ClientConnectorError", "ConnectionRefusedError", "gaierror"}
_NO_TRUST = ("CERTIFICATE_VERIFY_FAILED", "WRONG_VERSION_NUMBER")
_BROKEN = {"httpx.TransportError", "httpx2.TransportError", "openai.APIConnectionError"}


def transport_error(error: BaseException) -> type[ProviderError] | None:
    """Return the class of error for an HTTP client's exception; None if it is not one."""
    bases = type(error).__mro__
    names = {f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in bases}
    if names & _TIMEOUTS:
        return errors.ProviderTimeoutError
    return errors.ProviderConnectionError if names & _BROKEN else None


def connection_error(error: BaseException) -> type[ProviderError]:
    """Return the class of error for a broken connection: whether there ever was one."""
    links = list(causes(error))
    if any(words in str(link) for link in links for words in _NO_TRUST):
        return errors.UntrustedServerError
    is_unreachable = any(type(link).__name__ in _NO_CONNECTION for link in links)
    return errors.UnreachableError if is_unreachable else errors.ProviderConnectionError


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait, from ``Retry-After`` as a number or a date, if present."""
    names = {name.lower(): value for name, value in headers.items()}
    # The header in milliseconds first, as it is the more exact one.
    if (milliseconds := _number(names.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    value = names.get("retry-after")
    seconds = _number(value)
    if seconds is not None or (moment := _moment(value)) is None:
        return seconds
    # By the server's own clock, as the one here may be wrong.
    sent = _moment(names.get("date")) or datetime.now(UTC)
    return max(0.0, (moment - sent).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _moment(date: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(date or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def remove_secrets(secrets: Iterable[object], text: str) -> str:
    for secret in secrets:
        if isinstance(secret, str) and len(secret) > 3:  # a shorter one would match ordinary words
            text = text.replace(secret, REDACTED)
    return text
