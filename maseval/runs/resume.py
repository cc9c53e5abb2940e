"""Run the simulations that a folder is missing, and write every report as soon as it is there."""

import logging
from collections.abc import Collection, Iterable, Sequence

from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import BenchmarkCallback
from maseval.core.engine.engines import DEFAULT, AnyEngine
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Simulation
from maseval.core.report import Report
from maseval.core.storage.records import rescue
from maseval.core.task import AdaptiveTaskQueue, BaseTaskQueue, Task
from maseval.core.task.queues import AgentData, SelectedRepetitions, TasksToRun, task_queue
from maseval.runs.config import CODE
from maseval.runs.exceptions import RunFolderError, RunWriteError
from maseval.runs.folder import RunFolder

logger = logging.getLogger(__name__)


class RunRecorder(BenchmarkCallback):
    """Writes reports to ``folder``; if that fails, asks the run to stop and keeps them.

    Reports for which the disk has no room are retried with the next one and at the end of the run,
    and then kept elsewhere (``maseval.core.storage.records``). One that nobody can write down is
    left out. ``error`` is the first failure that a retry did not resolve.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self._of_disk: RunWriteError | None = None
        self._of_report: RunWriteError | None = None
        self._waiting: list[Report] = []

    @property
    def error(self) -> RunWriteError | None:
        return self._of_disk or self._of_report

    def store_reports(self, benchmark: Benchmark, reports: Sequence[Report]) -> None:
        for report in reports:
            if version := self.folder.config.code_version:
                report["config"][CODE] = version
        self._waiting += reports
        if not self._write_waiting():
            benchmark.stop()

    def on_run_end(self, benchmark: Benchmark, results: Sequence[Report]) -> None:
        if not self._write_waiting():
            self._rescue()

    def _write_waiting(self) -> bool:
        together = len(self._waiting)
        while self._waiting:
            try:
                self.folder.append_all(self._waiting[:together])
                del self._waiting[:together]
            except Exception as error:  # of the disk, or of whatever a report consists of
                if together > 1:
                    together = 1  # a full disk may have room for some of them
                elif isinstance(error, RunWriteError):
                    if self._of_disk is None:
                        logger.error("%s", error)
                    self._of_disk = self._of_disk or error
                    return False
                elif isinstance(error, RunFolderError):  # it was closed
                    raise
                else:
                    self._leave_out(self._waiting.pop(0), error)
        self._of_disk = None
        return True

    def _leave_out(self, report: Report, error: Exception) -> None:
        name = f"task {report['task_id']}, trial {report['repeat_idx']}"
        failure = RunWriteError(
            f"the report on {name} cannot be written ({type(error).__name__}: {error}), and is not "
            "recorded; look for what the agent or an evaluator put into it. All others are "
            "recorded; resuming the run runs it again"
        )
        logger.error("%s", failure)
        self._of_report = self._of_report or failure

    def _rescue(self) -> None:
        assert self._of_disk is not None
        for report in self._waiting:
            try:
                record = self.folder.whole_record(report)
                rescue(record, self.folder.log, self.folder.id, self._of_disk)
            except Exception as error:  # as above
                self._leave_out(report, error)
        self._waiting = []


def run_into(
    folder: RunFolder,
    benchmark: Benchmark,
    tasks: TasksToRun,
    agent_data: AgentData | None = None,
    *,
    retry_failed: bool = True,
    among: Collection[Simulation] | None = None,
    engine: AnyEngine = DEFAULT,
) -> list[Report]:
    """Run the simulations of ``tasks`` that ``folder`` is missing; returns the new reports only.

    How often a task is run is the folder's ``trials``, not the benchmark's ``n_task_repeats``. For
    ``retry_failed`` see ``RunFolder.missing``; it also evaluates the recorded conversations again
    whose evaluation failed. ``among`` leaves out what it does not name. ``engine`` is that of
    ``Benchmark.run``. When the folder cannot be written to, running simulations are finished, no
    new ones are started, and a ``RunWriteError`` says why.
    """
    queue = task_queue(tasks)
    _check_fit(folder, queue)
    wanted = folder.missing(retry_failed=retry_failed)
    again = folder.unevaluated() if retry_failed else []
    if among is not None:
        round_of = frozenset(among)
        wanted, again = ([one for one in each if one in round_of] for each in (wanted, again))
    unevaluated = frozenset(again)

    def recorded(task: Task, trial: int) -> Report | None:
        """Return the report whose evaluation failed, when its turn comes."""
        one = Simulation.of_task(task, trial)
        return folder.report(one) if one in unevaluated else None

    # In order of trials, so that both kinds of work come as in a run without a break.
    remaining = SelectedRepetitions(queue, _trials(queue, sorted([*wanted, *again])), recorded)
    recorder = RunRecorder(folder)
    benchmark.add_callback(recorder)
    try:
        reports = benchmark.run(remaining, agent_data, engine=engine)
    finally:
        benchmark.callbacks.remove(recorder)
    if recorder.error is not None:
        raise recorder.error
    return reports


def _trials(queue: BaseTaskQueue, wanted: Iterable[Simulation]) -> dict[str, list[int]]:
    trials: dict[str, list[int]] = {}
    domains = {str(task.id): Simulation.of_task(task, 0).domain for task in queue.to_list()}
    for simulation in wanted:
        if domains.get(simulation.task_id) == simulation.domain:
            trials.setdefault(simulation.task_id, []).append(simulation.trial)
    return trials


def _check_fit(folder: RunFolder, queue: BaseTaskQueue) -> None:
    if not folder.is_open:
        raise RunFolderError(f"{folder.path} is not open; use RunFolder.open(path, config)")
    if isinstance(queue, AdaptiveTaskQueue):
        raise ConfigurationError(
            f"{type(queue).__name__} chooses tasks by the results of this process alone, so its "
            "run cannot be resumed; give a list of tasks or another queue"
        )
    if queue.subset is not None and folder.config.subset is None:
        raise ConfigurationError(
            f"the results of the queue are an {queue.subset}, and the run's configuration does not "
            "say so; open the folder with {**config, **subset_config(queue.subset)}"
        )
    for task in queue.to_list():
        simulation = Simulation.of_task(task, 0)
        if simulation not in folder.planned:
            raise ConfigurationError(
                f"{simulation} is not part of the run in {folder.path}; let 'tasks' and 'trials' "
                "of the configuration that the folder is opened with include it"
            )
