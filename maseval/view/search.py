"""Search over all conversations of the folder: ``/api/search``.

The words of all conversations are in a full-text index of SQLite, in a temporary database that ends
with the server. It holds words and not texts, so it is a fraction of the logs; an excerpt is read
from the log where the hit is. Runs are read as the viewer reads them (``ViewedRun``), only what was
added since, by the request that asks for as long as it is patient, and then by a thread of its own.
What is not read yet is said with the answer (``unread``, in bytes).

The row of a text has a number made of its simulation's and its message's, so that nothing more is
kept of it.
"""

import logging
import re
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from maseval.core.exceptions import MASEvalError
from maseval.core.outcome import RecordedReport, Simulation
from maseval.core.storage.files import FileState
from maseval.report.conversation import conversation
from maseval.report.index import Entry
from maseval.runs.config_file import LOG
from maseval.view.library import Answer, BackgroundWork, Library
from maseval.view.requests import Query, number_in, required_parts

logger = logging.getLogger(__name__)

SHOWN = 25
"""How many hits a page has."""
COUNTED = 10_000
"""Hits are counted up to here."""

# Long enough for what was added to a log since, too short to be noticed.
_PATIENCE = 0.5
# What a filter does not find is hidden, so it waits until all is read and hears how far that is.
_PATIENCE_OF_FILTERS = 2.0
# So many reports are added at once.
_BATCH = 200
_AROUND = 90
_CHUNK = re.compile(r'"([^"]*)"|(\S+)')


def texts_of(report: RecordedReport) -> Iterator[tuple[int | None, str]]:
    """Yield all that can be searched in a report: each message with its calls, and an error."""
    for said in conversation(report):
        texts = [said.get("text")]
        for call in said.get("calls") or ():
            result = call["result"]
            texts += [call["name"], call["arguments"], None if result is None else result["text"]]
        if words := "\n".join(filter(None, texts)):
            yield said["index"], words
    if report.error.message:
        yield None, report.error.message


def chunks_of(words: str) -> list[str]:
    """Split a search into words, and phrases in quotes; signs alone are left out."""
    found = (quoted or plain for quoted, plain in _CHUNK.findall(words.replace("\0", " ")))
    return [chunk for chunk in found if any(map(str.isalnum, chunk))]


def excerpt_of(words: str, chunks: Sequence[str]) -> str:
    """Return the text around the first of the chunks that is found in it."""
    folded = words.lower()
    found = [at for chunk in chunks if (at := folded.find(chunk.lower())) >= 0]
    at = min(found, default=0)
    begin, end = max(0, at - _AROUND), at + _AROUND
    cut = " ".join(words[begin:end].split())
    return f"{'…' if begin else ''}{cut}{'…' if end < len(words) else ''}"


# Bits for the number of a message: a million in one conversation.
_SHIFT = 20
_NO_MESSAGE = (1 << _SHIFT) - 1

# Of a run: its file, how many bytes of it are read, and the place of the last report among these.
_TABLES = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE, file INTEGER, done INTEGER, place INTEGER
);
CREATE TABLE simulations (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER, domain TEXT, task TEXT, trial INTEGER,
    UNIQUE (run, domain, task, trial)
);
CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='unicode61')
"""


class Search:
    """The index of one library, which one thread at a time may use."""

    def __init__(self, library: Library) -> None:
        self.library = library
        # Without a name it is on the disk as far as it does not fit into the memory.
        self._index = sqlite3.connect("", check_same_thread=False)
        # Nobody says when a library is no longer looked at.
        weakref.finalize(self, self._index.close).atexit = False
        self._index.executescript(_TABLES)
        self._using = threading.RLock()
        self._reading = BackgroundWork("maseval-search")

    def catch_up(self, patience: float, run: str | None = None) -> None:
        """Read what is new, of one run or of all, for so many seconds; the rest by a thread."""
        end = time.monotonic() + patience
        try:
            if run is None:
                self._forget_unlisted()
            while self._read_next(run) and time.monotonic() < end:
                pass
        except (sqlite3.Error, OSError) as error:  # a full disk, for example
            logger.warning("the search index is not up to date: %s", error)
            return
        self._reading.add("everything", self._keep_up)

    def _keep_up(self) -> None:
        try:
            while self._read_next():
                time.sleep(0)  # others may be waiting for an answer
        except (sqlite3.Error, OSError, MASEvalError) as error:
            logger.warning("the search index is not up to date: %s", error)

    def _forget_unlisted(self) -> None:
        """Forget runs that are gone."""
        with self._using, self._index as index:
            known = {name for (name,) in index.execute("SELECT name FROM runs")}
            for gone in known - self.library.places().keys():
                _forget(index, gone)

    def _read_next(self, run: str | None = None) -> bool:
        """Add the next few reports of one run, or of any; False if there is nothing new."""
        with self._using:
            for name, file in self._files(run).items():
                if self._unread(name, file):
                    self._read_batch(name, file)
                    return True
        return False

    def _files(self, run: str | None = None) -> dict[str, Path]:
        """Return the log of every run, and every results file; or that of one."""
        places = self.library.places() if run is None else {run: self.library.path_of(run)}
        return {name: path / LOG if path.is_dir() else path for name, path in places.items()}

    def _unread(self, run: str, file: Path) -> int:
        """Return how many bytes of a run are not in the index."""
        now, (known, done, _) = FileState.now(file), _progress(self._index, run)
        return now.size - done if known == now.file and done <= now.size else now.size

    def _read_batch(self, run: str, file: Path) -> None:
        now = FileState.now(file)
        with self._index as index:  # all is added or nothing
            known, done, place = _progress(index, run)
            if known != now.file or done > now.size:  # another file than the one that was read
                _forget(index, run)
                place = -1
            index.execute("INSERT OR IGNORE INTO runs (name) VALUES (?)", (run,))
            new: Sequence[Entry] = ()
            with suppress(MASEvalError, OSError):  # one that cannot be read hinders no other
                viewed = self.library.run(run)
                new = viewed.entries_after(place)
            # Others wait for the index, so it is let go after a few.
            for entry in new[:_BATCH]:
                place = entry.at
                with suppress(MASEvalError, OSError):
                    report = viewed.source.report(entry.row.simulation)
                    _add(index, run, RecordedReport(report))
            index.execute(
                "UPDATE runs SET file = ?, done = ?, place = ? WHERE name = ?",
                (now.file, place if len(new) > _BATCH else now.size, place, run),
            )

    def find(self, words: str, run: str | None, skip: int = 0) -> Mapping[str, object]:
        """Return a page of hits with their excerpts, the latest first, and how many there are."""
        chunks = chunks_of(words)
        with self._using:
            left = sum(self._unread(*each) for each in self._files(run).items())
            fields = "r.name, s.domain, s.task, s.trial, w.rowid"
            found = _matches(self._index, fields, chunks, run, COUNTED)
        read = lru_cache(maxsize=SHOWN)(self._texts)  # several hits may be in one simulation
        hits = []
        for name, *one, row in found[skip : skip + SHOWN]:
            place = row & _NO_MESSAGE
            message = None if place == _NO_MESSAGE else place
            text = read(name, Simulation(*one)).get(message)
            excerpt = excerpt_of(text, chunks) if text else " ".join(chunks)
            hits.append({**_hit(name, *one), "message": message, "excerpt": excerpt})
        return {"total": len(found), "more": len(found) >= COUNTED, "unread": left, "hits": hits}

    def _texts(self, run: str, one: Simulation) -> Mapping[int | None, str]:
        try:
            report = self.library.run(run).source.report(one)
        except (OSError, LookupError, MASEvalError):  # it was deleted meanwhile
            return {}
        return dict(texts_of(RecordedReport(report)))

    def simulations(self, words: str, run: str) -> Mapping[str, object]:
        """Return every simulation of a run with a hit, once; or how much is still to be read."""
        [(_, file)] = self._files(run).items()
        with self._using:
            if left := self._unread(run, file):
                read, size = ((n / 1e6) for n in (file.stat().st_size - left, file.stat().st_size))
                return {"waiting": f"Reading the conversations: {read:,.1f} of {size:,.1f} MB"}
            fields = "DISTINCT r.name, s.domain, s.task, s.trial"
            found = _matches(self._index, fields, chunks_of(words), run, -1)
        return {"total": len(found), "unread": 0, "hits": [_hit(*each) for each in found]}


def _progress(index: sqlite3.Connection, run: str) -> tuple[int, int, int]:
    """Return the file of a run, how many bytes of it are read, and the last report's place."""
    found = index.execute("SELECT file, done, place FROM runs WHERE name = ?", (run,)).fetchone()
    return found or (-1, 0, -1)


def _forget(index: sqlite3.Connection, run: str) -> None:
    """Let none of a run's simulations be found; the space of their words stays taken."""
    index.execute(
        "DELETE FROM simulations WHERE run = (SELECT id FROM runs WHERE name = ?)", (run,)
    )
    index.execute("DELETE FROM runs WHERE name = ?", (run,))


def _add(index: sqlite3.Connection, run: str, report: RecordedReport) -> None:
    """Add a report; an earlier one on the same simulation is no longer found."""
    made = index.execute(
        "INSERT OR REPLACE INTO simulations (run, domain, task, trial) "
        "SELECT id, ?, ?, ? FROM runs WHERE name = ?",
        (*report.key, run),
    )
    rows: dict[int, str] = {}
    for message, text in texts_of(report):
        place = _NO_MESSAGE if message is None else min(message, _NO_MESSAGE - 1)
        # Never a number that was another's: words of what was forgotten are still there.
        rows[((made.lastrowid or 0) << _SHIFT) | place] = text
    index.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", rows.items())


def _matches(
    index: sqlite3.Connection, fields: str, chunks: Sequence[str], run: str | None, most: int
) -> list[tuple[Any, ...]]:
    """Return the latest texts in which everything is found, by these fields.

    Looking for a word that stands in every conversation takes longer than all else, so it is done
    once, for the hits of a page and for how many there are.
    """
    if not chunks:
        return []
    query = (
        f"SELECT {fields} FROM words w CROSS JOIN simulations s ON s.id = (w.rowid >> {_SHIFT}) "
        "JOIN runs r ON r.id = s.run WHERE words MATCH ? "
        "AND (? IS NULL OR r.name = ?) ORDER BY w.rowid DESC LIMIT ?"
    )
    # Each chunk is a phrase, whose last word may be longer.
    words = " AND ".join('"' + chunk.replace('"', "") + '"*' for chunk in chunks)
    return index.execute(query, (words, run, run, most)).fetchall()


def _hit(run: str, domain: str, task: str, trial: int) -> dict[str, object]:
    return {"run": run, "domain": domain, "task": task, "trial": trial}


def searches() -> dict[str, Answer]:
    """Return the answers to searches, by path."""
    known: dict[Path, Search] = {}
    lock = threading.Lock()

    def answer(library: Library, query: Query) -> Mapping[str, object]:
        began = time.perf_counter()
        (words,) = required_parts(query, "q")
        run, skip = query.get("run"), number_in(query, "skip", 0)
        if run is not None:
            library.path_of(run)  # raises if there is none
        with lock:
            search = known.get(library.root) or known.setdefault(library.root, Search(library))
        if query.get("per") == "simulation":
            (run,) = required_parts(query, "run")
            search.catch_up(_PATIENCE_OF_FILTERS, run)
            found = search.simulations(words, run)
        else:
            search.catch_up(_PATIENCE)
            found = search.find(words, run, skip)
        return {"took_ms": 1000 * (time.perf_counter() - began), **found}

    return {"/api/search": answer}
