"""Sources of frames: run folders, results files of tau2-bench, and saved reports."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, cast

from maseval.app.results.examined import ExaminedRun, FindingPart, SimulationFindings
from maseval.app.results.finding import (
    UnknownRunError,
    holds_reports,
    open_recording,
    open_run,
    run_path,
)
from maseval.core.callbacks.result_logger import shared_config
from maseval.core.outcome import RecordedReport, parse_report
from maseval.core.recorded import mapping
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringOptions
from maseval.core.storage.records import iter_records
from maseval.core.task.queues import SUBSET
from maseval.runs import Simulation, default_root, list_runs
from maseval.runs.config_file import LOG, is_run_folder
from maseval.runs.log import DamagedRecord
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import RunDoubt, doubt_about, recall_check

AnyRun = str | os.PathLike[str]
SourceForm = Literal["folder", "results", "reports"]


@dataclass(frozen=True)
class OpenedSource:
    """A source that is being read; ``planned`` is None where no plan is recorded."""

    config: Mapping[str, object]
    planned: Sequence[Simulation] | None
    damaged: Sequence[DamagedRecord]
    reports: Iterator[Report]
    recomputed: bool = False
    recording: Recording | None = None

    @cached_property
    def examined(self) -> ExaminedRun | None:
        """The findings about its simulations; None if nobody knows their benchmark."""
        return None if self.recording is None else ExaminedRun(self.recording)

    def findings(self, report: RecordedReport, *parts: FindingPart) -> SimulationFindings:
        """Return these parts of the findings about a report."""
        if self.examined is None:
            return SimulationFindings()
        raw = cast("Report", report.raw)
        return self.examined.examine(Simulation.of(raw), parts, raw)

    def doubt(self) -> RunDoubt | None:
        """Find out why its numbers are doubtful; of a folder, by its last check."""
        if self.recording is None:
            return None
        if self.recording.path.is_dir() and is_run_folder(self.recording.path):
            return recall_check(self.recording.path / LOG)
        return doubt_about(self.recording)

    def keep_findings(self) -> None:
        """Keep what was found, for the next time."""
        if self.examined is not None:
            self.examined.save()


@dataclass(frozen=True)
class FrameSource:
    """One run, by the name that its rows have; it is read anew each time it is opened."""

    name: str
    path: Path
    form: SourceForm
    options: ScoringOptions

    def open(self) -> OpenedSource:
        """Open the source; its reports are read one at a time."""
        match self.form:
            case "reports":
                mark = mapping(shared_config(self.path), SUBSET)
                config = {SUBSET: mark} if mark else {}
                return OpenedSource(config, None, (), _read_reports(self.path))
            case "folder":
                folder = open_run(self.path)
                planned = list(folder.planned)
                return OpenedSource(
                    folder.config.values,
                    planned,
                    folder.damaged,
                    folder.reports(),
                    recording=folder,
                )
        results = open_recording(self.path, self.options)
        values, planned = results.config.values, list(results.planned)
        recomputed = not self.options.as_recorded
        return OpenedSource(
            values, planned, results.damaged, results.reports(), recomputed, results
        )


def _read_reports(path: Path) -> Iterator[Report]:
    for row, record in enumerate(iter_records(path), 1):
        yield cast("Report", parse_report(record, f"{path}, line {row}").raw)


def sources_of(
    runs: Sequence[AnyRun | Sequence[AnyRun]], options: ScoringOptions
) -> list[FrameSource]:
    """Find the runs that are named, also in lists; of a folder that holds runs, all by name.

    Without any, all below the folder of all runs.
    """
    named: list[AnyRun] = []
    for run in runs:
        named += [run] if isinstance(run, str | os.PathLike) else run
    found = (each for run in named or [default_root()] for each in _find_sources(run))
    kept = {path.resolve(): (path, form) for path, form in found}.values()
    short = [path.name if form == "folder" else path.stem for path, form in kept]
    return [
        FrameSource(name if short.count(name) == 1 else str(path), path, form, options)
        for name, (path, form) in zip(short, kept, strict=True)
    ]


def _find_sources(run: AnyRun) -> list[tuple[Path, SourceForm]]:
    path = Path(run)
    if path.is_file():
        return [(path, "reports" if holds_reports(path) else "results")]
    if path.is_dir() and not is_run_folder(path):
        if (path / "results.json").is_file():
            return [(path, "results")]
        below = sorted(each.path for each in list_runs(path))
        if below:
            return [(each, "folder") for each in below]
    try:
        return [(run_path(run), "folder")]
    except UnknownRunError:
        raise UnknownRunError(
            f"{path} is not a run, a folder of runs, a results file or a file of reports; "
            "`maseval runs` lists the runs"
        ) from None
