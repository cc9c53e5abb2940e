"""Search over all conversations of the folder: ``/api/search``.

An index is kept up to date by a thread that begins with the first search. What it has not read yet
is said with the answer (``unread``, in bytes). Where SQLite cannot search, the logs are read.
"""

import hashlib
import logging
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import lru_cache, partial
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
from maseval.view.search_reading import (
    label_on,
    passages_at,
    progress_on,
    read_on,
    read_run,
    unread,
)

logger = logging.getLogger(__name__)

SHOWN = 25
"""How many hits a page has."""
# Long enough for what was added to a log since, too short to be noticed.
_PATIENCE = 0.5
# What a filter does not find is hidden, so it waits until all is read and hears how far that is.
_PATIENCE_OF_FILTERS = 2.0


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

    def simulations(self, words: str, kind: str, run: str) -> Mapping[str, object]:
        """Return every simulation of a run with a hit, once; or how much is still to be read."""
        self.catch_up(0.0)  # labels are found meanwhile
        with closing(self.open_index()) as index:
            if not read_run(index, self.library, run, _PATIENCE_OF_FILTERS):
                return {"waiting": progress_on(index, self.library, run)}
            chunks = chunks_of(words)
            found = index.simulations(chunks, KINDS[kind], run) if chunks else []
        return _each_once(found)


def scan_logs(
    library: Library, words: str, kind: str, run: str | None, skip: int = 0
) -> Mapping[str, object]:
    """Find hits without an index, by reading every log."""
    chunks = chunks_of(words)
    total = 0
    hits: list[SearchHit] = []
    for name in library.places() if run is None else (run,):
        for one, passage in _scan(library, name, chunks, kind):
            total += 1
            if skip < total <= skip + SHOWN:
                hits.append(
                    {
                        **_hit(name, one),
                        "message": passage.message,
                        "where": passage.where,
                        "excerpt": excerpt_of(passage.text, chunks),
                    }
                )
    return {"total": total, "unread": 0, "hits": hits}


def scan_simulations(library: Library, words: str, kind: str, run: str) -> Mapping[str, object]:
    """Return every simulation of a run with a hit, once, by reading the run."""
    found = _scan(library, run, chunks_of(words), kind)
    return _each_once([*dict.fromkeys((run, one) for one, _ in found)])


def _scan(
    library: Library, run: str, chunks: Sequence[str], kind: str
) -> Iterator[tuple[Simulation, Passage]]:
    for report in map(RecordedReport, library.run(run).source.reports() if chunks else ()):
        for passage in passages_of(report):
            if passage.where in KINDS[kind] and holds(passage, chunks):
                yield Simulation(*report.key), passage


def _each_once(found: Sequence[tuple[str, Simulation]]) -> Mapping[str, object]:
    return {"total": len(found), "unread": 0, "hits": [_hit(*each) for each in found]}


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

    def index_for(library: Library, run: str | None) -> Search | None:
        """Return the index that knows a run; None if none does, or nothing can be kept here."""
        # A results file that is scored in an unusual way is none of those that are listed.
        if not use_index or (run is not None and run not in library.places()):
            return None
        with lock:
            search = known.setdefault(library.root, Search(library))
        try:
            search.open_index().close()
        except (sqlite3.Error, OSError) as error:
            logger.warning("the logs are searched without an index: %s", error)
            return None
        return search

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
        search = index_for(library, run)
        if query.get("per") == "simulation":
            (run,) = required_parts(query, "run")
            find_once = search.simulations if search else partial(scan_simulations, library)
            found = find_once(words, kind, run)
        elif search:
            search.catch_up(_PATIENCE)
            found = search.find(words, kind, run, int(skip))
        else:
            found = scan_logs(library, words, kind, run, int(skip))
        return {"took_ms": 1000 * (time.perf_counter() - began), **found}

    return Answers("search", {"/api/search": answer})
