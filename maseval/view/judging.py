"""Judging: the numbers of results files for the list of runs, which take long to recompute.

Files are judged one after the other in the background; until then the list shows them without
numbers. What came out is kept in the cache of this machine for as long as the file is the same.
"""

import hashlib
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue

from maseval.core.exceptions import MASEvalError
from maseval.core.shapes import mapping
from maseval.core.storage import strict_json
from maseval.core.storage.files import write_bytes
from maseval.data.store import cache_dir
from maseval.view.log_index import Seen
from maseval.view.rows import FileSummary, summary_of
from maseval.view.viewed import ViewedRun

_FORMAT = 1

Judged = tuple[FileSummary | None, str | None]
"""What came out, or why nothing did."""


class Judging:
    """Judges every file once."""

    def __init__(self, open_run: Callable[[Path], ViewedRun]) -> None:
        self._open_run = open_run
        self._known: dict[Path, tuple[Seen, Judged]] = {}
        self._waiting: SimpleQueue[Path] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def of(self, path: Path) -> Judged:
        """What is known of a file by now."""
        seen = Seen.now(path)
        known = self._known.get(path)
        if known is not None and known[0] == seen:
            return known[1]
        kept = _kept(path, seen)
        self._known[path] = seen, (kept, None)
        if kept is None:
            self._waiting.put(path)
            self._start()
        return kept, None

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._judge, daemon=True, name="maseval-judging")
            self._thread.start()

    def _judge(self) -> None:
        while True:
            path = self._waiting.get()
            seen = Seen.now(path)
            self._known[path] = seen, self._judged(path, seen)

    def _judged(self, path: Path, seen: Seen) -> Judged:
        try:
            run = self._open_run(path)
            run.refresh()
            found = summary_of(run)
        except (MASEvalError, OSError) as error:
            return None, str(error)
        _keep(path, seen, found)
        return found, None


def _place(path: Path) -> Path:
    name = hashlib.sha256(str(path).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return cache_dir() / "view" / f"results-{name}.json"


def _keep(path: Path, seen: Seen, found: FileSummary) -> None:
    content = {"format": _FORMAT, "seen": seen, "found": found}
    with suppress(OSError):
        write_bytes(_place(path), strict_json.dumps(content).encode("ascii"))


def _kept(path: Path, seen: Seen) -> FileSummary | None:
    with suppress(OSError, ValueError, TypeError):
        content = mapping(strict_json.loads(_place(path).read_bytes()))
        if content.get("format") == _FORMAT and content.get("seen") == [*seen]:
            found = mapping(content.get("found"))
            if found.keys() == FileSummary.__required_keys__:
                return found  # type: ignore[return-value]
    return None
