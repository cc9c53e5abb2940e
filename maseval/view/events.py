"""``/api/events``: news of runs, as server-sent events.

One ``Watcher`` looks at the folder twice a second while anybody listens, once for all listeners. A
listener gets the latest look, and finds out by itself what is new to it. So nothing is queued, and
a slow one misses nothing.

The id of a simulation's event is its place in the log. A browser that reconnects sends the last one
it got, and gets all that came after it, also from a server that was started again since.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from maseval.core.exceptions import MASEvalError
from maseval.core.storage import strict_json
from maseval.report.index import Entry, row_of
from maseval.view.api import library_of
from maseval.view.library import Library
from maseval.view.rows import Live, RunRow, live_of

_EVERY = 0.5


class RunLook(NamedTuple):
    """The state and the simulations of one run at one moment."""

    live: Live
    known: list[Entry]


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
                runs[name] = RunLook(live_of(run), run.entries())
        return Look(rows, runs)


_RETRY = "retry: 1000\n\n"
_ALIVE = ": alive\n\n"
# After how many looks without anything new a client is told that the server is still there.
_QUIET_LOOKS = 20


def event_routes() -> list[BaseRoute]:
    """Return the route of the stream of news."""
    return [Route("/api/events", _events)]


async def _events(request: Request) -> Response:
    run = request.query_params.get("run")
    if run is not None:
        library_of(request).path_of(run)
    watcher: Watcher = request.app.state.watcher
    known = request.headers.get("last-event-id") or request.query_params.get("after")
    news = _NewsOfAll() if run is None else _NewsOfRun(run, known)
    return StreamingResponse(_stream(watcher, run, news), media_type="text/event-stream")


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
    """Simulations that were not there before, and the progress of the run."""

    def __init__(self, run: str, known: str | None) -> None:
        self._run = run
        self._after = int(known) if known and known.isascii() and known.isdecimal() else None
        self._live: Live | None = None

    def of(self, look: Look) -> Iterator[str]:
        found = look.runs.get(self._run)
        if found is None:
            return
        places = [entry.at for entry in found.known]
        last = max(places, default=0)
        if self._after is None or self._after > last:  # new, or the log was made anew
            self._after = last
        after, self._after = self._after, last
        fresh = [entry for entry in found.known if entry.at > after]
        for entry in sorted(fresh, key=lambda each: each.at):
            yield _event("simulation", _simulation(entry), entry.at)
        if found.live != self._live:
            self._live = found.live
            yield _event("live", found.live, last)


def _simulation(entry: Entry) -> dict[str, object]:
    return {
        "domain": entry.key.group,
        "task": entry.key.task,
        "trial": entry.trial,
        "note": entry.note,
        "row": row_of(entry, -1, entry.trial),  # whoever keeps the index knows its position there
    }


def _event(name: str, data: object, number: int | None = None) -> str:
    numbered = "" if number is None else f"id: {number}\n"
    return f"{numbered}event: {name}\ndata: {strict_json.dumps(data)}\n\n"
