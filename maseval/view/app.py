"""create_app: the viewer of one folder as an application that a server runs."""

import os
import re
from collections.abc import Collection, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from maseval.core.exceptions import MASEvalError
from maseval.view.api import Feature, Json, own_answers
from maseval.view.events import Watcher, event_routes
from maseval.view.exceptions import NothingThereError, ViewError
from maseval.view.library import Library
from maseval.view.reading import RunReader
from maseval.view.safety import LOCAL_NAMES, Guard

# A shorter answer is sent as it is.
_SMALL = 1000


def create_app(
    root: str | os.PathLike[str],
    *,
    reader: RunReader | None = None,
    features: Sequence[Feature] = (),
    edit: bool = False,
    token: str | None = None,
    hosts: Collection[str] | None = LOCAL_NAMES,
) -> Starlette:
    """The viewer of all runs below ``root``.

    Args:
        root: The folder that is viewed; nothing outside of it can be reached.
        reader: What knows benchmarks: explains failures, and reads results files.
        features: What is added to it.
        edit: Whether the page may change what people wrote: tags, notes, remarks.
        token: What a browser must bring along; None where only this machine can connect.
        hosts: The names that a request may call the server by; None for any.
    """

    app = Starlette(
        routes=[
            *own_answers([feature.name for feature in features], edit=edit).routes(),
            *event_routes(),
            *(route for feature in features for route in feature.routes()),
            *page_routes(),
        ],
        middleware=[
            Middleware(Guard, hosts=hosts, token=token, edit=edit),
            # Twice the time for a tenth less is not worth it on one machine.
            Middleware(GZipMiddleware, minimum_size=_SMALL, compresslevel=4),
        ],
        exception_handlers={MASEvalError: _error_response, HTTPException: _http_error_response},
    )
    app.state.library = Library(Path(root), reader or RunReader())
    app.state.watcher = Watcher(app.state.library)
    return app


def _error_response(request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, ViewError) else 422
    return Json({"error": str(error)}, status_code=status)


def _http_error_response(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404 and "text/html" in request.headers.get("accept", ""):
        return Response(page_html(_HEAD), 404, media_type="text/html")
    return Json({"error": error.detail}, status_code=error.status_code, headers=error.headers)


_NAME = re.compile(r"(view/)?[a-z_]+\.(js|css)")
_TYPES = {"js": "text/javascript", "css": "text/css"}
_SHELLS = ("/", "/run/{name:path}", "/compare", "/search")
_HEAD = """<link rel="stylesheet" href="/assets/page.css">
<link rel="stylesheet" href="/assets/view/view.css">
<script type="module" src="/assets/view/view.js"></script>"""


def page_routes() -> list[BaseRoute]:
    """Return every address that a reader may open, and what these pages load."""
    return [
        *(Route(path, _shell) for path in _SHELLS),
        Route("/assets/{name:path}", _asset),
        Route("/favicon.ico", lambda request: Response(status_code=204)),
    ]


def page_html(head: str, site: bool = False) -> str:
    """Return the one page that all addresses show; its script looks at the address.

    A page of a ``site`` reads files instead of asking the server.
    """
    page = Template(asset_text("view/view.html"))
    return page.substitute(head=head, site=" data-site" if site else "")


def _shell(request: Request) -> Response:
    return Response(page_html(_HEAD), media_type="text/html")


def _asset(request: Request) -> Response:
    name: str = request.path_params["name"]
    try:
        if not _NAME.fullmatch(name):
            raise FileNotFoundError(name)
        content = asset_text(name)
    except FileNotFoundError:
        raise NothingThereError(f"there is no asset {name!r}") from None
    return Response(content, media_type=_TYPES[name.rpartition(".")[2]])


def asset_text(name: str) -> str:
    """Return a file that pages load: of the viewer below ``view/``, else one of the report's."""
    package = "maseval.view" if name.startswith("view/") else "maseval.report"
    file = files(package).joinpath("assets", name.removeprefix("view/"))
    return file.read_text(encoding="utf-8")
