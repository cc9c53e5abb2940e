"""``maseval report``: a run as one HTML file."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from maseval.commands.benchmarks import OnProgress, RunDiagnosis, support_for
from maseval.commands.finding import open_run
from maseval.commands.labels import report_notes, report_rows
from maseval.commands.plots import drawings
from maseval.commands.results import lines_of, run_summary
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

    With ``explain`` every failed simulation gets its label and its explanation, if the benchmark
    has any; ``on_progress`` is called with how many simulations have been explained.
    """
    folder = open_run(run)
    if not folder.recorded:
        raise NotRunError(
            f"{folder.path} has no finished simulation yet; there is nothing to report"
        )
    summary = run_summary(lines_of(folder), folder.planned).for_report()
    found = support_for(folder).run_diagnosis(folder, on_progress) if explain else None
    if found is not None:
        summary["rows"] += report_rows(found.labels)
        summary["notes"] += report_notes(found.labels)
    return write_report(
        folder.reports() if found is None else _labelled(folder, found),
        output or folder.path / "report.html",
        title=title or folder.path.name,
        summary=summary,
        plots=drawings(folder, None if found is None else found.labels).values(),
    )


def _labelled(folder: RunFolder, found: RunDiagnosis) -> Iterator[Mapping[str, object]]:
    for each in folder.reports():
        diagnosis = found.found.get(Simulation.of(each))
        if diagnosis is None:
            yield each
        else:
            yield {**each, "labels": [diagnosis.name], "explanation": diagnosis.for_page()}
