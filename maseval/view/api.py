"""The answers of the server as JSON, and what a feature is that adds more of them.

``Answers`` is a feature made of plain functions, for those who know runs and no web server.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from maseval.core.storage import strict_json
from maseval.view.exceptions import BadRequestError
from maseval.view.library import Library
from maseval.view.rows import live_of

Query = Mapping[str, str]
Body = Mapping[str, object]


class Json(Response):
    """Any value; what JSON cannot hold becomes text."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        return strict_json.dumps(content).encode("ascii")


def library_of(request: Request) -> Library:
    """The runs that are viewed."""
    library: Library = request.app.state.library
    return library


def required_parts(query: Query, *names: str) -> list[str]:
    """Return parts of the query, each of which must be there."""
    missing = [name for name in names if name not in query]
    if missing:
        raise BadRequestError(f"the address lacks {', '.join(missing)}; add ?{missing[0]}=")
    return [query[name] for name in names]


class Feature(Protocol):
    """Routes of its own, and what it is called.

    A route finds the runs in ``request.app.state.library``. One that takes a POST is answered only
    if the viewer was started with ``--edit``, or if it lies below ``/api/NAME/`` of a feature with
    ``writes``.
    """

    @property
    def name(self) -> str:
        """One word: the page learns which features are there by it."""

    @property
    def writes(self) -> bool:
        """True if its own routes take a POST without ``--edit``."""

    def routes(self) -> Sequence[BaseRoute]:
        """Return the routes that it answers."""


_Endpoint = Callable[[Request], Awaitable[Response]]


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
        """Return a route for each function."""
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
        body = _json_object(await request.body())
        return Json(await run_in_threadpool(function, library_of(request), body))

    return answer


def _json_object(body: bytes) -> Body:
    try:
        sent = strict_json.loads(body)
    except ValueError as error:
        raise BadRequestError(f"the body is not JSON: {error}") from error
    if not isinstance(sent, dict):
        raise BadRequestError("the body must be a JSON object")
    return sent


def own_answers(features: Sequence[str], *, edit: bool) -> "Answers":
    """Return the viewer's own answers: the list of runs, and what one of them holds."""

    def runs(library: Library, query: Query) -> object:
        return {
            "root": str(library.root),
            "edit": edit,
            "play": "play" in features,
            "features": list(features),
            "runs": library.rows(),
        }

    return Answers(
        "runs",
        {
            "/api/runs": runs,
            "/api/run/index": _index,
            "/api/run/packet": _packet,
            "/api/run/live": _live,
        },
    )


def _index(library: Library, query: Query) -> object:
    (name,) = required_parts(query, "run")
    run = library.run_with_labels(name)
    live = live_of(run)
    version = max((entry.at for entry in run.entries()), default=0)
    kind = "run" if library.path_of(name).is_dir() else "results"
    known = {key: live[key] for key in ("state", "planned", "labelled")}
    return {**run.index(), "live": {**known, "kind": kind, "version": version}}


def _live(library: Library, query: Query) -> object:
    return live_of(library.run(*required_parts(query, "run")))


def _packet(library: Library, query: Query) -> object:
    name, domain, task = required_parts(query, "run", "domain", "task")
    return library.run(name).packet(domain, task, query.get("trial"))
