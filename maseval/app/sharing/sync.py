"""``maseval sync``: send a finished run to where people look at runs.

Destinations are ``otel``, ``langfuse``, ``mlflow``, ``wandb``, each with an address. A small file
beside a run's log notes what was sent where, and only ever grows. Nothing depends on it but what is
sent next; the log itself does not know of it.
"""

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from maseval.app.results.examined import REVIEW, ExaminedRun, recompute_verdicts
from maseval.app.results.measured import beside_official, recorded_scores
from maseval.app.results.names import open_recording, warn_of_damage
from maseval.app.results.recording import name_of
from maseval.app.results.report import report as write_page
from maseval.app.results.run_summary import run_summary
from maseval.core.exceptions import ConfigurationError, MASEvalError, NotRunError
from maseval.core.outcome import Outcome, RecordedReport
from maseval.core.report import Report
from maseval.core.storage.files import path_about
from maseval.core.storage.redaction import redact_text, redact_value
from maseval.interface.telemetry.otlp import (
    BATCH,
    DeliveryError,
    OTLPReceiver,
    langfuse_host,
    langfuse_receiver,
    traces_url,
)
from maseval.interface.telemetry.simulation import SECOND, Evaluation, bounds, trace_of
from maseval.interface.trackers import (
    OVERALL,
    TRACKERS,
    TrackedRun,
    check_installed,
    key_of,
    metrics_of,
    parameters_of,
    send_to,
)
from maseval.report.checks import shown_verdicts
from maseval.runs import RunFolder
from maseval.runs.config import CODE, mark_of
from maseval.runs.recording import Recording
from maseval.stats import Estimate
from maseval.stats.result import Result

OTEL, LANGFUSE = "otel", "langfuse"
NAMES = (OTEL, LANGFUSE, *TRACKERS)

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_ADDRESSES: dict[str, Callable[[], str]] = {
    OTEL: lambda: next(filter(None, map(os.environ.get, _ENDPOINTS)), "http://localhost:4318"),
    LANGFUSE: langfuse_host,
    "mlflow": lambda: os.environ.get("MLFLOW_TRACKING_URI", "its own folder"),
    "wandb": lambda: os.environ.get("WANDB_PROJECT", "maseval"),
}


@dataclass(frozen=True)
class Destination:
    """A service to send to; ``where`` is an endpoint, host, URI or project, None for the usual."""

    name: str
    where: str | None = None

    @classmethod
    def of(cls, text: str) -> "Destination":
        """Parse ``mlflow`` or ``mlflow=http://localhost:5000``."""
        name, given, where = text.partition("=")
        if name not in NAMES:
            raise ConfigurationError(
                f"runs cannot be sent to {redact_text(name)!r}; choose one of {', '.join(NAMES)}, "
                "with =ADDRESS for another than the default server: mlflow=http://localhost:5000"
            )
        if given and not where:
            raise ConfigurationError(
                f"there is no address after {text!r}; give one, or just {name} for the default"
            )
        return cls(name, where or None)

    @property
    def sends_traces(self) -> bool:
        """True if it takes each simulation as a trace, and not the run as a whole."""
        return self.name not in TRACKERS

    @property
    def address(self) -> str:
        """The address, without what may be a key."""
        return redact_value(self.where or _ADDRESSES[self.name]())

    def __str__(self) -> str:
        return self.name if self.where is None else f"{self.name}={redact_value(self.where)}"

    def receiver(
        self,
        session: str | None = None,
        *,
        content: bool = False,
        evaluations: Callable[[Report], Iterable[Evaluation]] = lambda report: (),
    ) -> OTLPReceiver:
        """Return the receiver of traces there; ``session`` is the run's name."""
        more: Any = {"content": content, "evaluations": evaluations}
        if self.name == LANGFUSE:
            return langfuse_receiver(self.where, session=session, **more)
        named = {} if session is None else {"maseval.run": session}
        where = None if self.where is None else traces_url(self.where)
        return OTLPReceiver(where, attributes=lambda report: named, **more)


def destinations_of(texts: Sequence[str]) -> list[Destination]:
    """Return the destinations that the texts name, each once; raise if one cannot be used.

    That is, if it lacks a library, keys or a valid address.
    """
    found = dict.fromkeys(map(Destination.of, texts))
    for each in found:
        if each.sends_traces:
            # Made only to fail now, for want of a library, a key or an address, and not halfway.
            each.receiver()
        else:
            check_installed(each.name)
    return list(found)


SENT = "sent.jsonl"


@dataclass(frozen=True)
class SentLog:
    path: Path
    destination: Destination

    def traces(self) -> set[str]:
        return {trace for line in self._lines() for trace in line.get("traces", ())}

    def run(self) -> tuple[str, str] | None:
        """Return the id that a tracker gave to the run, and the digest of what it was last sent."""
        found = [line for line in self._lines() if "run" in line]
        return (str(found[-1]["run"]), str(found[-1].get("digest"))) if found else None

    def note(self, **facts: object) -> None:
        line = json.dumps({**self._key, **facts}) + "\n"
        # If the note cannot be written, the same is sent once more, which changes nothing.
        with suppress(OSError), open(self.path, "a", encoding="utf-8") as file:
            file.write(line)

    @property
    def _key(self) -> dict[str, object]:
        return {"to": self.destination.name, "at": self.destination.address}

    def _lines(self) -> Iterator[dict[str, Any]]:
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return
        for line in text.splitlines():
            # A line that was cut off notes nothing: its traces are sent once more.
            with suppress(ValueError):
                found = json.loads(line)
                if isinstance(found, dict) and self._key.items() <= found.items():
                    yield found


_NOT_PARAMETERS = ("tasks", "data", CODE)


@dataclass(frozen=True)
class SyncResult(Result):
    """The number of traces or runs sent to one destination, now and before."""

    to: str
    at: str
    sent: int
    before: int
    run: str | None = None


def sync(
    run: str | os.PathLike[str], to: Sequence[str], *, content: bool = False
) -> list[SyncResult]:
    """Send a run or a results file, as far as it has not been sent yet.

    Args:
        run: The run, or a results file of tau2-bench.
        to: ``otel``, ``langfuse``, ``mlflow``, ``wandb``; an address follows after ``=``.
        content: Traces also hold what was said, and what tools were given and returned.
    """
    if not to:
        raise ConfigurationError("nothing to send to; name one with to=['mlflow'], or --to mlflow")
    destinations = destinations_of(to)
    recording = open_recording(run)
    warn_of_damage(recording)
    if not recording.recorded:
        raise NotRunError(f"{recording.path} has no finished simulation yet; nothing can be sent")
    return [
        _sync_traces(recording, each, content) if each.sends_traces else _sync_run(recording, each)
        for each in destinations
    ]


def _sync_traces(recording: Recording, destination: Destination, content: bool) -> SyncResult:
    sent = SentLog(path_about(recording.path, SENT), destination)
    known, fresh, before = sent.traces(), 0, 0
    held, _ = recompute_verdicts(recording)
    run = ExaminedRun(held)
    receiver = destination.receiver(
        name_of(recording), content=content, evaluations=partial(_evaluations_of, run)
    )
    batch: dict[str, Report] = {}

    def send() -> int:
        receiver.send(list(batch.values()))
        sent.note(traces=list(batch))
        count = len(batch)
        batch.clear()
        return count

    try:
        for report in held.reports():
            trace = f"{trace_of(report):032x}"
            if trace in known:
                before += 1
                continue
            batch[trace] = report
            # Sent in batches, each of which is noted: what broke off goes on after the last one.
            if len(batch) == BATCH:
                fresh += send()
        fresh += send() if batch else 0
    except DeliveryError as error:
        raise DeliveryError(
            f"{destination} did not take the traces ({error}); {fresh + before} are there, and the "
            "same command sends the rest"
        ) from error
    finally:
        receiver.close()
        # However far the sending came, what was found out need not be found out again.
        run.save()
    return SyncResult(destination.name, destination.address, fresh, before)


def _evaluations_of(run: ExaminedRun, report: Report) -> Iterator[Evaluation]:
    """Yield every check of a report, and the findings about its simulation."""
    parsed = RecordedReport(report)
    for verdict in shown_verdicts(parsed, ()):
        for check in verdict.get("checks", ()):
            label = "met" if check["met"] else "not met"
            name = f"{check['kind']}: {check['name']}"
            yield Evaluation(name, float(check["met"]), label, check["evidence"])
    with suppress(MASEvalError):  # the data of the run is elsewhere
        for each in run.examine(parsed.key, REVIEW, report).findings:
            by = f"judged by {each.by}" if each.by else each.grade
            yield Evaluation(f"{each.source}: {each.rule}", None, each.name, f"{each} ({by})")


def _sync_run(recording: Recording, destination: Destination) -> SyncResult:
    sent = SentLog(path_about(recording.path, SENT), destination)
    known, digest = sent.run() or (None, None)
    with _tracked_run(recording) as run:
        if known is not None and digest == run.digest:
            return SyncResult(destination.name, destination.address, 0, 1, known)
        given = send_to(destination.name, run, destination.where, known)
    sent.note(run=given, digest=run.digest)
    return SyncResult(destination.name, destination.address, 1, int(known is not None), given)


def _measures(recording: Recording, lines: Sequence[Outcome]) -> dict[str, float]:
    """Return the benchmark's other numbers: ``resisted_1``, and the mean of a quantity by name."""
    found: dict[str, float] = {}
    for each in beside_official(recorded_scores(recording, lines)):
        name = re.sub(r"\W+", "_", each.counted)
        for k, number in each.pass_hat.items():
            if number.value is not None:
                found[name if each.is_quantity else f"{name}_{k}"] = number.value
    return found


@contextmanager
def _tracked_run(recording: Recording) -> Iterator[TrackedRun]:
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
    if version := recording.config.code_version:
        settings[CODE] = version  # its files would be hundreds of parameters
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
            metrics={**metrics_of(scores, lines), **_measures(recording, lines), **replaced},
            simulations=len(lines),
            complete=summary.overall.verdicts == summary.overall.planned,
            started=min(start for start, _ in times) / SECOND,
            ended=max(end for _, end in times) / SECOND,
            files=lambda: [write_page(recording.path, page, explain=False)],
        )


def _key(recording: Recording) -> str:
    if isinstance(recording, RunFolder):
        return key_of(recording.created, str(recording.config.values.get("benchmark")))
    # A results file has no time at which it was begun: its simulations tell it apart.
    return key_of(*sorted(f"{trace_of(report):032x}" for report in recording.reports()))
