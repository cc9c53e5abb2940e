"""Sources of frames: run folders, results files of tau2-bench, and saved reports."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, cast

from maseval.app.benchmarks import support_for
from maseval.app.results.examined import FINDINGS, ExaminedRun, recompute_verdicts
from maseval.app.results.finding import (
    UnknownRunError,
    holds_reports,
    open_recording,
    run_path,
    warn_of_damage,
)
from maseval.app.results.variants import Variant
from maseval.core.callbacks.result_logger import shared_config
from maseval.core.finding import Finding
from maseval.core.outcome import RecordedReport, Simulation, parse_report
from maseval.core.recorded import mapping, number
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringOptions
from maseval.core.storage.records import iter_records
from maseval.core.task.queues import SUBSET
from maseval.runs import default_root, list_runs
from maseval.runs.config_file import is_run_folder
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import RunDoubt, VerdictCheck, doubt_about

AnyRun = str | os.PathLike[str]
SourceForm = Literal["folder", "results", "reports"]


class FrameSource(NamedTuple):
    """One run, by the name that its rows have."""

    name: str
    path: Path
    form: SourceForm
    options: ScoringOptions


class OpenedSource:
    """A source as it is now; its reports are read one at a time.

    A file of reports has no plan, and nothing can be found out about its simulations.
    """

    def __init__(self, source: FrameSource) -> None:
        self.source = source
        self._recording: Recording | None = None
        self._check: VerdictCheck | None = None
        self.config: Mapping[str, object] = {}
        self.planned: Collection[Simulation] | None = None
        self.damaged = 0
        if source.form == "reports":
            if mark := mapping(shared_config(source.path), SUBSET):
                self.config = {SUBSET: mark}
            return
        self._recording = run = open_recording(source.path, source.options)
        warn_of_damage(run)
        if source.form == "folder" and not source.options.as_recorded:
            self._recording, self._check = recompute_verdicts(run)
        self.config, self.planned, self.damaged = run.config.values, run.planned, len(run.damaged)

    def reports(self) -> Iterator[Report]:
        """Yield the reports, in the order of the plan if there is one."""
        if self._recording is not None:
            yield from self._recording.reports()
            return
        path = self.source.path
        for row, record in enumerate(iter_records(path), 1):
            yield cast("Report", parse_report(record, f"{path}, line {row}").raw)

    @cached_property
    def _examined(self) -> ExaminedRun | None:
        return None if self._recording is None else ExaminedRun(self._recording)

    @property
    def variants(self) -> Sequence[Variant]:
        """The numbers beside the official one."""
        return (
            ()
            if self._recording is None
            else support_for(self._recording).variants(self._recording)
        )

    def findings(self, report: RecordedReport) -> Sequence[Finding]:
        """Return what was found about a report."""
        if self._examined is None:
            return ()
        raw = cast("Report", report.raw)
        return self._examined.examine(Simulation.of(raw), FINDINGS, raw).findings

    def keep_findings(self) -> None:
        if "_examined" in vars(self) and self._examined is not None:
            self._examined.save()

    def doubt(self) -> RunDoubt | None:
        """Return why its numbers are doubtful, if they are."""
        return None if self._recording is None else doubt_about(self._recording, self._check)

    def recorded_reward(self, report: RecordedReport) -> float | None:
        """Return the reward that stands in the folder or file."""
        if self.is_recomputed(report):
            return number(report.raw.get("recorded_reward"))
        return report.reward

    def is_recomputed(self, report: RecordedReport) -> bool:
        """Return True if the verdict of a report is not the recorded one; of files, all are new."""
        if self.source.form == "folder":
            return "recorded_reward" in report.raw
        return self.source.form == "results" and not self.source.options.as_recorded


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
