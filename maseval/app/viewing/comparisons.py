"""The feature that compares runs.

The verdicts of every run are recomputed, which takes some seconds for each. A comparison is
therefore made in a thread of its own, and whoever asks too early is told how far it has come. The
outcomes of a run are kept for as long as it is the same, so that one run more is compared at once.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from maseval.app.benchmarks import OnProgress, RecordedOutcomes
from maseval.app.comparing.compare import RunComparison, compare_sources, look_into
from maseval.app.comparing.compared_runs import load_run
from maseval.app.comparing.page import document_of, looked_into
from maseval.app.results.finding import open_run_or_file
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import TaskKey
from maseval.core.scoring_options import ScoringOptions
from maseval.core.storage.files import FileState
from maseval.core.words import count_of
from maseval.runs import RunFolder
from maseval.runs.config_file import CONFIG, LOG
from maseval.view.api import Answers, Query
from maseval.view.library import Library

Value = TypeVar("Value")

# How long an answer waits for a comparison before it says how far that is.
_PATIENCE = 2.0
_MOST_KEPT, _MOST_RUNS = 16, 64


class _Place(NamedTuple):
    """A run by its name in the viewer, and its files as they are now."""

    name: str
    path: Path
    config: FileState
    log: FileState


@dataclass
class _Work:
    """Something that is being made, and how far it has come."""

    result: "Future[RunComparison]" = field(default_factory=Future)
    progress: str = ""

    def say(self, run: str, done: str, what: str, number: int, of: int = 0) -> None:
        """Say how many simulations or failures of a run are done, of how many if that is known."""
        known = f"{number:,} of {count_of(of, what)}" if of else count_of(number, what)
        self.progress = f"{run}: {known} {done}"


class _Recent(OrderedDict[Hashable, Value]):
    """The last few of what was made."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def recall(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return what is kept under a key, or make it."""
        if key not in self:
            self[key] = make()
        self.move_to_end(key)
        while len(self) > self._most:
            self.popitem(last=False)
        return self[key]


def comparisons() -> Answers:
    desk = _Desk()
    return Answers(
        "compare", {"/api/compare": desk.compare, "/api/compare/reasons": desk.find_reasons}
    )


class _Desk:
    """The comparisons that were asked for lately, made one after the other."""

    def __init__(self) -> None:
        self._lock, self._one_at_a_time = threading.Lock(), threading.Lock()
        self._works = _Recent[_Work](_MOST_KEPT)
        self._opened = _Recent[RunFolder | Path](_MOST_RUNS)
        self._loaded = _Recent[RecordedOutcomes](_MOST_RUNS)
        self._compared = _Recent[RunComparison](_MOST_KEPT)

    def compare(self, library: Library, query: Query) -> Mapping[str, object]:
        """Answer with the document of the runs in the query, or with how far it is."""
        places = _places(library, query)
        work = self._work_on(("numbers", *places), partial(self._compare, places))
        found = _await(work)
        if found is None:
            return {"waiting": work.progress}
        # Every run has the tasks that are compared, but cells of a grid may have their own.
        named = [each.name for each in (places if found.grid else places[:1])]
        return document_of(
            found, {k: v for name in named for k, v in _notes(library, name).items()}
        )

    def find_reasons(self, library: Library, query: Query) -> Mapping[str, object]:
        """Answer with why simulations failed and which tools were used, or with how far it is."""
        places = _places(library, query)
        work = self._work_on(("reasons", *places), partial(self._look_into, places))
        found = _await(work)
        return {"waiting": work.progress} if found is None else looked_into(found)

    def _work_on(self, key: tuple[object, ...], make: Callable[[_Work], RunComparison]) -> _Work:
        with self._lock:
            begin = key not in self._works
            work = self._works.recall(key, _Work)
        if begin:
            # A daemon: nobody waits for a comparison after Ctrl-C.
            threading.Thread(target=self._make, args=(work, make), daemon=True).start()
        return work

    def _make(self, work: _Work, make: Callable[[_Work], RunComparison]) -> None:
        work.progress = "Waiting for another comparison to finish."
        with self._one_at_a_time:
            try:
                work.result.set_result(make(work))
            except Exception as error:  # whoever asked gets it
                work.result.set_exception(error)

    def _compare(self, places: list[_Place], work: _Work) -> RunComparison:
        # The reasons are asked for when the numbers are there.
        return self._compared.recall(tuple(places), lambda: self._compare_anew(places, work))

    def _compare_anew(self, places: list[_Place], work: _Work) -> RunComparison:
        def load(name: str, source: RunFolder | Path) -> RecordedOutcomes:
            at = names.index(name)
            say = partial(work.say, f"Run {at + 1} of {len(names)}", "judged", "simulation")
            say(0, 0)
            return self._loaded.recall(
                places[at][1:], lambda: load_run(source, ScoringOptions(), 1, say)
            )

        names = [each.name for each in places]
        sources = {
            each.name: self._opened.recall(each[1:], partial(open_run_or_file, each.path))
            for each in places
        }
        return compare_sources(sources, load, options=ScoringOptions())

    def _look_into(self, places: list[_Place], work: _Work) -> RunComparison:
        names = [each.name for each in places]

        def on_progress(name: str) -> OnProgress:
            say = partial(work.say, f"Run {names.index(name) + 1} of {len(names)}", "explained")
            return partial(say, "failure")

        return look_into(self._compare(places, work), ScoringOptions(), on_progress)


def _await(work: _Work) -> RunComparison | None:
    try:
        return work.result.result(_PATIENCE)
    except TimeoutError:
        return None


def _places(library: Library, query: Query) -> list[_Place]:
    names = list(dict.fromkeys(query.getlist("run")))
    if len(names) < 2:
        raise ConfigurationError(
            f"{len(names)} run cannot be compared; name two or more: ?run=NAME&run=NAME"
        )
    paths = {name: library.path_of(name) for name in names}
    return [
        _Place(name, path, FileState.now(path / CONFIG), FileState.now(path / LOG))
        if path.is_dir()
        else _Place(name, path, FileState.now(path), FileState.now(path))
        for name, path in paths.items()
    ]


def _notes(library: Library, name: str) -> Mapping[TaskKey, str]:
    """Return what each task of a run is about."""
    return {entry.key: entry.note for entry in library.run(name).entries()}
