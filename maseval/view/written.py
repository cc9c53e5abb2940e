"""The body of what our own page sends to be kept."""

from typing import Any

from starlette.requests import Request

from maseval.core.storage import strict_json
from maseval.view.query import BadRequestError

_LARGEST = 64_000
"""The most bytes that a label or note may have."""


async def read_body(request: Request, what: str) -> dict[str, Any]:
    """Return the object that was sent; ``what`` says in an error what it was to be."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _LARGEST:
            raise BadRequestError(f"a {what} has at most {_LARGEST} bytes; shorten the note")
    try:
        return strict_json.loads_object(body)
    except ValueError as error:
        raise BadRequestError(f"this is no {what}: {error!s}") from error
