"""``maseval report``: a run, or several compared, as one HTML file."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, cast

from maseval.app.benchmarks import OnProgress, support_for
from maseval.app.comparing.cells import expand_grids
from maseval.app.comparing.compare import compare
from maseval.app.comparing.page import document_of
from maseval.app.results.examined import (
    REVIEW,
    TITLE,
    ExaminedRun,
    RunFindings,
    examine_run,
)
from maseval.app.results.explained import Review, complete_report, labels_of
from maseval.app.results.measured import measure_notes, measure_rows
from maseval.app.results.names import (
    Files,
    each_of,
    holds_reports,
    open_recording,
    warn_of_damage,
)
from maseval.app.results.recording import (
    facts_of,
    first_obstacle,
    judging_in_words,
    name_of,
    notes_on,
    resume_note,
    warnings_on,
)
from maseval.app.results.run_summary import costs_by_role, costs_in_words, run_summary
from maseval.core.callbacks import read_reports
from maseval.core.exceptions import ConfigurationError, NotRunError
from maseval.core.outcome import RecordedReport, Simulation, TaskKey
from maseval.core.recorded import Shape, mapping
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.storage.files import path_about
from maseval.core.words import count_of, text_or_none
from maseval.report import write_report
from maseval.report.index import Entry, Overview, indexed_entry, note_of
from maseval.report.page import page_of, write_page
from maseval.report.results import page_row
from maseval.runs.config import mark_of
from maseval.runs.recording import Recording, index_line_in, unrecorded_trials
from maseval.runs.verdict_check import RunDoubt, SimulationDoubt, doubt_about, doubt_in
from maseval.stats import pass_plot
from maseval.stats.plots import Drawing
from maseval.stats.summary import Summary


def report(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    explain: bool = True,
    against: Files | None = None,
    measure: str | None = None,
    on_progress: OnProgress | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> Path:
    """Write the report of a run or a results file, by default beside it, and return where it is.

    Args:
        run: The run, a grid, a results file of tau2-bench, or a file of a ``FileResultLogger``.
        output: The file to write.
        title: What the page is called.
        explain: Label and explain every failed simulation, if the benchmark can do that.
        against: A second run, or several, to be compared with the first.
        measure: The number of the benchmark that is compared in the place of its verdict.
        on_progress: Called with how many simulations have been explained.
        scoring: How a results file is scored, as the fields of ``ScoringOptions``.
    """
    asked = [run, *each_of(against or ())]
    if len(asked) == 1 and measure is None and holds_reports(run):
        return _report_of_file(Path(run), output, title)
    names, without = expand_grids(asked)
    if not names:
        raise NotRunError(f"there is nothing to report yet: {'; '.join(without)}")
    others = names[1:]
    if measure is not None and not others:
        text = f"one run shows all its measures; name two to compare their {measure!r}"
        raise ConfigurationError(text)
    options = ScoringOptions(**scoring)
    opened = [open_recording(each, options) for each in names]
    for each in opened:
        warn_of_damage(each)
    parts = REVIEW if explain else ()
    found = [examine_run(each, parts, on_progress, in_brief=True) for each in opened]
    # The simulations of a single run do not say on the page which run they are of.
    runs: dict[str | None, RunFindings] = {None: found[0]}
    summary, plots, compared = None, list[Drawing](), None
    if others:
        comparison = compare(asked, options=options, explain=explain, measure=measure)
        compared = document_of(comparison)
        runs = dict(zip(comparison.runs, found, strict=True))
    else:
        alone = found[0]
        summary = page_summary(alone, doubt_about(alone.folder, alone.check))
        plots = drawings(alone.folder, alone.summary)
    overview = Overview(
        summary,
        {k: v for one in opened for k, v in support_for(one).task_findings(one).items()},
        _facts(runs),
        plots,
        shared_settings(opened),
        compared,
        _policies(opened),
        {} if others else unrecorded_trials(found[0].folder),
    )
    reports = _PageReports(runs, explain)
    # The page of a grid is called like its folder, and not like all of its cells.
    named = Path(run).name if names != asked and len(asked) == 1 else _title(opened)
    page = page_of(reports.entries(), reports.at, title or named, overview, reports.timeline)
    return write_page(page, output or _place_of(asked, opened))


def _place_of(asked: Sequence[str | os.PathLike[str]], opened: Sequence[Recording]) -> Path:
    """Return the file in the folder of a run or a whole grid; of several, in that of the first."""
    first = opened[0]
    if len(opened) > len(asked) == 1:
        return first.path.parent / "report.html"
    return path_about(first.path, "comparison.html" if len(opened) > 1 else "report.html")


def _policies(opened: Sequence[Recording]) -> Mapping[str, Iterable[str]]:
    found: dict[str, dict[str, None]] = {}
    for each in opened:
        for domain, texts in support_for(each).policies(each).items():
            found.setdefault(domain, {}).update(dict.fromkeys(texts))
    return found


def _title(opened: Sequence[Recording]) -> str:
    names = list(map(name_of, opened))
    listed = ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]
    return listed if len(names) < 4 else count_of(len(names), "run")


def _facts(runs: Mapping[str | None, RunFindings]) -> Iterator[tuple[str, str]]:
    """Yield the facts of each run, with its name where others have another value."""
    facts = {name: dict(facts_of(one.folder.config.values)) for name, one in runs.items()}
    for name, own in facts.items():
        for fact, value in own.items():
            shared = all(other.get(fact) == value for other in facts.values())
            yield fact if shared else f"{fact} of {name}", value


def drawings(folder: Recording, found: Summary) -> list[Drawing]:
    if not found.overall.done:  # without a verdict there is no pass^k
        return []
    mark = f", {chosen}" if (chosen := mark_of(folder.config.values)) else ""
    *domains, last = found.groups
    groups = {**{each.group or "": each for each in domains}, last.group or "all": last}
    curves = {f"{name}{mark}": replace(found, groups=[each]) for name, each in groups.items()}
    return [pass_plot(curves)]


def page_summary(
    run: RunFindings, doubt: RunDoubt | None, found: Summary | None = None
) -> dict[str, Any]:
    """Return the numbers of a run with their notes, as a page shows them.

    Without findings there are no numbers beside the official one. What is said of the ``doubt`` is
    not said again. ``found`` saves summarising the run again.
    """
    config = run.folder.config
    numbers = run_summary(run.lines, run.folder.planned, config, found) if found else run.summary
    again = resume_note(run.folder, numbers.overall.missing)
    obstacle = None if numbers.overall.done else first_obstacle(run.folder)
    costs = costs_in_words(costs_by_role(run.lines))
    notes = [
        run.check and run.check.obstacle,
        *warnings_on(config.values),
        *notes_on(run.folder),
        judging_in_words(run.folder),
        *(run.checklist.lines() if run.checklist else ()),
        numbers.answer,
        None if numbers.is_usual else numbers.method,
        costs and f"Cost: {costs}.",
        None if obstacle else again,
        *map(str, run.judged_shares),
    ]
    told = doubt["reasons"] if doubt else ()
    beside = run.scores if run.findings else ()
    return {
        "rows": [page_row(", ".join([e.name, *numbers.marks]), e) for e in numbers.groups],
        "beside": measure_rows(beside),
        "notes": [note for note in notes if note and note not in told],
        # How numbers are computed can wait for a question, unless there is more to say.
        "meaning": [numbers.method] * numbers.is_usual + measure_notes(beside),
        "doubt": doubt,
        "obstacle": [*filter(None, [obstacle, again])] if obstacle else None,
    }


class TaskTitles:
    """What the tasks of a run are about, as the first simulation of each that is asked for says.

    Titles are kept, so that later pages read no report for them.
    """

    def __init__(self, run: ExaminedRun) -> None:
        self._run = run
        self._titles: dict[TaskKey, str | None] = {}
        self._notes: dict[TaskKey, str] = {}

    @property
    def known(self) -> int:
        return len(self._titles)

    def title(self, one: Simulation) -> str | None:
        if one.task not in self._titles:
            self._titles[one.task] = self._run.examine(one, TITLE).title
        return self._titles[one.task]

    def note(self, one: Simulation) -> str:
        """Return the title as the list of simulations shows it, or what its report has instead."""
        if one.task not in self._notes:
            title = self.title(one)
            report = RecordedReport({} if title else self._run.folder.report(one))
            self._notes[one.task] = note_of(report, title)
        return self._notes[one.task]


class _PageReports:
    """The simulations of one or several runs: what the index has of each, and reports by place."""

    def __init__(self, runs: Mapping[str | None, RunFindings], explain: bool) -> None:
        self._runs, self._parts = runs, REVIEW if explain else ()
        self._places = [(run, one) for run, found in runs.items() for one in found.each]
        self._examined = {k: each.examined or ExaminedRun(each.folder) for k, each in runs.items()}
        self._titles = {run: TaskTitles(each) for run, each in self._examined.items()}

    def entries(self) -> Iterator[Entry]:
        """Yield the entry of each simulation; of a log, the report of one in each task is read."""
        for at, (run, one) in enumerate(self._places):
            found = self._runs[run]
            # The index line of a run folder has all that an entry shows; of a file only the report
            # has.
            report = None if found.folder.path.is_dir() else found.folder.report(one)
            review = found.each[one].review
            labels = [] if review is None else labels_of(review)
            if doubt := self._doubt(found, one, report):
                labels.append(doubt.label)
            note = self._titles[run].note(one)
            entry = indexed_entry(index_line_in(found.folder, one), at, note)
            # The same few labels stand at thousands of simulations.
            yield entry._replace(run=run, labels=tuple(map(sys.intern, labels)))

    def at(self, place: int) -> Mapping[str, object]:
        """Return a report with its task's title and the findings about it."""
        run, one = self._places[place]
        found = self._runs[run]
        report = found.folder.report(one)
        review = self._examined[run].examine(one, self._parts, report).review
        shown = complete_report(report, self._titles[run].title(one), review or Review())
        if run is not None:
            shown["run"] = run
        if doubt := self._doubt(found, one, report):
            shown["doubt"] = doubt.text
        return shown

    def timeline(self, shown: Mapping[str, object]) -> Mapping[str, object] | None:
        found = self._runs[text_or_none(shown.get("run"))]
        return support_for(found.folder).timeline(cast(Report, shown))

    def _doubt(
        self, found: RunFindings, one: Simulation, report: Report | None
    ) -> SimulationDoubt | None:
        differing = found.check.differing.get(one) if found.check else None
        return differing.doubt if differing else doubt_in(report or {})


def shared_settings(opened: Sequence[Recording]) -> list[Shape]:
    """Return what the reports of runs share: machine, code, and the options of the benchmark."""
    return [mapping(each) for one in opened for each in getattr(one, "shared", ())]


def _report_of_file(path: Path, output: str | os.PathLike[str] | None, title: str | None) -> Path:
    """Write the page of a ``FileResultLogger``'s reports; without a plan it has no pass^k."""
    reports = read_reports(path)
    if not reports:
        raise NotRunError(f"{path} holds no finished repetition yet; there is nothing to report")
    return write_report(reports, output or path.with_suffix(".html"), title=title or path.stem)
