"""create_app: the viewer of one folder as an application that a server runs.

``/api/events`` has news of runs, as server-sent events. One ``Watcher`` looks at the folder twice a
second while anybody listens, once for all listeners. A listener gets the latest look, and finds out
by itself what is new to it. So nothing is queued, and a slow one misses nothing. The id of a
simulation's event is its place in the log. A browser that reconnects sends the last one it got, and
gets all that came after it, also from a server that was started again since.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import NamedTuple

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
from maseval.view.api import Feature, Json, library_of, own_answers
from maseval.view.exceptions import NothingThereError, ViewError
from maseval.view.library import Library
from maseval.view.reading import RunReader
from maseval.view.rows import RunRow, live_of
from maseval.view.safety import LOCAL_NAMES, Guard
from maseval.view.viewed import ViewedRun

_EVERY = 0.5


class RunLook(NamedTuple):
    """The state and the simulations of one run at one moment.

    ``relabelled`` is how many labels were changed so far.
    """

    run: ViewedRun
    last: int
    relabelled: int
    live: Shape


class Look(NamedTuple):
    """All runs at one moment, and more of those that somebody listens to."""

    rows: Mapping[str, RunRow]
    runs: Mapping[str, RunLook]


@dataclass(eq=False)
class ViewListener:
    """Somebody who listens to one run, or to the list of all."""

    run: str | None
    latest: Look | None = None
    arrived: asyncio.Event = field(default_factory=asyncio.Event)


class Watcher:
    """One task for all listeners, which ends with the last of them."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._listeners: set[ViewListener] = set()
        self._task: asyncio.Task[None] | None = None

    async def looks(self, run: str | None) -> AsyncIterator[Look]:
        """Yield what the folder holds, again and again."""
        listener = ViewListener(run)
        self._listeners.add(listener)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())
        try:
            while True:
                await listener.arrived.wait()
                listener.arrived.clear()
                assert listener.latest is not None
                yield listener.latest
        finally:
            self._listeners.discard(listener)

    async def _watch(self) -> None:
        while self._listeners:
            listeners = list(self._listeners)
            names = {each.run for each in listeners if each.run is not None}
            listed = any(each.run is None for each in listeners)
            look = await run_in_threadpool(self._look, names, listed)
            for each in listeners:
                each.latest = look
                each.arrived.set()
            await asyncio.sleep(_EVERY)

    def _look(self, names: Collection[str], listed: bool) -> Look:
        rows = {row["name"]: row for row in self._library.rows()} if listed else {}
        runs = {}
        for name in names:
            with suppress(MASEvalError, OSError):  # it may be gone, and come back
                run = self._library.run_with_labels(name)
                runs[name] = RunLook(run, run.last_place, len(run.relabelled), live_of(run))
        return Look(rows, runs)


_RETRY = "retry: 1000\n\n"
_ALIVE = ": alive\n\n"
# After how many looks without anything new a client is told that the server is still there.
_QUIET_LOOKS = 20


def event_routes() -> list[BaseRoute]:
    return [Route("/api/events", _events)]


async def _events(request: Request) -> Response:
    run = request.query_params.get("run")
    if run is not None:
        library_of(request).path_of(run)
    watcher: Watcher = request.app.state.watcher
    query = request.query_params
    known = _number(request.headers.get("last-event-id") or query.get("after"))
    news = _NewsOfAll() if run is None else _NewsOfRun(run, known, _number(query.get("relabelled")))
    return StreamingResponse(_stream(watcher, run, news), media_type="text/event-stream")


def _number(given: str | None) -> int | None:
    return int(given) if given and given.isascii() and given.isdecimal() else None


async def _stream(
    watcher: Watcher, run: str | None, news: "_NewsOfAll | _NewsOfRun"
) -> AsyncIterator[str]:
    yield _RETRY
    quiet = 0
    async for look in watcher.looks(run):
        events = list(news.of(look))
        quiet = 0 if events else quiet + 1
        for event in events:
            yield event
        if quiet and quiet % _QUIET_LOOKS == 0:
            yield _ALIVE


class _NewsOfAll:
    """Rows of the list that are not as they were; at first all, as any may have changed."""

    def __init__(self) -> None:
        self._known: dict[str, RunRow] = {}

    def of(self, look: Look) -> Iterator[str]:
        known, self._known = self._known, dict(look.rows)
        changed = [row for name, row in look.rows.items() if known.get(name) != row]
        gone = [name for name in known if name not in look.rows]
        if changed or gone:
            yield _event("runs", {"runs": changed, "gone": gone})


class _NewsOfRun:
    """Simulations that were not there before, labels that were found, and the run's progress."""

    def __init__(self, run: str, after: int | None, relabelled: int | None) -> None:
        self._run, self._after, self._told = run, after, relabelled
        self._live: Shape | None = None

    def of(self, look: Look) -> Iterator[str]:
        found = look.runs.get(self._run)
        if found is None:
            return
        last = found.last
        if self._after is None or self._after > last:  # new, or the log was made anew
            self._after = last
        after, self._after = self._after, last
        for entry in found.run.entries_after(after):
            if entry.at > last:  # it belongs to the next look
                break
            yield _event("simulation", _simulation(entry), entry.at)
        if labels := self._labels(found):
            yield _event("labels", labels)
        if found.live != self._live:
            self._live = found.live
            yield _event("live", found.live, last)

    def _labels(self, found: RunLook) -> list[tuple[str, str, str, tuple[str, ...]]]:
        """Return what has other labels than the listener knows: its domain, task, trial, labels."""
        known = found.relabelled if self._told is None else self._told
        # A larger number is that of a server before this one.
        fresh = found.run.relabelled[known if known <= found.relabelled else 0 : found.relabelled]
        self._told = found.relabelled
        relabelled = found.run.entries_at(fresh)
        return [(*each.key, each.trial, each.labels) for each in relabelled]


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
