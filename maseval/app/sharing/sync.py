"""``maseval sync``: send a finished run to where people look at runs."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from maseval.app.results.examined import recompute_verdicts
from maseval.app.results.finding import open_recording, warn_of_damage
from maseval.app.results.recording import beside, name_of
from maseval.app.results.report import report as write_page
from maseval.app.results.results import run_summary
from maseval.app.sharing.destinations import SENT, Destination, SentLog, destinations_of
from maseval.core.exceptions import ConfigurationError, NotRunError
from maseval.core.outcome import RecordedReport
from maseval.core.report import Report
from maseval.interface.telemetry.otlp import BATCH, DeliveryError
from maseval.interface.telemetry.simulation import SECOND, bounds, trace_of
from maseval.interface.trackers.tracked_run import (
    OVERALL,
    TrackedRun,
    key_of,
    metrics_of,
    parameters_of,
    send_to,
    tasks_of,
)
from maseval.runs import RunFolder
from maseval.runs.config import mark_of
from maseval.runs.recording import Recording
from maseval.stats import Estimate

_NOT_PARAMETERS = ("tasks", "data")


@dataclass(frozen=True)
class SyncResult:
    """The number of traces or runs sent to one destination, now and before."""

    to: str
    at: str
    sent: int
    before: int
    run: str | None = None

    def to_dict(self) -> dict[str, object]:
        return dict(vars(self))


def sync(
    run: str | os.PathLike[str], to: Sequence[str], *, content: bool = False, explain: bool = False
) -> list[SyncResult]:
    """Send a run or a results file, as far as it has not been sent yet.

    Args:
        run: The run, or a results file of tau2-bench.
        to: ``otel``, ``langfuse``, ``mlflow``, ``wandb``; an address follows after ``=``.
        content: Traces also hold what was said, and what tools were given and returned.
        explain: The report that trackers get explains failures, which takes longer.
    """
    if not to:
        raise ConfigurationError("nothing to send to; name one with to=['mlflow'], or --to mlflow")
    destinations = destinations_of(to)
    recording = open_recording(run)
    warn_of_damage(recording)
    if not recording.recorded:
        raise NotRunError(f"{recording.path} has no finished simulation yet; nothing can be sent")
    return [
        _sync_traces(recording, each, content)
        if each.sends_traces
        else _sync_run(recording, each, explain)
        for each in destinations
    ]


def _sync_traces(recording: Recording, destination: Destination, content: bool) -> SyncResult:
    sent = SentLog(beside(recording, SENT), destination)
    known, fresh, before = sent.traces(), 0, 0
    receiver = destination.receiver(name_of(recording), content=content)
    batch: dict[str, Report] = {}

    def send() -> int:
        receiver.send(list(batch.values()))
        sent.note_traces(list(batch))
        count = len(batch)
        batch.clear()
        return count

    try:
        for report in recording.reports():
            trace = f"{trace_of(report):032x}"
            if trace in known:
                before += 1
                continue
            batch[trace] = report
            if len(batch) == BATCH:
                fresh += send()
        fresh += send() if batch else 0
    except DeliveryError as error:
        raise DeliveryError(
            f"{destination} did not take the traces ({error}); {fresh + before} are there, and the "
            "same command sends the rest"
        ) from error
    finally:
        receiver.abort()
    return SyncResult(destination.name, destination.address, fresh, before)


def _sync_run(recording: Recording, destination: Destination, explain: bool) -> SyncResult:
    sent = SentLog(beside(recording, SENT), destination)
    known, digest = sent.run() or (None, None)
    with _tracked_run(recording, explain) as run:
        if known is not None and digest == run.digest:
            return SyncResult(destination.name, destination.address, 0, 1, known)
        given = send_to(destination.name, run, destination.where, known)
    sent.note_run(given, run.digest)
    return SyncResult(destination.name, destination.address, 1, int(known is not None), given)


@contextmanager
def _tracked_run(recording: Recording, explain: bool) -> Iterator[TrackedRun]:
    """Yield the run as trackers show it; its report is written when it is asked for."""
    recording, check = recompute_verdicts(recording)
    lines, times = [], []
    for report in recording.reports():
        lines.append(RecordedReport(report).outcome)
        times.append(bounds(RecordedReport(report)))
    summary = run_summary(lines, recording.planned, config=recording.config)
    scores: dict[str, dict[int, Estimate]] = {OVERALL: dict(summary.overall.pass_hat)}
    if len(summary.domains) > 1:
        scores |= {each.name: dict(each.pass_hat) for each in summary.domains}
    config = recording.config.values
    settings = {key: value for key, value in config.items() if key not in _NOT_PARAMETERS}
    if mark := mark_of(config):
        settings["estimate"] = mark
    # The recorded verdicts that do not hold.
    replaced = {"verdicts_replaced": len(check.differing)} if check and check.differing else {}
    with tempfile.TemporaryDirectory(prefix="maseval-") as folder:
        page = Path(folder) / "report.html"
        yield TrackedRun(
            key=_key(recording),
            name=name_of(recording),
            parameters=parameters_of(settings),
            metrics={**metrics_of(scores, lines), **replaced},
            tasks=tasks_of(lines),
            simulations=len(lines),
            complete=summary.overall.verdicts == summary.overall.planned,
            started=min(start for start, _ in times) / SECOND,
            ended=max(end for _, end in times) / SECOND,
            files=lambda: [write_page(recording.path, page, explain=explain)],
        )


def _key(recording: Recording) -> str:
    if isinstance(recording, RunFolder):
        return key_of(recording.created, str(recording.config.values.get("benchmark")))
    return key_of(*sorted(f"{trace_of(report):032x}" for report in recording.reports()))
