"""Watcher: looks at the folder twice a second while anybody listens, once for all listeners.

A listener gets the latest look, and tells by itself what is new to it. So nothing is queued, a slow
one misses nothing, and one that comes back says up to where it knows the log.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool

from maseval.core.exceptions import MASEvalError
from maseval.report.index import Entry
from maseval.view.library import Library
from maseval.view.live import Live, live_of
from maseval.view.rows import RunRow

_EVERY = 0.5


class RunLook(NamedTuple):
    """One run at one moment."""

    live: Live
    known: list[Entry]


class Look(NamedTuple):
    """All runs at one moment, and more of those that somebody listens to."""

    rows: Mapping[str, RunRow]
    runs: Mapping[str, RunLook]


@dataclass(eq=False)
class Listener:
    """Somebody who listens to one run, or to the list of all."""

    run: str | None
    latest: Look | None = None
    arrived: asyncio.Event = field(default_factory=asyncio.Event)


class Watcher:
    """One task for all listeners, which ends with the last of them."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None

    async def looks(self, run: str | None) -> AsyncIterator[Look]:
        """The folder again and again."""
        listener = Listener(run)
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
                run = self._library.looked_at(name)
                runs[name] = RunLook(live_of(run), run.entries())
        return Look(rows, runs)
