"""HTTP clients for the providers' libraries, which by themselves trust every server.

No redirect leads to another host: the libraries would send the conversation there, and some of
them the key. No answer is read beyond a limit, which holds for what comes out of a compressed one,
nor for longer than the time-out, which the libraries apply to each piece of an answer alone.
"""

import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.provider_errors import (
    AnswerTooLargeError,
    MalformedResponseError,
    ProviderError,
    ProviderTimeoutError,
    RedirectRefusedError,
)
from maseval.core.shapes import excerpt

_MAX_REDIRECTS = 3
# Of a compressed answer, so many bytes are unpacked at a time.
_STEP = 1 << 16
# Other encodings unpack to thousands of times their size in one step.
_ENCODINGS = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}


class RefusedAnswer(MASEvalError):  # a signal that the libraries wrap, never seen
    """Something about an answer that is not accepted; ``kind`` is the error for it."""

    def __init__(self, kind: type[ProviderError], text: str) -> None:
        super().__init__(text)
        self.kind = kind


def client_options(max_answer_mb: float) -> dict[str, Any]:
    """How to make a client of ``httpx``, or of a library like it."""
    if not max_answer_mb > 0:
        raise ConfigurationError(f"max_answer_mb is {max_answer_mb!r}; give more than 0")
    most = int(max_answer_mb * 1e6)

    def check(response: Any) -> None:
        library = _library_of(response)
        if response.has_redirect_location:
            _check_redirect(library, response)
        unpack = _unpacking(response.headers.pop("Content-Encoding", "").strip().lower())
        pieces = _limited(response.stream, unpack, most, _deadline(response.request))
        response.stream = _body_class(library)(pieces, response.stream.close)

    return {
        "event_hooks": {"response": [check]},
        "headers": {"Accept-Encoding": "gzip, deflate"},
        "max_redirects": _MAX_REDIRECTS,
    }


def limited_client(kind: Callable[..., object], max_answer_mb: float) -> object:
    """A client of a library's own class."""
    return _closing(kind)(**client_options(max_answer_mb))


@cache
def _closing(kind: Any) -> Callable[..., object]:
    class Closing(kind):  # type: ignore[misc]
        """Closes its connections at its end, as the client does that a library makes itself."""

        def __del__(self) -> None:
            if not self.is_closed:
                self.close()

    return Closing


def _library_of(response: object) -> ModuleType:
    return sys.modules[type(response).__module__.partition(".")[0]]


@cache
def _body_class(library: ModuleType) -> Callable[..., object]:
    class Body(library.SyncByteStream):  # type: ignore[name-defined,misc]
        def __init__(self, pieces: Iterator[bytes], close: Callable[[], None]) -> None:
            self._pieces = pieces
            self.close = close

        def __iter__(self) -> Iterator[bytes]:
            return self._pieces

    return Body


def _limited(
    stream: Iterable[bytes],
    unpack: Callable[[bytes], Iterator[bytes]],
    most: int,
    until: float,
) -> Iterator[bytes]:
    """The body of an answer, unpacked, up to the limits."""
    size = 0
    for packed in stream:
        if time.monotonic() > until:
            raise RefusedAnswer(ProviderTimeoutError, "the answer was still coming in")
        for piece in unpack(packed):
            size += len(piece)
            if size > most:
                raise RefusedAnswer(AnswerTooLargeError, f"more than {most / 1e6:g} MB")
            yield piece


def _deadline(request: Any) -> float:
    seconds = (request.extensions.get("timeout") or {}).get("read")
    return float("inf") if seconds is None else time.monotonic() + seconds


def _unpacking(encoding: str) -> Callable[[bytes], Iterator[bytes]]:
    if encoding in ("", "identity"):
        return lambda packed: iter([packed])
    if encoding not in _ENCODINGS:
        raise RefusedAnswer(
            MalformedResponseError, f"its encoding {excerpt(encoding, 40)!r} was not asked for"
        )
    unpacker = zlib.decompressobj(_ENCODINGS[encoding])

    def unpacked(packed: bytes) -> Iterator[bytes]:
        try:
            while packed:
                yield unpacker.decompress(packed, _STEP)
                packed = unpacker.unconsumed_tail
        except zlib.error as error:
            raise RefusedAnswer(MalformedResponseError, f"it is not {encoding}: {error}") from None

    return unpacked


def _check_redirect(library: ModuleType, response: Any) -> None:
    asked = response.request.url
    try:
        target = asked.join(response.headers["Location"])
    except (library.InvalidURL, ValueError):
        raise RefusedAnswer(RedirectRefusedError, "to an address that is none") from None
    secured = (asked.scheme, target.scheme) == ("http", "https")
    if target.host != asked.host or not (secured or _place(target) == _place(asked)):
        raise RefusedAnswer(RedirectRefusedError, f"from {_shown(asked)} to {_shown(target)}")


def _place(url: Any) -> tuple[str, int | None]:
    return url.scheme, url.port


def _shown(url: Any) -> str:
    return excerpt(f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}")
