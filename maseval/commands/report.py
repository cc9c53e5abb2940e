"""``maseval report``: a run as one HTML file."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from maseval.commands.benchmarks import BenchmarkSupport, OnProgress, RunDiagnosis, support_for
from maseval.commands.finding import open_run_or_file
from maseval.commands.labels import report_notes, report_rows
from maseval.commands.plots import drawings
from maseval.commands.results import lines_of, run_summary
from maseval.core.callbacks import read_reports
from maseval.core.exceptions import NotRunError
from maseval.report import write_report
from maseval.runs import RunFolder, Simulation


def report(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    explain: bool = True,
    on_progress: OnProgress | None = None,
) -> Path:
    """Write the run's report, by default into its folder, and return where it is.

    ``run`` may also be a file of a ``FileResultLogger``, beside which its report is written.

    With ``explain`` every failed simulation gets its label and its explanation, if the benchmark
    has any; ``on_progress`` is called with how many simulations have been explained.
    """
    folder = open_run_or_file(run)
    if isinstance(folder, Path):
        return _report_of_file(folder, output, title)
    if not folder.recorded:
        raise NotRunError(
            f"{folder.path} has no finished simulation yet; there is nothing to report"
        )
    summary = run_summary(lines_of(folder), folder.planned).for_report()
    support = support_for(folder)
    unexplained = support.unexplained(folder) if explain else None
    summary["notes"] += [f"Note: {unexplained}"] if unexplained else []
    found = support.run_diagnosis(folder, on_progress) if explain and not unexplained else None
    if found is not None:
        summary["rows"] += report_rows(found.labels)
        summary["notes"] += report_notes(found.labels)
    return write_report(
        _completed(folder, support, found),
        output or folder.path / "report.html",
        title=title or folder.path.name,
        summary=summary,
        plots=drawings(folder, None if found is None else found.labels).values(),
    )


def _completed(
    folder: RunFolder, support: BenchmarkSupport, found: RunDiagnosis | None
) -> Iterator[Mapping[str, object]]:
    """The reports with what the page shows beside: the task's title, and why it failed."""
    for each in folder.reports():
        shown: dict[str, object] = {**each, "title": support.task_title(each)}
        diagnosis = None if found is None else found.found.get(Simulation.of(each))
        if diagnosis is not None:
            shown |= {"labels": [diagnosis.name], "explanation": diagnosis.for_page()}
        yield shown


def _report_of_file(path: Path, output: str | os.PathLike[str] | None, title: str | None) -> Path:
    """The page of reports that a ``FileResultLogger`` wrote; without a plan it has no pass^k."""
    reports = read_reports(path)
    if not reports:
        raise NotRunError(f"{path} holds no finished repetition yet; there is nothing to report")
    return write_report(reports, output or path.with_suffix(".html"), title=title or path.stem)
