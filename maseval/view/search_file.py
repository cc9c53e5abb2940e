"""The index of all conversations below a folder, which finds the messages with given words.

It is a SQLite file in the cache and can be deleted at any time. It holds the words and not the
texts, so it is a fraction of the logs; an excerpt is read from the log where the hit is.

The row of a text has a number made of its simulation's, its message's and its kind's, so that
nothing more is kept of it.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from maseval.core.outcome import RecordedReport
from maseval.report.conversation import conversation
from maseval.runs import Simulation

# In the order of their numbers, which stand in index files.
PLACES = ("text", "result", "tool", "argument", "label", "error")
KINDS: Mapping[str, Sequence[str]] = {
    "any": PLACES,
    "text": ("text", "result"),
    "tool": ("tool",),
    "argument": ("argument",),
    "label": ("label",),
    "error": ("error",),
}
"""The kinds of search, and the places that each looks in."""

_CHUNK = re.compile(r'"([^"]*)"|(\S+)')
_AROUND = 90


class Passage(NamedTuple):
    """A text of a simulation: of which message, if of one, and what kind of text."""

    message: int | None
    where: str
    text: str


def passages_of(report: RecordedReport) -> Iterator[Passage]:
    """Yield all that can be searched in a report."""
    for said in conversation(report):
        index = said["index"]
        if words := said.get("text"):
            yield Passage(index, "error" if said.get("failed") else "text", words)
        calls = said.get("calls") or ()
        if calls:
            yield Passage(index, "tool", "\n".join(call["name"] for call in calls))
            yield Passage(index, "argument", "\n".join(call["arguments"] for call in calls))
        results = [call["result"] for call in calls if call["result"] is not None]
        for where, failed in (("result", False), ("error", True)):
            texts = [each["text"] for each in results if each["failed"] is failed]
            if texts:
                yield Passage(index, where, "\n".join(texts))
    if report.error.message:
        yield Passage(None, "error", report.error.message)
    if report.labels:
        yield Passage(None, "label", "\n".join(report.labels))


def chunks_of(words: str) -> list[str]:
    """Split a search into words, and phrases in quotes; signs alone are left out."""
    found = (quoted or plain for quoted, plain in _CHUNK.findall(words.replace("\0", " ")))
    return [chunk for chunk in found if any(map(str.isalnum, chunk))]


def holds(passage: Passage, chunks: Sequence[str]) -> bool:
    """Return whether all chunks occur in a text, in upper or lower case."""
    folded = passage.text.casefold()
    return all(chunk.casefold() in folded for chunk in chunks)


def excerpt_of(words: str, chunks: Sequence[str]) -> str:
    """Return the text around the first of the chunks that is found in it."""
    folded = words.lower()
    found = [at for chunk in chunks if (at := folded.find(chunk.lower())) >= 0]
    at = min(found, default=0)
    begin, end = max(0, at - _AROUND), at + _AROUND
    cut = " ".join(words[begin:end].split())
    return f"{'…' if begin else ''}{cut}{'…' if end < len(words) else ''}"


_FORMAT = 1
_KIND_BITS, _MESSAGE_BITS = 4, 20
_NO_MESSAGE = (1 << _MESSAGE_BITS) - 1
_SHIFT = _KIND_BITS + _MESSAGE_BITS
COUNTED = 10_000
"""Hits are counted up to here."""

_TABLES = """
CREATE TABLE runs (id INTEGER PRIMARY KEY, name TEXT UNIQUE, file INTEGER, offset INTEGER);
CREATE TABLE simulations (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER, domain TEXT, task TEXT, trial INTEGER,
    at INTEGER, unlabelled INTEGER, UNIQUE (run, domain, task, trial)
);
CREATE INDEX waiting ON simulations (run) WHERE unlabelled;
CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='unicode61');
"""


class Progress(NamedTuple):
    """The file of a run's log, and the byte up to which it is read."""

    file: int
    offset: int


RawMatch = tuple[str, str, str, int, int, int]
"""A row of the index: run, domain, task, trial, place in the log, number of the text."""


class Match(NamedTuple):
    """A text in which everything was found; ``at`` is the place of its report in the log."""

    run: str
    simulation: Simulation
    at: int
    message: int | None
    where: str

    @classmethod
    def of(cls, found: RawMatch) -> "Match":
        """Return the match that a row stands for."""
        name, domain, task, trial, at, row = found
        return cls(name, Simulation(domain, task, trial), at, *_place(row))


def has_full_text_search() -> bool:
    """Return whether this Python's SQLite has full text search."""
    with closing(sqlite3.connect(":memory:")) as memory, suppress(sqlite3.Error):
        memory.execute("CREATE VIRTUAL TABLE words USING fts5(text, content='')")
        return True
    return False


class SearchFile:
    """An index file; every thread opens its own."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path, timeout=30.0, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = OFF")  # it can be made again
        (found,) = self._db.execute("PRAGMA user_version").fetchone()
        if found != _FORMAT:
            self._create()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def _create(self) -> None:
        with self.writing():
            for name in ("words", "simulations", "runs"):
                self._db.execute(f"DROP TABLE IF EXISTS {name}")
            for statement in filter(str.strip, _TABLES.split(";")):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version = {_FORMAT}")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Yield all or nothing; other processes wait."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def progress(self, run: str) -> Progress | None:
        """Return how far a run is read, or None if it is not known."""
        row = self._db.execute("SELECT file, offset FROM runs WHERE name = ?", (run,)).fetchone()
        return None if row is None else Progress(*row)

    def note(self, run: str, progress: Progress) -> None:
        """Remember how far a run is read."""
        self._db.execute(
            "INSERT INTO runs (name, file, offset) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE "
            "SET file = excluded.file, offset = excluded.offset",
            (run, *progress),
        )

    def forget(self, run: str) -> None:
        """Let none of a run's simulations be found; the space of their words stays taken."""
        self._db.execute(
            "DELETE FROM simulations WHERE run = (SELECT id FROM runs WHERE name = ?)", (run,)
        )
        self._db.execute("DELETE FROM runs WHERE name = ?", (run,))

    def known_runs(self) -> list[str]:
        """The names of all runs in it."""
        return [name for (name,) in self._db.execute("SELECT name FROM runs")]

    def add(
        self, run: str, one: Simulation, at: int, passages: Iterable[Passage], *, unlabelled: bool
    ) -> None:
        """Add a report; an earlier one on the same simulation is no longer found."""
        made = self._db.execute(
            "INSERT OR REPLACE INTO simulations (run, domain, task, trial, at, unlabelled) "
            "SELECT id, ?, ?, ?, ?, ? FROM runs WHERE name = ?",
            (*one, at, unlabelled, run),
        )
        # Never a number that was another's: words of what was forgotten are still there.
        self._write(made.lastrowid or 0, passages)

    def _write(self, number: int, passages: Iterable[Passage]) -> None:
        rows: dict[int, list[str]] = {}
        for passage in passages:
            rows.setdefault(_row(number, passage), []).append(passage.text)
        self._db.executemany(
            "INSERT INTO words (rowid, text) VALUES (?, ?)",
            [(row, "\n".join(texts)) for row, texts in rows.items()],
        )

    def waiting(self, run: str, most: int) -> list[tuple[int, int]]:
        """Simulations of a run whose labels are not known: their numbers and places."""
        return self._db.execute(
            "SELECT s.id, s.at FROM simulations s JOIN runs r ON r.id = s.run "
            "WHERE r.name = ? AND s.unlabelled LIMIT ?",
            (run, most),
        ).fetchall()

    def label(self, number: int, labels: Sequence[str]) -> None:
        """Add what a simulation is labelled with."""
        changed = self._db.execute(
            "UPDATE simulations SET unlabelled = 0 WHERE id = ? AND unlabelled", (number,)
        )
        if changed.rowcount and labels:
            self._write(number, [Passage(None, "label", "\n".join(labels))])

    def matches(
        self, chunks: Sequence[str], places: Sequence[str], run: str | None
    ) -> list[RawMatch]:
        """Return the latest texts in which everything is found, up to ``COUNTED``.

        Looking for a word that stands in every conversation takes longer than all else, so it is
        done once, for the hits of a page and for how many there are.
        """
        query = f"{_FIELDS} {_conditions(places, run)} LIMIT ?"
        return self._db.execute(query, _values(chunks, run, COUNTED)).fetchall()

    def simulations(
        self, chunks: Sequence[str], places: Sequence[str], run: str | None
    ) -> list[tuple[str, Simulation]]:
        """Return every simulation with a text in which everything is found."""
        fields = "SELECT DISTINCT r.name, s.domain, s.task, s.trial"
        query = f"{fields} {_conditions(places, run)} LIMIT ?"
        found = self._db.execute(query, _values(chunks, run, -1))
        return [(name, Simulation(*one)) for name, *one in found]


_FIELDS = "SELECT r.name, s.domain, s.task, s.trial, s.at, w.rowid"


def _conditions(places: Sequence[str], run: str | None) -> str:
    kinds = ", ".join(str(PLACES.index(place)) for place in places)
    return (
        f"FROM words w CROSS JOIN simulations s ON s.id = (w.rowid >> {_SHIFT}) "
        "JOIN runs r ON r.id = s.run WHERE words MATCH ? "
        f"AND (w.rowid & {(1 << _KIND_BITS) - 1}) IN ({kinds}) "
        + ("" if run is None else "AND r.name = ? ")
        + "ORDER BY w.rowid DESC"
    )


def _values(chunks: Sequence[str], run: str | None, most: int) -> list[object]:
    # Each chunk is a phrase, whose last word may go on.
    query = " AND ".join('"' + chunk.replace('"', "") + '"*' for chunk in chunks)
    return [query, *([] if run is None else [run]), most]


def _row(simulation: int, passage: Passage) -> int:
    message = _NO_MESSAGE if passage.message is None else min(passage.message, _NO_MESSAGE - 1)
    return (simulation << _SHIFT) | (message << _KIND_BITS) | PLACES.index(passage.where)


def _place(row: int) -> tuple[int | None, str]:
    message = (row >> _KIND_BITS) & _NO_MESSAGE
    return None if message == _NO_MESSAGE else message, PLACES[row & ((1 << _KIND_BITS) - 1)]
