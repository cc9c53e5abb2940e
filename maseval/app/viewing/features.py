"""Parts that commands add to the viewer: answers of benchmarks, and comparisons.

The verdicts of every compared run are recomputed, which takes some seconds for each. Its outcomes
are kept for as long as it is the same, so that one run more is compared at once.
"""

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, cast
from weakref import WeakKeyDictionary

from maseval.app.benchmarks import RecordedOutcomes, all_support, support_for
from maseval.app.comparing.compare import RunComparison, compare_outcomes, look_into
from maseval.app.comparing.compared_runs import load_run
from maseval.app.comparing.page import document_of, looked_into
from maseval.app.results.examined import (
    FINDINGS,
    REASONS,
    VERDICT,
    ExaminedRun,
    RunFindings,
    examine_run,
)
from maseval.app.results.explained import complete_report
from maseval.app.results.finding import open_recording
from maseval.app.results.recording import facts_of
from maseval.app.results.report import drawings, page_summary
from maseval.core.exceptions import ConfigurationError
from maseval.core.finding import Finding
from maseval.core.outcome import Simulation, TaskKey
from maseval.core.recorded import Shape
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringOptions
from maseval.core.storage.files import FileState
from maseval.report.index import Entry, Overview
from maseval.runs.config_file import CONFIG, LOG
from maseval.runs.recording import Recording, report_key
from maseval.runs.verdict_check import Misstatement, RunCheck
from maseval.stats.summary import Summary
from maseval.view.api import Answers, Query
from maseval.view.library import Library
from maseval.view.reading import RunReader


class BenchmarkReader(RunReader):
    """Asks the benchmark of each run."""

    def __init__(self) -> None:
        self._examined: WeakKeyDictionary[Recording, ExaminedRun] = WeakKeyDictionary()

    def is_results(self, path: Path) -> bool:
        return any(each.holds_results(path) for each in all_support())

    def open_results(self, path: Path) -> Recording:
        for each in all_support():
            if each.holds_results(path) and (found := each.recording(path, ScoringOptions())):
                return found
        raise ConfigurationError(f"{path} is not a results file")

    def overview(
        self, run: Recording, known: Sequence[Entry], found: Summary, labelled: bool = False
    ) -> Overview:
        support, lines = support_for(run), [each.row for each in known]
        unexplained = support.explanation_obstacle(run)
        findings: dict[Simulation, Sequence[Finding]] = {}
        if labelled and not unexplained:
            run_findings = self._examine(run)
            findings = {
                (one := each.simulation): run_findings.examine(one, FINDINGS).findings
                for each in known
            }
        known_run = RunFindings(run, lines, None, unexplained, findings)
        summary = page_summary(known_run, found)
        return Overview(summary, support.task_findings(run), facts_of(run.config.values))

    def plots(self, run: Recording, found: Summary) -> Sequence[str]:
        return drawings(run, found)

    def begin_check(self, run: Recording) -> RunCheck | None:
        checking = self._examine(run).begin_check()
        return None if checking is None or checking.obstacle else checking

    def check_verdict(
        self, checking: RunCheck, run: Recording, report: Report, key: str
    ) -> Misstatement | None:
        found = self._examine(run).examine(Simulation.of(report), VERDICT, report, key)
        if found.line is not None and not checking.obstacle:
            checking.add(found.line, found.verdict, found.obstacle)
        return found.verdict

    def title(self, run: Recording, report: Shape) -> str | None:
        # To find the support again for each task takes longer than the titles.
        return self._examine(run).support.task_title(cast(Report, report))

    def policies(self, run: Recording) -> Mapping[str, Sequence[str]]:
        return support_for(run).policies(run)

    def timeline(self, run: Recording, report: Shape) -> Shape | None:
        return support_for(run).timeline_form(cast(Report, report))

    def complete_report(self, run: Recording, report: Report, key: str | None = None) -> Shape:
        examined = self._examine(run)
        support = examined.support
        parts = () if support.explanation_obstacle(run) else REASONS
        key = key or report_key(report)
        found = examined.examine(Simulation.of(report), parts, report, key)
        title = support.task_title(report)
        return complete_report(report, title, found.findings, found.explanation)

    def _examine(self, run: Recording) -> ExaminedRun:
        if run not in self._examined:
            self._examined[run] = ExaminedRun(run)
        return self._examined[run]

    def examine(self, run: Recording) -> None:
        if (run.path / LOG).is_file() and support_for(run).findings_version(run) is not None:
            examine_run(run, REASONS)

    def keep_findings(self, run: Recording) -> None:
        if run in self._examined:
            self._examined[run].save()


class _Place(NamedTuple):
    """A run by its name in the viewer, and its files as they are now."""

    name: str
    path: Path
    config: FileState
    log: FileState


_Places = tuple[_Place, ...]


def comparisons() -> Answers:
    """Return the feature of compared runs; they are read and compared one after the other."""
    one_at_a_time = threading.Lock()

    @lru_cache(maxsize=64)
    def load(path: Path, config: FileState, log: FileState) -> RecordedOutcomes:
        options = ScoringOptions()
        return load_run(open_recording(path, options), options)

    # The reasons are asked for when the numbers are there.
    @lru_cache(maxsize=16)
    def numbers(places: _Places) -> RunComparison:
        return compare_outcomes({name: load(*state) for name, *state in places})

    @lru_cache(maxsize=16)
    def reasons(places: _Places) -> RunComparison:
        return look_into(numbers(places))

    def compare(library: Library, query: Query) -> Mapping[str, object]:
        """Answer with the document of the runs in the query."""
        with one_at_a_time:
            found = numbers(places := _places(library, query))
        # Every run has the tasks that are compared, but cells of a grid may have their own.
        named = [each.name for each in (places if found.grid else places[:1])]
        notes = {k: v for name in named for k, v in _notes(library, name).items()}
        return document_of(found, notes)

    def find_reasons(library: Library, query: Query) -> Mapping[str, object]:
        """Answer with why simulations failed and which tools were used."""
        with one_at_a_time:
            return looked_into(reasons(_places(library, query)))

    return Answers("compare", {"/api/compare": compare, "/api/compare/reasons": find_reasons})


def _places(library: Library, query: Query) -> _Places:
    names = list(dict.fromkeys(query.getlist("run")))
    if len(names) < 2:
        raise ConfigurationError(
            f"{len(names)} run cannot be compared; name two or more: ?run=NAME&run=NAME"
        )
    paths = {name: library.path_of(name) for name in names}
    files = {n: (p / CONFIG, p / LOG) if p.is_dir() else (p, p) for n, p in paths.items()}
    return tuple(_Place(n, paths[n], *map(FileState.now, files[n])) for n in names)


def _notes(library: Library, name: str) -> Mapping[TaskKey, str]:
    """Return what each task of a run is about."""
    return {entry.key: entry.note for entry in library.run(name).entries()}
