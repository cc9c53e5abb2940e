"""Getting bytes over the network, with limits: on time, on size, on silence.

A connection that cannot be made is not tried twice; a busy server is, briefly.
"""

import http.client
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress

from maseval.data.files import SourceError
from maseval.data.wheel import MEMBER_LIMIT

Received = Callable[[int], object]

_BUSY = (429, 500, 502, 503, 504)
_PAUSES = (0.1, 0.2)  # before asking a busy server again, as parts of our patience
_SLOWEST = 1024  # bytes per second: less than this is no download but a hanging one
_CHUNK = 64 * 1024


def get(url: str, size: int, patience: float, received: Received) -> bytes:
    """The ``size`` bytes behind ``url``; a server silent for ``patience`` seconds is given up."""
    if not url.startswith(("https://", "http://")):
        raise SourceError("not an HTTP address")
    name = url.rpartition("/")[2]
    with _refusing(name, patience), _answer(url, patience) as response:
        return _body(response, name, size, patience, received)


def text_at(url: str, patience: float) -> str:
    """The text behind ``url``, of whatever content."""
    name = url.rpartition("/")[2]
    try:
        with _refusing(name, patience), _answer(url, patience) as response:
            return response.read(MEMBER_LIMIT).decode("utf-8")
    except (SourceError, ValueError) as error:
        raise SourceError(f"Failed to download from {url}: {error}") from error


@contextmanager
def _refusing(name: str, patience: float) -> Iterator[None]:
    """Whatever goes wrong on the way to ``name`` is a ``SourceError`` that says so."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        raise SourceError(f"{name} answered {error.code} {error.reason}") from error
    except TimeoutError as error:
        raise SourceError(f"{name} was not answered within {patience:g} s") from error
    except urllib.error.URLError as error:
        raise SourceError(f"unreachable: {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:
        raise SourceError(f"{name} broke off: {error!r}") from error


def _answer(url: str, patience: float) -> http.client.HTTPResponse:
    deadline = time.monotonic() + 2 * patience
    for part in _PAUSES:
        try:
            return _opened(url, patience)
        except urllib.error.HTTPError as error:
            pause = max(part * patience, _asked_to_wait(error))
            if error.code not in _BUSY or time.monotonic() + pause > deadline:
                raise
            error.close()
        time.sleep(pause)
    return _opened(url, patience)


def _asked_to_wait(error: urllib.error.HTTPError) -> float:
    asked = error.headers.get("Retry-After", "")
    return float(asked) if asked.isdigit() else 0.0


def _opened(url: str, patience: float) -> http.client.HTTPResponse:
    """Open ``url`` in a thread: looking up a host name has no time limit of its own."""
    request = urllib.request.Request(url, headers={"User-Agent": "maseval"})
    answer: Future[http.client.HTTPResponse] = Future()

    def ask() -> None:
        try:
            response = urllib.request.urlopen(request, timeout=patience)
        except Exception as error:  # whatever it is, it belongs to the thread that waits
            with suppress(InvalidStateError):
                answer.set_exception(error)
            return
        try:
            answer.set_result(response)
        except InvalidStateError:  # nobody waits any more
            response.close()

    threading.Thread(target=ask, daemon=True).start()
    try:
        return answer.result(timeout=patience)
    finally:
        answer.cancel()


def _body(
    response: http.client.HTTPResponse,
    name: str,
    size: int,
    patience: float,
    received: Received,
) -> bytes:
    content = bytearray()
    since, before = time.monotonic(), 0
    while chunk := response.read1(_CHUNK):
        content += chunk
        received(len(chunk))
        if len(content) > size:
            raise SourceError(f"{name} is longer than the {size:,} bytes it should have")
        if (elapsed := time.monotonic() - since) >= patience:
            if len(content) - before < _SLOWEST * elapsed:
                raise SourceError(f"{name} is too slow: {len(content):,} bytes so far")
            since, before = time.monotonic(), len(content)
    if len(content) < size:
        raise SourceError(f"{name} broke off after {len(content):,} of {size:,} bytes")
    return bytes(content)
