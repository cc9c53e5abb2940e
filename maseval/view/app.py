"""create_app: the viewer of one folder as an application that a server runs.

``/api/events`` has news of runs, as server-sent events. Whoever listens looks at the folder twice a
second and is told what was not there at the last look, so nothing is queued, and a slow listener
misses nothing. The id of a simulation's event is its place in the log. A browser that reconnects
sends the last one it got, and gets all that came after it, also from a server that was started
again since.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from importlib.resources import files
from pathlib import Path
from string import Template

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from maseval.core.exceptions import MASEvalError
from maseval.core.recorded import Shape
from maseval.core.storage import strict_json
from maseval.report.index import Entry, row_of
from maseval.view.api import answers
from maseval.view.labels import LABEL, label_endpoint
from maseval.view.library import Answer, Library
from maseval.view.notes import NOTES_PATH, notes_endpoint
from maseval.view.requests import Json, NothingThereError, ViewError
from maseval.view.rows import RunRow, live_of
from maseval.view.safety import LOCAL_NAMES, Guard

# In seconds: as soon as anybody notices, and rarely enough for a folder of many runs.
_EVERY = 0.5
# How long a browser waits, in milliseconds, before it connects again; its own choice may be longer.
_RETRY = "retry: 1000\n\n"
_ALIVE = ": alive\n\n"
# After how many looks without anything new a client is told that the server is still there.
_QUIET_LOOKS = 20


def _library_of(request: Request) -> Library:
    library: Library = request.app.state.library
    return library


def _endpoint(answer: Answer) -> Callable[[Request], Response]:
    return lambda request: Json(answer(_library_of(request), request.query_params))


async def _events(request: Request) -> Response:
    query, library = request.query_params, _library_of(request)
    known = _number(request.headers.get("last-event-id") or query.get("after"))
    news: NewsOfAll | NewsOfRun = NewsOfAll()
    if (run := query.get("run")) is not None:
        library.path_of(run)  # raises if there is none
        news = NewsOfRun(run, known)
    return StreamingResponse(_stream(library, news), media_type="text/event-stream")


def _number(given: str | None) -> int | None:
    return int(given) if given and given.isascii() and given.isdecimal() else None


async def _stream(library: Library, news: "NewsOfAll | NewsOfRun") -> AsyncIterator[str]:
    yield _RETRY
    quiet = 0
    while True:
        events = await run_in_threadpool(lambda: list(news.of(library)))
        quiet = 0 if events else quiet + 1
        for event in events:
            yield event
        if quiet and quiet % _QUIET_LOOKS == 0:
            yield _ALIVE
        await asyncio.sleep(_EVERY)


class NewsOfAll:
    """Rows of the list that are not as they were; at first all, as any may have changed."""

    def __init__(self) -> None:
        self._known: dict[str, RunRow] = {}

    def of(self, library: Library) -> Iterator[str]:
        known, self._known = self._known, {str(row["name"]): row for row in library.rows()}
        changed = [row for name, row in self._known.items() if known.get(name) != row]
        gone = [name for name in known if name not in self._known]
        if changed or gone:
            yield _event("runs", {"runs": changed, "gone": gone})


class NewsOfRun:
    """Simulations that were not there before, and the run's progress."""

    def __init__(self, run: str, after: int | None) -> None:
        self._run, self._after = run, after
        self._live: Shape | None = None

    def of(self, library: Library) -> Iterator[str]:
        try:
            run = library.run(self._run)
        except (MASEvalError, OSError):  # it may be gone, and come back
            return
        library.examine(run)
        # What comes in from here on belongs to the next look.
        last, live = run.last_place, live_of(run)
        # A number beyond the last one is from another log: the run was begun anew.
        after = last if self._after is None or self._after > last else self._after
        self._after = last
        for entry in run.entries_after(after):
            if entry.at <= last:
                yield _event("simulation", _simulation(entry), entry.at)
        if live != self._live:
            self._live = live
            yield _event("live", live, last)


def _simulation(entry: Entry) -> dict[str, object]:
    return {
        "domain": entry.key.domain,
        "task": entry.key.task_id,
        "trial": entry.trial,
        "note": entry.note,
        "row": row_of(entry),  # whoever keeps the index knows its position there
    }


def _event(name: str, data: object, number: int | None = None) -> str:
    numbered = "" if number is None else f"id: {number}\n"
    return f"{numbered}event: {name}\ndata: {strict_json.dumps(data)}\n\n"


# A shorter answer is sent as it is.
_SMALL = 1000


def create_app(
    root: str | os.PathLike[str],
    *,
    token: str | None = None,
    hosts: Collection[str] | None = LOCAL_NAMES,
    writes: bool = False,
) -> Starlette:
    """The viewer of all runs below ``root``.

    Args:
        root: The folder that is viewed; nothing outside of it can be reached.
        token: What a browser must bring along; None where only this machine can connect.
        hosts: The names that a request may call the server by; None for any.
        writes: Take labels and notes from its own page; else nothing can be changed.
    """

    app = Starlette(
        routes=[
            *(Route(path, _endpoint(answer)) for path, answer in answers().items()),
            Route("/api/events", _events),
            Route(LABEL, label_endpoint, methods=["POST"]),
            Route(NOTES_PATH, notes_endpoint, methods=["GET", "POST"]),
            *page_routes(),
        ],
        middleware=[
            Middleware(Guard, hosts=hosts, token=token, writes=writes),
            # Twice the time for a tenth less is not worth it on one machine.
            Middleware(GZipMiddleware, minimum_size=_SMALL, compresslevel=4),
        ],
        exception_handlers={MASEvalError: _error_response, HTTPException: _http_error_response},
    )
    app.state.library, app.state.writes = Library(Path(root)), writes
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
_SHELLS = ("/", "/run/{name:path}", "/label/{name:path}", "/compare", "/search")
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
