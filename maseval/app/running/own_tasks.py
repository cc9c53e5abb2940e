"""The tasks of a benchmark of your own.

They come from the option ``tasks``, else from the benchmark: those it was made with, those that
its method ``load_tasks`` returns, or ``TASKS`` or ``load_tasks`` in its module.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from maseval.app.results.task_names import TaskName, tasks_called, why_not_one
from maseval.app.running.options import ExtraArguments
from maseval.app.running.own_benchmarks import BenchmarkImportError, OwnBenchmark, call_with
from maseval.app.running.own_code import OwnCode, load_named
from maseval.app.running.run_options import BenchmarkRunOptions
from maseval.core.exceptions import ConfigurationError
from maseval.core.task import AdaptiveTaskQueue, BaseTaskQueue, SequentialTaskQueue, Task
from maseval.core.task.queues import task_queue

_TASKS = OwnCode(
    "tasks",
    "tasks",
    "tasks.json, my_benchmark.py:TASKS or package.module:load",
    BenchmarkImportError,
)
LOADER, LIST = "load_tasks", "TASKS"


class UnknownTaskNameError(ConfigurationError):
    """The benchmark has no task of that name."""


def tasks_to_run(own: OwnBenchmark, options: BenchmarkRunOptions) -> list[Task]:
    """The tasks that the options choose; their timeout is that of the options, if there is one."""
    tasks = _listed(_source(own, options))
    if not tasks:
        raise ConfigurationError(f"{own.name} has no tasks")
    if options.task_id:
        wanted = _wanted(tasks, options.task_id)
        tasks = [task for task in tasks if name_of(task) in wanted]
    return [_limited(task, options.timeout) for task in _first_of_each(tasks, options.num_tasks)]


def by_domain(tasks: Iterable[Task]) -> list[list[Task]]:
    """The tasks of each domain: ids differ within a domain only."""
    found: dict[str, list[Task]] = {}
    for task in tasks:
        found.setdefault(name_of(task).domain, []).append(task)
    return list(found.values())


def fingerprints(tasks: Iterable[Task]) -> dict[str, str]:
    """A hash of each task's content: a run is not mixed of two versions of a task."""
    return {str(name_of(task)): _digest(task) for task in tasks}


def name_of(task: Task) -> TaskName:
    """What a task is called."""
    return TaskName(str(task.metadata.get("domain") or ""), str(task.id))


def _source(own: OwnBenchmark, options: BenchmarkRunOptions) -> Any:
    given, arguments = options.tasks, options.task_args or {}
    if isinstance(given, str | os.PathLike):
        if not str(given).endswith(".json"):
            return _called(load_named(str(given), _TASKS), arguments)
        _no_arguments(arguments, given)
        return _of_file(Path(given))
    if given is not None:
        return _called(given, arguments)
    if len(own.benchmark.tasks):
        _no_arguments(arguments, own.name)
        return own.benchmark.tasks
    for place in (own.benchmark, own.home):
        for name in (LOADER, LIST):
            if (found := getattr(place, name, None)) is not None:
                return _called(found, arguments)
    raise ConfigurationError(
        f"{own.name} has no tasks; define {LIST} or {LOADER}() beside it, give the benchmark a "
        f"method {LOADER}, or name a file: --tasks tasks.json (tasks=...)"
    )


def _listed(tasks: Any) -> list[Task]:
    if isinstance(tasks, AdaptiveTaskQueue):
        raise ConfigurationError(
            f"{type(tasks).__name__} chooses tasks by the results of one process alone, so its run "
            "could not be resumed; give a list of tasks or another queue"
        )
    if isinstance(tasks, BaseTaskQueue):
        listed = tasks.to_list()
    elif isinstance(tasks, Iterable) and not isinstance(tasks, Mapping | str):
        listed = SequentialTaskQueue.from_list(_identified(tasks)).to_list()
    else:
        listed = task_queue(tasks).to_list()
    for part in by_domain(listed):
        task_queue(part)  # raises if two have the same id
    return listed


def _identified(entries: Iterable[Any]) -> Iterator[Any]:
    """A dict without an id would be given another one whenever it is read: no run would resume."""
    for number, entry in enumerate(entries):
        unnamed = isinstance(entry, Mapping) and entry.get("id") is None
        yield {**entry, "id": str(number)} if unnamed else entry


def _of_file(path: Path) -> list[Task]:
    if not path.is_file():
        raise BenchmarkImportError(f"there is no file {str(path)!r}")
    queue = SequentialTaskQueue.from_json_file(path)
    text = path.read_text(encoding="utf-8")
    return [  # named as in _identified where the file has no id
        task if str(task.id) in text else replace(task, id=str(number))
        for number, task in enumerate(queue.to_list())
    ]


def _called(found: Any, arguments: ExtraArguments) -> Any:
    if callable(found):
        return call_with(found, arguments, "task_args")
    _no_arguments(arguments, LIST)
    return found


def _no_arguments(arguments: ExtraArguments, place: object) -> None:
    if arguments:
        raise ConfigurationError(
            f"task_args has {next(iter(arguments))!r}, but the tasks in {place} are a list; "
            f"arguments are for a function that loads tasks"
        )


def _wanted(tasks: Sequence[Task], names: Sequence[str]) -> set[TaskName]:
    every, wanted = [name_of(task) for task in tasks], set[TaskName]()
    for name in names:
        found = tasks_called(name, every)
        if len(found) != 1:
            raise UnknownTaskNameError(
                f"{name!r} does not name one task; {why_not_one(name, found, every)}"
            )
        wanted.update(found)
    return wanted


def _first_of_each(tasks: Sequence[Task], most: int | None) -> list[Task]:
    """At most so many tasks of each domain."""
    return [task for part in by_domain(tasks) for task in part[:most]]


def _limited(task: Task, timeout: float | None) -> Task:
    if timeout is None:
        return task
    return replace(task, protocol=replace(task.protocol, timeout_seconds=timeout))


def _digest(task: Task) -> str:
    content = (task.query, task.environment_data, task.user_data, task.evaluation_data)
    # What JSON cannot hold counts by its kind: its text may hold an address in memory.
    text = json.dumps(content, sort_keys=True, default=lambda value: type(value).__name__)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
