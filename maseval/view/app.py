"""create_app: the viewer of one folder as an application that a server runs."""

import os
import re
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from maseval.core.exceptions import MASEvalError
from maseval.view.api import Answers, Feature, Json, own_answers
from maseval.view.events import Watcher, event_routes
from maseval.view.exceptions import NothingThereError, ViewError
from maseval.view.library import Library
from maseval.view.safety import LOCAL_NAMES, Guard
from maseval.view.viewed import RunReader


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
        edit: Whether the page may change tags and notes.
        token: What a browser must bring along; None where only this machine can connect.
        hosts: The names that a request may call the server by; None for any.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        for feature in features:
            if isinstance(feature, Answers):
                await run_in_threadpool(feature.close)

    own = [f"/api/{feature.name}/" for feature in features if feature.writes]
    app = Starlette(
        routes=[
            *own_answers([feature.name for feature in features], edit=edit).routes(),
            *event_routes(),
            *(route for feature in features for route in feature.routes()),
            *page_routes(),
        ],
        middleware=[
            Middleware(Guard, hosts=hosts, token=token, writable=["/api/"] if edit else own)
        ],
        lifespan=lifespan,
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
    return Json({"error": error.detail}, status_code=error.status_code, headers=error.headers)


_NAME = re.compile(r"[a-z_]+\.(js|css)")
_TYPES = {"js": "text/javascript", "css": "text/css"}
_HOMES = {"": "maseval.report", "view/": "maseval.view"}
_SHELLS = ("/", "/run/{name:path}", "/compare", "/search", "/play")


def page_routes() -> list[BaseRoute]:
    """Return every address that a reader may open, and what these pages load."""
    return [
        *(Route(path, _shell) for path in _SHELLS),
        Route("/assets/{name:path}", _asset),
        Route("/favicon.ico", lambda request: Response(status_code=204)),
    ]


def _shell(request: Request) -> Response:
    return Response(_asset_file("maseval.view", "view.html"), media_type="text/html")


def _asset(request: Request) -> Response:
    name: str = request.path_params["name"]
    home = "view/" if name.startswith("view/") else ""
    file = name.removeprefix(home)
    if not _NAME.fullmatch(file):
        raise NothingThereError(f"there is no asset {name!r}")
    try:
        content = _asset_file(_HOMES[home], file)
    except FileNotFoundError:
        raise NothingThereError(f"there is no asset {name!r}") from None
    return Response(content, media_type=_TYPES[file.rpartition(".")[2]])


def _asset_file(package: str, name: str) -> bytes:
    return files(package).joinpath("assets", name).read_bytes()
