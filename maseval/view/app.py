"""create_app: the viewer of one folder as an application that a server runs."""

import os
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from maseval.core.exceptions import MASEvalError
from maseval.view.answers import Answers
from maseval.view.api import Json, api_routes
from maseval.view.events import event_routes
from maseval.view.exceptions import ViewError
from maseval.view.feature import Feature
from maseval.view.library import Library
from maseval.view.pages import page_routes
from maseval.view.reading import PlainReader, RunReader
from maseval.view.safety import LOCAL_NAMES, Guard
from maseval.view.watching import Watcher


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
            *api_routes([feature.name for feature in features], edit=edit),
            *event_routes(),
            *(route for feature in features for route in feature.routes()),
            *page_routes(),
        ],
        middleware=[
            Middleware(Guard, hosts=hosts, token=token, writable=["/api/"] if edit else own)
        ],
        lifespan=lifespan,
        exception_handlers={MASEvalError: _failed, HTTPException: _failed_http},
    )
    app.state.library = Library(Path(root), reader or PlainReader())
    app.state.watcher = Watcher(app.state.library)
    return app


def _failed(request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, ViewError) else 422
    return Json({"error": str(error)}, status_code=status)


def _failed_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return Json({"error": error.detail}, status_code=error.status_code, headers=error.headers)
