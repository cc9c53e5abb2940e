"""``maseval report``: a run as one HTML file."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from maseval.commands.finding import open_run
from maseval.commands.plotting import drawings
from maseval.commands.summary import lines_of, run_summary
from maseval.commands.tau2.apart import apart_notes, apart_rows
from maseval.commands.tau2.diagnosis import (
    Diagnosis,
    OnProgress,
    diagnoses,
    is_tau2,
    label_summary,
)
from maseval.commands.tau2.explained import for_page
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

    With ``explain`` every failed simulation of tau2 gets its label and its explanation;
    ``on_progress`` is told how many simulations are looked at.
    """
    folder = open_run(run)
    if not folder.recorded:
        raise NotRunError(
            f"{folder.path} has no finished simulation yet; there is nothing to report"
        )
    summary = run_summary(lines_of(folder), folder.planned).for_report()
    found: Mapping[Simulation, Diagnosis | None] = {}
    labels = None
    if explain and is_tau2(folder):
        found = diagnoses(folder, on_progress)
        labels = label_summary(found)
        summary["rows"] += apart_rows(labels)
        summary["notes"] += apart_notes(labels)
    return write_report(
        _labelled(folder, found),
        output or folder.path / "report.html",
        title=title or folder.path.name,
        summary=summary,
        plots=drawings(folder, labels).values(),
    )


def _labelled(
    folder: RunFolder, found: Mapping[Simulation, Diagnosis | None]
) -> Iterator[Mapping[str, Any]]:
    for each in folder.reports():
        diagnosis = found.get(Simulation.of(each))
        if diagnosis is None:
            yield each
        else:
            yield {**each, "labels": [diagnosis.name], "explanation": for_page(diagnosis)}
