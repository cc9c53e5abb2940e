"""Search over all conversations of the folder: ``/api/search``.

An index is kept up to date by a thread that begins with the first search. What it has not read yet
is said with the answer (``unread``, in bytes). Where SQLite cannot search, the logs are read.
"""

import hashlib
import logging
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path
from typing import NotRequired, TypedDict

from maseval.core.exceptions import MASEvalError
from maseval.core.outcome import RecordedReport
from maseval.data.cache import cache_dir
from maseval.runs import Simulation
from maseval.view.api import Answers, Query, required_parts
from maseval.view.exceptions import BadRequestError
from maseval.view.library import Library
from maseval.view.search_file import (
    COUNTED,
    KINDS,
    Match,
    Passage,
    SearchFile,
    chunks_of,
    excerpt_of,
    has_full_text_search,
    holds,
    passages_of,
)
from maseval.view.search_reading import label_on, passages_at, read_on, unread

logger = logging.getLogger(__name__)

SHOWN = 25
"""How many hits a page has."""
# Long enough for what was added to a log since, too short to be noticed.
_PATIENCE = 0.5
# A filter is set once, and what it does not find is hidden; some who wait leave threads for others.
_PATIENCE_OF_FILTERS = 5.0


class SearchHit(TypedDict):
    """A message, or a simulation as a whole, and the words around what was found."""

    run: str
    domain: str
    task: str
    trial: int
    message: NotRequired[int | None]
    where: NotRequired[str]
    excerpt: NotRequired[str]


class Search:
    """The search over one library; made with its first question."""

    def __init__(self, library: Library) -> None:
        self.library = library
        root = str(library.root).encode("utf-8", "surrogatepass")
        self.path = cache_dir() / "view" / f"search-{hashlib.sha256(root).hexdigest()[:32]}.sqlite"
        self._news = threading.Condition()
        self._asked = self._answered = 0  # numbers of the last request, and of the last one done
        self._at_work = False

    def catch_up(self, patience: float) -> None:
        """Have all that is in the logs by now read, and wait for it so many seconds at most."""
        with self._news:
            self._asked += 1
            mine = self._asked
            if not self._at_work:
                self._at_work = True
                threading.Thread(target=self._keep_up, daemon=True, name="maseval-search").start()
            self._news.wait_for(lambda: self._answered >= mine, patience)

    def _keep_up(self) -> None:
        while (asked := self._next_request()) is not None:
            try:
                with closing(self.open_index()) as index:
                    while read_on(index, self.library):
                        pass
                    self._answer(asked)
                    while self._asked == asked and label_on(index, self.library):
                        time.sleep(0)  # others may be waiting for an answer
            except (sqlite3.Error, OSError, MASEvalError) as error:
                logger.warning("the search index is not up to date: %s", error)
                self._answer(asked)

    def _answer(self, asked: int) -> None:
        """Let those go on who asked before the logs were looked at."""
        with self._news:
            self._answered = asked
            self._news.notify_all()

    def _next_request(self) -> int | None:
        """Return the last request; None if it is done, and the next one begins another thread."""
        with self._news:
            self._at_work = self._asked > self._answered
            return self._asked if self._at_work else None

    def open_index(self) -> SearchFile:
        """Open the index for this thread; one that is damaged is made anew."""
        try:
            return SearchFile(self.path)
        except sqlite3.DatabaseError:
            for suffix in ("", "-wal", "-shm"):
                with suppress(OSError):
                    self.path.with_name(self.path.name + suffix).unlink()
            return SearchFile(self.path)

    def find(self, words: str, kind: str, run: str | None, skip: int = 0) -> Mapping[str, object]:
        """Return a page of hits with their excerpts, the latest first, and how many there are."""
        chunks, places = chunks_of(words), KINDS[kind]
        with closing(self.open_index()) as index:
            left = unread(index, self.library, run)
            if not chunks:
                return {"total": 0, "hits": [], "unread": left}
            found = index.matches(chunks, places, run)
        read = lru_cache(maxsize=SHOWN)(self._passages)  # several hits may be in one simulation
        hits = map(Match.of, found[skip : skip + SHOWN])
        shown = [_hit_with_excerpt(each, read(each.run, each.at), chunks) for each in hits]
        return {"total": len(found), "more": len(found) >= COUNTED, "unread": left, "hits": shown}

    def _passages(self, run: str, at: int) -> Sequence[Passage]:
        try:
            return passages_at(self.library, run, at)
        except (OSError, IndexError, MASEvalError):  # it was deleted meanwhile
            return ()

    def simulations(self, words: str, kind: str, run: str | None) -> Mapping[str, object]:
        """Return every simulation with a hit, once."""
        chunks = chunks_of(words)
        with closing(self.open_index()) as index:
            left = unread(index, self.library, run)
            found = index.simulations(chunks, KINDS[kind], run) if chunks else []
        hits = [_hit(name, one) for name, one in found]
        return {"total": len(hits), "unread": left, "hits": hits}


def scan_logs(
    library: Library, words: str, kind: str, run: str | None, skip: int = 0
) -> Mapping[str, object]:
    """Find hits without an index, by reading every log."""
    chunks, places = chunks_of(words), KINDS[kind]
    total = 0
    hits: list[SearchHit] = []
    for name in library.places() if chunks else ():
        if run not in (None, name):
            continue
        for report in map(RecordedReport, library.run(name).source.reports()):
            for passage in passages_of(report):
                if passage.where in places and holds(passage, chunks):
                    total += 1
                    if skip < total <= skip + SHOWN:
                        hits.append(
                            {
                                **_hit(name, Simulation(*report.key)),
                                "message": passage.message,
                                "where": passage.where,
                                "excerpt": excerpt_of(passage.text, chunks),
                            }
                        )
    return {"total": total, "unread": 0, "hits": hits}


def _hit_with_excerpt(hit: Match, passages: Sequence[Passage], chunks: Sequence[str]) -> SearchHit:
    place = hit.message, hit.where
    text = "\n".join(passage.text for passage in passages if passage[:2] == place)
    return {
        **_hit(hit.run, hit.simulation),
        "message": hit.message,
        "where": hit.where,
        "excerpt": excerpt_of(text, chunks) if text else " ".join(chunks),
    }


def _hit(run: str, one: Simulation) -> SearchHit:
    return {"run": run, "domain": one.domain, "task": one.task_id, "trial": one.trial}


def searches(*, indexed: bool | None = None) -> Answers:
    """Return the feature that answers searches; ``indexed`` is found out by default."""
    known: dict[Path, Search] = {}
    lock = threading.Lock()
    use_index = has_full_text_search() if indexed is None else indexed

    def answer(library: Library, query: Query) -> Mapping[str, object]:
        began = time.perf_counter()
        (words,) = required_parts(query, "q")
        kind, run = query.get("kind", "any"), query.get("run")
        if kind not in KINDS:
            raise BadRequestError(f"kind is {kind!r}; choose one of: {', '.join(KINDS)}")
        skip = query.get("skip", "0")
        if not (skip.isascii() and skip.isdecimal() and len(skip) < 10):
            raise BadRequestError(f"skip is {skip!r}; it must be how many hits to pass over")
        if run is not None:
            library.path_of(run)  # raises if there is none
        if use_index:
            with lock:
                search = known.setdefault(library.root, Search(library))
            each_once = query.get("per") == "simulation"
            search.catch_up(_PATIENCE_OF_FILTERS if each_once else _PATIENCE)
            if each_once:
                found = search.simulations(words, kind, run)
            else:
                found = search.find(words, kind, run, int(skip))
        else:
            found = scan_logs(library, words, kind, run, int(skip))
        return {"took_ms": 1000 * (time.perf_counter() - began), **found}

    return Answers("search", {"/api/search": answer})
