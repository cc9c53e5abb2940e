"""``maseval report``: a run as one HTML file."""

import os
from pathlib import Path

from maseval.commands.finding import open_run
from maseval.commands.summary import lines_of, summarise
from maseval.core.exceptions import NotRunError
from maseval.report import write_report
from maseval.runs import RunFolder


def report(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
) -> Path:
    """Write the run's report, by default into its folder, and return where it is."""
    folder = open_run(run)
    return report_on(folder, output or folder.path / "report.html", title or folder.path.name)


def report_on(folder: RunFolder, output: str | os.PathLike[str], title: str) -> Path:
    """Write the report of a run that is open already."""
    if not folder.recorded:
        raise NotRunError(
            f"{folder.path} has no finished simulation yet; there is nothing to report"
        )
    summary = summarise(lines_of(folder), folder.planned)
    return write_report(folder.reports(), output, title=title, summary=summary.for_report())
