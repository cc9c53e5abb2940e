"""Requests and answers: the query, the body that our own page sends to be kept, and JSON.

The texts of the errors that answer a bad request go to the reader.
"""

from typing import ClassVar

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from maseval.core.exceptions import MASEvalError
from maseval.core.outcome import Simulation
from maseval.core.recorded import Shape
from maseval.core.storage import strict_json

Query = QueryParams


class ViewError(MASEvalError):
    """A request that is refused, with the status of the answer."""

    status: ClassVar[int] = 400


class BadRequestError(ViewError, ValueError):
    """The request lacks something, or has it in the wrong form."""


class NothingThereError(ViewError, LookupError):
    """There is no such run, task or page."""

    status: ClassVar[int] = 404


def number_in(query: Query, name: str, usual: int) -> int:
    """Return a whole number of the query; ``usual`` if it is not there."""
    given = query.get(name, str(usual))
    if not (given.isascii() and given.isdecimal() and len(given) < 10):
        raise BadRequestError(f"{name} is {given!r}; give a whole number")
    return int(given)


def required_parts(query: Query, *names: str) -> list[str]:
    """Return parts of the query, each of which must be there."""
    missing = [name for name in names if name not in query]
    if missing:
        raise BadRequestError(f"the address lacks {', '.join(missing)}; add ?{missing[0]}=")
    return [query[name] for name in names]


_LARGEST = 64_000
"""The most bytes that a label or note may have."""


async def read_body(request: Request, what: str) -> Shape:
    """Return the object that was sent; ``what`` says in an error what it was to be."""
    body = b""
    # Part by part, as the length that a client states need not be true.
    async for part in request.stream():
        body += part
        if len(body) > _LARGEST:
            raise BadRequestError(f"a {what} has at most {_LARGEST} bytes; shorten the note")
    try:
        return strict_json.loads_object(body)
    except ValueError as error:
        raise BadRequestError(f"this is no {what}: {error!s}") from error


def simulation_in(given: Shape, what: str) -> Simulation:
    """Return the simulation that a body is about."""
    try:
        return Simulation(str(given["domain"]), str(given["task_id"]), int(str(given["trial"])))
    except (KeyError, TypeError, ValueError) as error:
        raise BadRequestError(f"this is no {what}: {error!s}") from error


class Json(Response):
    """Any value; what JSON cannot hold becomes text."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        return strict_json.dumps(content).encode("ascii")
