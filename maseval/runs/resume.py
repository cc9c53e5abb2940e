"""Running the simulations that a folder is missing."""

from collections.abc import Collection, Iterable

from maseval.core.benchmark import Benchmark
from maseval.core.engine.engines import DEFAULT, AnyEngine
from maseval.core.exceptions import ConfigurationError
from maseval.core.report import Report
from maseval.core.task import AdaptiveTaskQueue, BaseTaskQueue
from maseval.core.task.queues import AgentData, SelectedRepetitions, TasksToRun, task_queue
from maseval.runs.config import Simulation
from maseval.runs.exceptions import RunFolderError
from maseval.runs.folder import RunFolder
from maseval.runs.recorder import RunRecorder


def run_into(
    folder: RunFolder,
    benchmark: Benchmark,
    tasks: TasksToRun,
    agent_data: AgentData | None = None,
    *,
    retry_failed: bool = True,
    only: Collection[Simulation] | None = None,
    engine: AnyEngine = DEFAULT,
) -> list[Report]:
    """Run the simulations of ``tasks`` that ``folder`` is missing; returns the new reports only.

    How often a task is run is the folder's ``trials``, not the benchmark's ``n_task_repeats``. For
    ``retry_failed`` see ``RunFolder.missing``; ``only`` runs the simulations it names instead, also
    those that are finished. ``engine`` is that of ``Benchmark.run``. When the folder cannot be
    written to, running simulations are finished, no new ones are started, and a ``RunWriteError``
    says why.
    """
    queue = task_queue(tasks)
    _check_fit(folder, queue, only or ())
    wanted = folder.missing(retry_failed=retry_failed) if only is None else sorted(only)
    remaining = SelectedRepetitions(queue, _trials(queue, wanted))
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


def _check_fit(folder: RunFolder, queue: BaseTaskQueue, only: Collection[Simulation]) -> None:
    if not folder.is_open:
        raise RunFolderError(f"{folder.path} is not open; use RunFolder.open(path, config)")
    if isinstance(queue, AdaptiveTaskQueue):
        raise ConfigurationError(
            f"{type(queue).__name__} chooses tasks by the results of this process alone, so its "
            "run cannot be resumed; give a list of tasks or another queue"
        )
    asked = [*(Simulation.of_task(task, 0) for task in queue.to_list()), *only]
    for simulation in asked:
        if simulation not in folder.planned:
            raise ConfigurationError(
                f"{simulation} is not part of the run in {folder.path}; let 'tasks' and 'trials' "
                "of the configuration that the folder is opened with include it"
            )
