"""A run as experiment trackers show it, and sending it to one of them by name.

Each tracker has a module with a function ``send``, by whose name it is found. The callbacks send
the run of a benchmark that has no run folder.
"""

import hashlib
import json
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import BenchmarkCallback
from maseval.core.exceptions import MASEvalError
from maseval.core.outcome import Outcome, RecordedReport, total_cost
from maseval.core.report import Report
from maseval.core.storage.redaction import redact, redact_text
from maseval.core.words import excerpt
from maseval.interface import extras
from maseval.interface.telemetry.otlp import DeliveryError
from maseval.interface.telemetry.simulation import SECOND, bounds
from maseval.stats.summary import Estimate, summarise

logger = logging.getLogger(__name__)

OVERALL = ""
_LONGEST = 500


@dataclass(frozen=True)
class TrackedRun:
    """The part of a run that is sent.

    ``key`` names the run whenever it is sent, so that a tracker has it once. Its first simulation
    ``started`` and its last one ``ended`` so many seconds after 1970. ``files`` makes what is
    attached.
    """

    key: str
    name: str
    parameters: Mapping[str, str]
    metrics: Mapping[str, float]
    tasks: Sequence[Mapping[str, object]]
    simulations: int
    complete: bool
    started: float
    ended: float
    files: Callable[[], Sequence[Path]] = field(default=tuple, compare=False)

    @property
    def digest(self) -> str:
        """A hash of the contents: a run that was sent already need not be sent again."""
        content = [self.name, self.parameters, self.metrics, self.tasks, self.complete]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def columns(self) -> list[str]:
        return list(self.tasks[0]) if self.tasks else []

    def rows(self) -> list[list[object]]:
        return [list(row.values()) for row in self.tasks]


def key_of(*identity: str) -> str:
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]


def parameters_of(config: Mapping[str, object]) -> dict[str, str]:
    """Flatten a configuration without its secrets: one text for each setting, ``agent.model``."""
    return dict(_flat(redact(config), ()))


def _flat(values: Mapping[str, object], path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, (*path, str(key)))
        elif value is not None:
            text = value if isinstance(value, str) else json.dumps(value)
            yield ".".join((*path, str(key))), text[:_LONGEST]


def metrics_of(
    scores: Mapping[str, Mapping[int, Estimate]], finished: Sequence[Outcome]
) -> dict[str, float]:
    """Return pass^k with both ends of its interval, by domain and overall, and what the run took.

    ``pass_hat_1``, ``pass_hat_1_low``, ``retail/pass_hat_1_high``: no tracker takes a ``^``. Where
    verdicts are missing, ``pass_hat_1_worst`` and ``_best`` say what they can still make of it.
    """
    metrics: dict[str, float] = {}
    for domain, estimates in scores.items():
        prefix = f"{domain}/" if domain else ""
        for k, found in estimates.items():
            if found.value is not None:
                name = f"{prefix}pass_hat_{k}"
                ends = {key: end for key, end in found.in_brief().items() if end is not None}
                del ends["value"]
                metrics |= {name: found.value, **{f"{name}_{key}": e for key, e in ends.items()}}
    cost = total_cost(each.cost for each in finished)
    known = {} if cost is None else {"cost": cost}
    return {
        **metrics,
        "simulations": len(finished),
        "verdicts": sum(each.passed is not None for each in finished),
        "passed": sum(each.passed is True for each in finished),
        "errors": sum(each.kind == "error" for each in finished),
        **known,
        "tokens": sum(each.tokens for each in finished),
        "seconds": sum(each.seconds for each in finished),
    }


def tasks_of(finished: Iterable[Outcome]) -> list[dict[str, object]]:
    """Return a row for each task: its trials, how many passed, and what they took."""
    by_task: dict[tuple[str, str], list[Outcome]] = {}
    for each in finished:
        by_task.setdefault((each.domain, each.task_id), []).append(each)
    return [_row(*key, trials) for key, trials in by_task.items()]


def _row(domain: str, task_id: str, trials: Sequence[Outcome]) -> dict[str, object]:
    rewards = [each.reward for each in trials if each.reward is not None]
    verdicts = [each.passed for each in trials if each.passed is not None]
    return {
        "domain": domain,
        "task_id": task_id,
        "trials": len(trials),
        "verdicts": len(verdicts),
        "passed": sum(verdicts),
        "pass_rate": sum(verdicts) / len(verdicts) if verdicts else None,
        "mean_reward": sum(rewards) / len(rewards) if rewards else None,
        "errors": sum(each.kind == "error" for each in trials),
        "cost": total_cost(each.cost for each in trials),
        "tokens": sum(each.tokens for each in trials),
        "seconds": round(sum(each.seconds for each in trials), 3),
    }


@dataclass
class BoundedProcess:
    """A command that runs beside this one."""

    process: "subprocess.Popen[str]"

    @classmethod
    def start(cls, command: Sequence[str]) -> "BoundedProcess":
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return cls(process)

    def failure(self, deadline: float) -> str | None:
        """Wait for its end; return why it failed, or None.

        At ``deadline`` (monotonic) it is killed, with all that it has started.
        """
        left = max(0.0, deadline - time.monotonic())
        try:
            _, errors = self.process.communicate(timeout=left)
        except subprocess.TimeoutExpired:
            self._kill()
            return "no answer in time"
        if self.process.returncode == 0:
            return None
        lines = [line for line in errors.splitlines() if line.strip()]
        return (lines or ["it failed without a message"])[-1].removeprefix("Error: ")

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


TRACKERS = ("mlflow", "wandb")
TRACKER_SECONDS = 30.0
"""The end of a run waits at most so long for trackers: their libraries alone take seconds."""


def check_installed(name: str) -> None:
    """Raise if the library of a tracker is missing; it is not imported."""
    home = import_module(f"maseval.interface.trackers.{name}")
    extras.require(home.MODULE, extra=home.EXTRA, package=home.PACKAGE)


def send_to(name: str, run: TrackedRun, where: str | None, known: str | None = None) -> str:
    """Send a run to a tracker and return its id there; raise ``DeliveryError`` if refused."""
    try:
        send: Callable[..., str] = import_module(f"maseval.interface.trackers.{name}").send
        return send(run, where, known)
    except MASEvalError:
        raise
    except Exception as error:  # each library fails in its own ways
        words = f"{type(error).__name__}: {excerpt(redact_text(str(error)), 1000)}"
        raise DeliveryError(f"{name} did not take the run ({words})") from error


class _TrackerCallback(BenchmarkCallback):
    """Sends parameters, metrics and the table of tasks when a run is over.

    A thread does it, for which the run waits at most ``TRACKER_SECONDS``; if it fails, a warning is
    logged and ``failure`` says why.
    """

    tracker: str

    def __init__(
        self,
        where: str | None = None,
        *,
        name: str | None = None,
        parameters: Mapping[str, object] | None = None,
    ) -> None:
        check_installed(self.tracker)
        self.failure: str | None = None
        self._where, self._name = where, name
        self._parameters = dict(parameters or {})

    def on_run_end(self, benchmark: Benchmark, results: Sequence[Report]) -> None:
        if not results:
            return
        self.failure = "no answer in time"
        run = self._run(results)
        sender = threading.Thread(target=self._send, args=(run,), daemon=True)
        sender.start()
        sender.join(TRACKER_SECONDS)
        if self.failure is not None:
            logger.warning("%s: the run was not sent (%s)", self.tracker, self.failure)

    def _send(self, run: TrackedRun) -> None:
        try:
            send_to(self.tracker, run, self._where)
            self.failure = None
        except MASEvalError as error:
            self.failure = str(error)

    def _run(self, results: Sequence[Report]) -> TrackedRun:
        reports = [RecordedReport(report) for report in results]
        finished = [report.outcome for report in reports]
        return TrackedRun(
            key=key_of(str(results[0]["run_id"])),
            name=self._name or str(results[0]["run_id"]),
            parameters=parameters_of(self._parameters),
            metrics=metrics_of(_scores(reports), finished),
            tasks=tasks_of(finished),
            simulations=len(finished),
            complete=all(each.passed is not None for each in finished),
            started=min(bounds(report)[0] for report in reports) / SECOND,
            ended=max(bounds(report)[1] for report in reports) / SECOND,
        )


class MLflowCallback(_TrackerCallback):
    """Has a run in MLflow; ``where`` is the tracking URI (``MLFLOW_TRACKING_URI`` by default).

    Args:
        where: The tracking URI.
        name: What the run is called; by default its id.
        parameters: What the run's results depend on.
    """

    tracker = "mlflow"


class WandbCallback(_TrackerCallback):
    """Has a run in Weights & Biases; ``where`` is the project, or ``entity/project``.

    Args:
        where: The project; by default ``WANDB_PROJECT``, or ``maseval``.
        name: What the run is called; by default its id.
        parameters: What the run's results depend on.
    """

    tracker = "wandb"


def _scores(reports: Sequence[RecordedReport]) -> dict[str, dict[int, Estimate]]:
    found = summarise(report.outcome for report in reports)
    groups = {OVERALL: found.overall, **{str(each.group): each for each in found.groups[:-1]}}
    return {
        name: {each.k: each for each in group.estimates if each.measure == "pass^k"}
        for name, group in groups.items()
    }
