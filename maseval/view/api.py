"""The answers of the server as JSON: plain functions, for those who know runs and no web server."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from maseval.core.storage import strict_json
from maseval.view.exceptions import BadRequestError
from maseval.view.library import Library
from maseval.view.rows import live_of
from maseval.view.viewed import ViewedRun

Query = QueryParams


class Json(Response):
    """Any value; what JSON cannot hold becomes text."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        return strict_json.dumps(content).encode("ascii")


def library_of(request: Request) -> Library:
    library: Library = request.app.state.library
    return library


def required_parts(query: Query, *names: str) -> list[str]:
    """Return parts of the query, each of which must be there."""
    missing = [name for name in names if name not in query]
    if missing:
        raise BadRequestError(f"the address lacks {', '.join(missing)}; add ?{missing[0]}=")
    return [query[name] for name in names]


@dataclass(frozen=True)
class Answers:
    """Functions by the path that they answer: each gets the runs and the query.

    What a function returns is sent as JSON; a ``MASEvalError`` becomes a refusal in its words. They
    are called in threads, so several may run at once.

    Args:
        name: One word: the page learns by it what is there.
        asked: What is answered to a GET, by path.
    """

    name: str
    asked: Mapping[str, Callable[[Library, Query], object]]

    def routes(self) -> Sequence[BaseRoute]:
        return [Route(path, _endpoint(function)) for path, function in self.asked.items()]


def _endpoint(function: Callable[[Library, Query], object]) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        return Json(function(library_of(request), request.query_params))

    return answer


def own_answers(features: Sequence[str]) -> "Answers":
    """Return the viewer's own answers: the list of runs, and what one of them holds."""

    def runs(library: Library, query: Query) -> object:
        return {
            "root": str(library.root),
            "features": list(features),
            "runs": library.rows(),
        }

    return Answers(
        "runs",
        {
            "/api/runs": runs,
            "/api/run/index": _index,
            "/api/run/results": _results,
            "/api/run/packet": _packet,
            "/api/run/live": _live,
        },
    )


def _index(library: Library, query: Query) -> object:
    (name,) = required_parts(query, "run")
    run = library.run(name)
    # First, as what comes in meanwhile may be told twice but must not be missed.
    version = run.last_place
    live = {**_state(run), "version": version}
    kind = "run" if library.path_of(name).is_dir() else "results"
    found = {**run.index(), "live": {**live, "kind": kind}}
    library.examine(run)  # last, as that would take the processor from what is waited for
    return found


def _results(library: Library, query: Query) -> object:
    run = library.run(*required_parts(query, "run"))
    return {**run.results(), "live": _state(run)}


def _state(run: ViewedRun) -> dict[str, object]:
    live = live_of(run)
    return {key: live[key] for key in ("state", "planned", "labelled", "doubted")}


def _live(library: Library, query: Query) -> object:
    return live_of(library.run(*required_parts(query, "run")))


def _packet(library: Library, query: Query) -> object:
    name, domain, task = required_parts(query, "run", "domain", "task")
    return library.run(name).packet(domain, task, query.get("trial"))
