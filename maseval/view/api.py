"""What the page asks for, as JSON."""

from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from maseval.core.storage import strict_json
from maseval.view.exceptions import BadRequestError
from maseval.view.library import Library
from maseval.view.live import live_of


class Json(Response):
    """Any value; what JSON cannot hold becomes text."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        return strict_json.dumps(content).encode("ascii")


def library_of(request: Request) -> Library:
    """The runs that are viewed."""
    library: Library = request.app.state.library
    return library


def asked(query: Mapping[str, str], *names: str) -> list[str]:
    """Parts of the query, each of which must be there."""
    missing = [name for name in names if name not in query]
    if missing:
        raise BadRequestError(f"the address lacks {', '.join(missing)}; add ?{missing[0]}=")
    return [query[name] for name in names]


def api_routes(features: Sequence[str], *, edit: bool) -> list[BaseRoute]:
    """The runs, and what one of them holds."""

    def runs(request: Request) -> Response:
        library = library_of(request)
        return Json(
            {
                "root": str(library.root),
                "edit": edit,
                "play": "play" in features,
                "features": list(features),
                "runs": library.rows(),
            }
        )

    return [
        Route("/api/runs", runs),
        Route("/api/run/index", _index),
        Route("/api/run/packet", _packet),
        Route("/api/run/live", _live),
    ]


def _index(request: Request) -> Response:
    (name,) = asked(request.query_params, "run")
    run = library_of(request).looked_at(name)
    live = live_of(run)
    version = max((entry.at for entry in run.entries()), default=0)
    kind = "run" if library_of(request).path_of(name).is_dir() else "results"
    known = {key: live[key] for key in ("state", "planned", "labelled")}
    known |= {"kind": kind, "version": version}
    return Json({**run.index(), "live": known})


def _live(request: Request) -> Response:
    (name,) = asked(request.query_params, "run")
    return Json(live_of(library_of(request).run(name)))


def _packet(request: Request) -> Response:
    name, domain, task = asked(request.query_params, "run", "domain", "task")
    trial = request.query_params.get("trial")
    return Json(library_of(request).run(name).packet(domain, task, trial))
