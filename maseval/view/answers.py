"""Answers: a feature made of plain functions, for those who know runs and no web server."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from maseval.core.storage import strict_json
from maseval.view.api import Json, library_of
from maseval.view.exceptions import BadRequestError
from maseval.view.library import Library

_Endpoint = Callable[[Request], Awaitable[Response]]
Query = Mapping[str, str]
Body = Mapping[str, object]


@dataclass(frozen=True)
class Answers:
    """Functions by the path that they answer: each gets the runs and what was asked or sent.

    What a function returns is sent as JSON; a ``MASEvalError`` becomes a refusal in its words. They
    are called in threads, so several may run at once.

    Args:
        name: One word for the feature.
        asked: What is answered to a GET, by path; the function gets the query.
        sent: What is answered to a POST, by path; the function gets the JSON object of the body.
        writes: Whether ``sent`` is answered without ``--edit``.
        close: Called when the server ends.
    """

    name: str
    asked: Mapping[str, Callable[[Library, Query], object]] = field(default_factory=dict)
    sent: Mapping[str, Callable[[Library, Body], object]] = field(default_factory=dict)
    writes: bool = False
    close: Callable[[], object] = lambda: None

    def routes(self) -> Sequence[BaseRoute]:
        """A route for each function."""
        return [
            *(Route(path, _to_query(function)) for path, function in self.asked.items()),
            *(
                Route(path, _to_body(function), methods=["POST"])
                for path, function in self.sent.items()
            ),
        ]


def _to_query(function: Callable[[Library, Query], object]) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        return Json(function(library_of(request), request.query_params))

    return answer


def _to_body(function: Callable[[Library, Body], object]) -> _Endpoint:
    async def answer(request: Request) -> Response:
        body = _object(await request.body())
        return Json(await run_in_threadpool(function, library_of(request), body))

    return answer


def _object(body: bytes) -> Body:
    try:
        sent = strict_json.loads(body)
    except ValueError as error:
        raise BadRequestError(f"the body is not JSON: {error}") from error
    if not isinstance(sent, dict):
        raise BadRequestError("the body must be a JSON object")
    return sent
