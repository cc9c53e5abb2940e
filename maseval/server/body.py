"""The body of a request, read completely and parsed, whatever its declared length."""

import json
from collections.abc import Iterator
from email.message import Message
from io import BufferedIOBase

from maseval.server.completion import Refusal, RequestBody

LONGEST = 64 * 1024 * 1024
_STEP = 1 << 20
# How much of an oversized request is read, so that its client gets the refusal.
_PATIENCE = 1 << 30
_CHUNK_HEAD = 256
_DIGITS = 15


def body_of(stream: BufferedIOBase, headers: Message) -> bytes:
    """All of a request's body; raises a ``Refusal`` if it is incomplete or too long."""
    if "chunked" in str(headers.get("Transfer-Encoding", "")).lower():
        return b"".join(_chunks(stream))
    declared = str(headers.get("Content-Length", "0")).strip()
    if not declared.isdecimal() or len(declared) > _DIGITS:
        raise Refusal(f"the Content-Length is {declared[:40]!r}, which is not a number of bytes")
    length = int(declared)
    if length > LONGEST:
        _discard(stream, min(length, _PATIENCE))
        raise _too_long(length)
    body = stream.read(length)
    if len(body) < length:
        raise Refusal(f"the request ended after {len(body)} of {length} bytes")
    return body


def _chunks(stream: BufferedIOBase) -> Iterator[bytes]:
    total = 0
    while size := _chunk_size(stream):
        total += size
        if total > LONGEST:
            raise _too_long(total)
        yield stream.read(size)
        stream.readline(_CHUNK_HEAD)
    while stream.readline(_CHUNK_HEAD).strip():
        """Trailers are ignored."""


def _chunk_size(stream: BufferedIOBase) -> int:
    head = stream.readline(_CHUNK_HEAD).partition(b";")[0].strip()
    try:
        size = int(head, 16)
    except ValueError:
        size = -1
    if size < 0:
        raise Refusal("a chunk of the request has no valid size")
    return size


def _discard(stream: BufferedIOBase, length: int) -> None:
    while length > 0 and (piece := stream.read(min(length, _STEP))):
        length -= len(piece)


def _too_long(length: int) -> Refusal:
    return Refusal(f"a request of {length} bytes is too long; {LONGEST} are allowed", status=413)


def parsed(body: bytes) -> RequestBody:
    """The request in a body; raises a ``Refusal`` that says what is missing."""
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refusal(f"the request is not JSON: {error}") from None
    if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
        raise Refusal("the request has no list of messages")
    for place, message in enumerate(request["messages"]):
        if not isinstance(message, dict):
            raise Refusal(f"messages[{place}] is not an object but {json.dumps(message)[:60]}")
    return request
