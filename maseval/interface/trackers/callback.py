"""Runs of a benchmark in experiment trackers, without a run folder."""

import logging
import threading
from collections.abc import Mapping, Sequence

from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import BenchmarkCallback
from maseval.core.exceptions import MASEvalError
from maseval.core.outcome import RecordedReport
from maseval.core.report import Report
from maseval.interface.telemetry.conversation import bounds
from maseval.interface.telemetry.span import SECOND
from maseval.interface.trackers.tracked_run import (
    OVERALL,
    TRACKER_SECONDS,
    TrackedRun,
    check_installed,
    key_of,
    metrics_of,
    parameters_of,
    send_to,
    tasks_of,
)
from maseval.stats.estimation import Estimate
from maseval.stats.summary import summarise

logger = logging.getLogger(__name__)


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
