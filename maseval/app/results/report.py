"""``maseval report``: a run, or two of them, as one HTML file."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from maseval.app.benchmarks import (
    OnProgress,
    RunDiagnosis,
    support_for,
)
from maseval.app.comparing.compare import compare
from maseval.app.comparing.comparison_page import comparison_plots, for_report
from maseval.app.results.finding import holds_reports, open_recording
from maseval.app.results.labels import report_notes, report_rows
from maseval.app.results.origins import origin_in_words
from maseval.app.results.plots import drawings
from maseval.app.results.recording import ReadOnce, beside, name_of, notes_on
from maseval.app.results.results import run_summary
from maseval.app.results.simulation_lines import lines_of
from maseval.core.callbacks import read_reports
from maseval.core.exceptions import NotRunError
from maseval.core.outcome import TaskKey, task_key
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.report import write_report
from maseval.runs import Simulation
from maseval.runs.recording import Recording


def report(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    explain: bool = True,
    audit: bool = True,
    against: str | os.PathLike[str] | None = None,
    on_progress: OnProgress | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> Path:
    """Write the report of a run or a results file, by default beside it, and return where it is.

    Args:
        run: The run, a results file of tau2-bench, or a file of a ``FileResultLogger``.
        output: The file to write.
        title: What the page is called.
        explain: Label and explain every failed simulation, if the benchmark can do that.
        audit: Mark the tasks in which an audit of the benchmark finds something.
        against: A second run, to be compared with the first: its trials stand below.
        on_progress: Called with how many simulations have been explained.
        scoring: How a results file is scored, as the fields of ``ScoringOptions``.
    """
    if against is None and holds_reports(run):
        return _report_of_file(Path(run), output, title)
    names = [run] if against is None else [run, against]
    options = ScoringOptions(**scoring)
    opened = [ReadOnce(open_recording(each, options)) for each in names]
    told = [_told(each, explain, on_progress) for each in opened]
    if against is None:
        summary, plots = _of_one(told[0])
    else:
        found = compare(names, options=options)
        summary, plots = for_report(found), comparison_plots(found)
        told = [each._replace(name=name) for each, name in zip(told, found.runs, strict=True)]
    audited = opened if audit else ()
    return write_report(
        (each for one in told for each in _completed(one)),
        output or beside(opened[0], "report.html" if against is None else "comparison.html"),
        title=title or " and ".join(map(name_of, opened)),
        summary=summary,
        plots=plots,
        findings={k: v for each in audited for k, v in support_for(each).findings(each).items()},
        facts=_commands(told),
    )


def _commands(told: Sequence["_Told"]) -> Iterator[tuple[str, str]]:
    """How each run was started and what it continues, as far as its folder says so."""
    for one in told:
        config, whose = one.folder.config.values, "" if one.name is None else f" of {one.name}"
        if command := config.get("command"):
            yield f"Command{whose}", str(command)
        if origin := origin_in_words(config):
            yield f"Origin{whose}", origin


class _Told(NamedTuple):
    """A run, why its simulations failed if that is known, and its name if there are two."""

    folder: Recording
    found: RunDiagnosis | None
    unexplained: str | None
    name: str | None = None


def _told(folder: Recording, explain: bool, on_progress: OnProgress | None) -> _Told:
    if not folder.recorded:
        raise NotRunError(
            f"{folder.path} has no finished simulation yet; there is nothing to report"
        )
    support = support_for(folder)
    unexplained = support.unexplained(folder) if explain else None
    found = support.run_diagnosis(folder, on_progress) if explain and not unexplained else None
    return _Told(folder, found, unexplained)


def _of_one(told: _Told) -> tuple[dict[str, Any], list[str]]:
    folder, found = told.folder, told.found
    lines = lines_of(folder)
    conventions = support_for(folder).conventions(folder, lines)
    summary = run_summary(lines, folder.planned, conventions).for_report()
    summary["notes"] = [*notes_on(folder), *summary["notes"]]
    summary["notes"] += [f"Note: {told.unexplained}"] if told.unexplained else []
    if found is not None:
        summary["rows"] += report_rows(found.labels)
        summary["notes"] += report_notes(found.labels)
    labels = None if found is None else found.labels
    return summary, list(drawings(folder, labels, lines).values())


def _completed(told: _Told) -> Iterator[Mapping[str, object]]:
    """The reports with what the page shows beside: the task's title, and why it failed."""
    support = support_for(told.folder)
    titles: dict[TaskKey, str | None] = {}
    for each in told.folder.reports():
        key = task_key(each)
        if key not in titles:
            titles[key] = support.task_title(each)
        shown: dict[str, object] = {**each, "title": titles[key]}
        if told.name is not None:
            shown["run"] = told.name
        diagnosis = None if told.found is None else told.found.found.get(Simulation.of(each))
        if diagnosis is not None:
            shown |= {"labels": [diagnosis.name], "explanation": diagnosis.for_page()}
        yield shown


def _report_of_file(path: Path, output: str | os.PathLike[str] | None, title: str | None) -> Path:
    """The page of reports that a ``FileResultLogger`` wrote; without a plan it has no pass^k."""
    reports = read_reports(path)
    if not reports:
        raise NotRunError(f"{path} holds no finished repetition yet; there is nothing to report")
    return write_report(reports, output or path.with_suffix(".html"), title=title or path.stem)
