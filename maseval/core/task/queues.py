"""Queues: the tasks of a run in the order in which it takes them, and the agent data of each.

Informative tasks, such as the anchor points of DISCO, are few and say much about the others. The
number that comes of them is still not the benchmark's score. So a queue over a part of its tasks
says so in ``subset``, the mark goes into reports and into the configuration of a run, and whatever
shows a number of such a run calls it an estimate.
"""

from abc import ABC, abstractmethod
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self, overload

from maseval.core.exceptions import (
    AnchorPointsNotFoundError,
    ConfigurationError,
    DuplicateTaskError,
    TaskFormatError,
    TaskIndexError,
)
from maseval.core.recorded import mapping, whole_number
from maseval.core.storage import strict_json
from maseval.core.task.task import Task
from maseval.core.tracing import JsonObject
from maseval.core.words import count_of, value_or_type

SUBSET = "subset"
"""The key under which a run's configuration, and that of a report, has the mark."""


class ChosenSubset(NamedTuple):
    """The mark of results that are an estimate: ``chosen`` tasks of ``total``, chosen ``by``."""

    chosen: int
    total: int
    by: str

    def __str__(self) -> str:
        return f"estimate from {count_of(self.chosen, 'chosen task')} of {self.total}"

    @property
    def note(self) -> str:
        """A sentence that accompanies the numbers."""
        return (
            f"An {self} ({self.by}), not the score of the benchmark: the tasks are not a random "
            "sample, and intervals are over these tasks alone."
        )

    def to_dict(self) -> dict[str, object]:
        return {"of": self.total, "by": self.by, "chosen": self.chosen}

    @classmethod
    def read(cls, config: object, chosen: int | None = None) -> "ChosenSubset | None":
        """Return the mark in a configuration, with the number of tasks that it has now."""
        noted = mapping(config, SUBSET)
        total = whole_number(noted.get("of"))
        count = whole_number(noted.get("chosen")) if chosen is None else chosen
        if total is None or count is None:
            return None
        return cls(count, total, str(noted.get("by") or "chosen"))


class BaseTaskQueue(ABC, Sequence[Task]):
    """Tasks as a sequence, and the order in which a run takes them: ``__iter__``.

    An iteration covers the tasks that are there when it begins.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks = self._check_tasks(tasks)

    @abstractmethod
    def __iter__(self) -> Iterator[Task]:
        """Hand out the tasks, each once."""

    def __len__(self) -> int:
        return len(self._tasks)

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Task | Self:
        return self._of(self._tasks[index]) if isinstance(index, slice) else self._tasks[index]

    @property
    def subset(self) -> ChosenSubset | None:
        """The mark of a queue whose results are an estimate of those of all tasks."""
        return None

    def repetitions_of(self, task: Task, repeats: int) -> Sequence[int]:
        """Return the repetitions of a task in a run with ``repeats`` repetitions per task."""
        return range(repeats)

    def recorded(self, task: Task, repeat_idx: int) -> Any:
        """Return the report of a repetition that is only to be evaluated again; else None."""
        return None

    # The look-ups that Sequence would answer by iterating, which in a queue means a run.
    def __contains__(self, task: object) -> bool:
        return task in self._tasks

    def count(self, value: object) -> int:
        """Count the tasks that equal ``value``."""
        return self._tasks.count(value)  # type: ignore[arg-type]

    def append(self, task: Task) -> None:
        self.extend([task])

    def extend(self, tasks: Iterable[Task]) -> None:
        self._tasks.extend(self._check_tasks(tasks))

    def to_list(self) -> list[Task]:
        return list(self._tasks)

    def _of(self, tasks: list[Task]) -> Self:
        """Return a queue that differs from this one only in its tasks."""
        other = copy(self)
        other._tasks = tasks
        return other

    def _check_tasks(self, tasks: Iterable[Task]) -> list[Task]:
        checked = list(tasks)
        for task in checked:
            if not isinstance(task, Task):
                name = type(self).__name__
                raise TaskFormatError(
                    f"{name} holds Task objects, not {value_or_type(task)}; "
                    f"{name}.from_list also takes dicts"
                )
        return checked

    @classmethod
    def from_list(cls, data: Iterable[Task | Mapping[str, object]]) -> Self:
        """Return a queue of tasks, and of dicts that describe tasks (see ``Task.from_dict``)."""
        return cls([cls._as_task(entry, position) for position, entry in enumerate(data)])

    @classmethod
    def _as_task(cls, entry: object, position: int) -> Task:
        if isinstance(entry, Task):
            return entry
        if not isinstance(entry, Mapping):
            raise TaskFormatError(
                f"{cls.__name__}.from_list expects Task or dict entries; entry {position} is "
                f"{type(entry).__name__}: {value_or_type(entry)}"
            )
        try:
            return Task.from_dict(entry)
        except (TaskFormatError, ConfigurationError) as error:
            raise type(error)(f"entry {position}: {error.message}") from None

    @classmethod
    def from_json_file(cls, path: str | PathLike[str], *, limit: int | None = None) -> Self:
        """Return a queue from a JSON list, or from the list under ``data`` of a JSON object."""
        if limit is not None and limit < 0:
            raise ConfigurationError(f"limit is {limit}; give 0 or more, or None for all tasks")
        try:
            payload = strict_json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise TaskFormatError(f"{path} is not a JSON file: {error}") from error
        entries = payload.get("data") if isinstance(payload, dict) else payload
        if not isinstance(entries, list):
            raise TaskFormatError(
                f"{path} must hold a JSON list of tasks, or an object with such a list as 'data'"
            )
        try:
            return cls.from_list(entries[:limit])
        except (TaskFormatError, ConfigurationError) as error:
            raise type(error)(f"{path}: {error.message}") from None


class SequentialTaskQueue(BaseTaskQueue):
    """Tasks in the order given."""

    def __iter__(self) -> Iterator[Task]:
        return iter(self.to_list())


TaskQueue = SequentialTaskQueue


class PriorityTaskQueue(BaseTaskQueue):
    """Tasks by ``protocol.priority``, high first unless ``reverse=False``; ties keep their order.

    The rank counts when a task is put in; changing its priority later does not move it.
    """

    def __init__(self, tasks: Iterable[Task], reverse: bool = True) -> None:
        super().__init__(tasks)
        self.reverse = reverse
        self._tasks.sort(key=self._rank)

    def __iter__(self) -> Iterator[Task]:
        return iter(self.to_list())

    def extend(self, tasks: Iterable[Task]) -> None:
        for task in self._check_tasks(tasks):
            # Behind those of the same rank, which came before it.
            insort(self._tasks, task, key=self._rank)

    def _rank(self, task: Task) -> int:
        return -task.protocol.priority if self.reverse else task.protocol.priority

    def _of(self, tasks: list[Task]) -> Self:
        return super()._of(sorted(tasks, key=self._rank))


class InformativeSubsetQueue(SequentialTaskQueue):
    """The tasks at ``indices``, in that order; all of them without indices.

    Tasks added later are run as well, and count among all tasks.
    """

    def __init__(self, tasks: Iterable[Task], indices: Iterable[int] | None = None) -> None:
        self._all_tasks = self._check_tasks(tasks)
        self._indices = None if indices is None else _positions(indices, len(self._all_tasks))
        super().__init__(
            self._all_tasks
            if self._indices is None
            else [self._all_tasks[position] for position in self._indices]
        )

    @property
    def subset(self) -> ChosenSubset | None:
        """The mark of the results; None if the queue has all tasks."""
        if len(self._tasks) == len(self._all_tasks):
            return None
        return ChosenSubset(len(self._tasks), len(self._all_tasks), type(self).__name__)

    def extend(self, tasks: Iterable[Task]) -> None:
        added = self._check_tasks(tasks)
        super().extend(added)
        self._all_tasks = [*self._all_tasks, *added]


class DISCOQueue(InformativeSubsetQueue):
    """The anchor points of DISCO: tasks by whose results a model is told from others.

    They are given as a list or array of positions, or as the path of a JSON file with a list. To
    choose them, and to predict the whole from them, is up to the software of DISCO.
    """

    def __init__(
        self,
        tasks: Iterable[Task],
        anchor_points: Iterable[int] | None = None,
        anchor_points_path: str | PathLike[str] | None = None,
    ) -> None:
        if anchor_points is not None and anchor_points_path is not None:
            raise ConfigurationError("give anchor_points or anchor_points_path, not both.")
        if anchor_points_path is not None:
            anchor_points = self.load_anchor_points(anchor_points_path)
        super().__init__(tasks, anchor_points)
        self._anchor_points = self._indices

    @staticmethod
    def load_anchor_points(path: str | PathLike[str]) -> list[int]:
        """Return the positions in a JSON file; a pickle is refused, as reading one runs code."""
        file = Path(path)
        try:
            points = strict_json.loads(file.read_bytes())
        except FileNotFoundError:
            raise AnchorPointsNotFoundError(f"Anchor points file not found: {file}") from None
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"{file} cannot be read as JSON: {error}; a pickle is not read, as that may run "
                "any code: write the positions as JSON where you trust the file"
            ) from None
        if not isinstance(points, list) or not all(type(point) is int for point in points):
            raise ConfigurationError(
                f"{file} must hold a JSON list of positions, such as [0, 4, 7]"
            )
        return points


def _positions(given: Any, tasks: int) -> list[int]:
    """Return the indices as whole numbers; raise for those that are not, and for any twice."""
    listed = given.tolist() if hasattr(given, "tolist") else given  # an array of NumPy
    try:
        found = [index(each) for each in listed]
    except TypeError:
        raise ConfigurationError(
            f"indices is {given!r}; give the positions of tasks as whole numbers, such as [0, 4]"
        ) from None
    for position in found:
        if not 0 <= position < tasks:
            raise TaskIndexError(
                f"index {position} is out of range: there are {tasks} tasks, numbered from 0"
            )
    twice = [position for position, times in Counter(found).items() if times > 1]
    if twice:
        raise ConfigurationError(f"indices has {twice[0]} twice; name each task once")
    return found


TasksToRun = Task | BaseTaskQueue | Iterable[Task | Mapping[str, object]]
AgentData = Mapping[str, object] | Iterable[Mapping[str, object]]


class SelectedRepetitions(BaseTaskQueue):
    """The tasks of another queue, in its order, each with the repetitions selected for its id.

    A task without any is not run. These replace the ``n_task_repeats`` of a run. ``recorded``
    returns the report of a repetition that is only to be evaluated again, else None.
    """

    def __init__(
        self,
        queue: BaseTaskQueue,
        repetitions: Mapping[str, Sequence[int]],
        recorded: Callable[[Task, int], Any] | None = None,
    ) -> None:
        super().__init__(queue.to_list())
        self._queue = queue
        self._repetitions = repetitions
        self._recorded = recorded or super().recorded

    def __iter__(self) -> Iterator[Task]:
        return (task for task in self._queue if self.repetitions_of(task, 1))

    @property
    def subset(self) -> ChosenSubset | None:
        return self._queue.subset

    def repetitions_of(self, task: Task, repeats: int) -> Sequence[int]:
        """Return the repetitions selected for ``task``; ``repeats`` is ignored."""
        return self._repetitions.get(str(task.id), ())

    def recorded(self, task: Task, repeat_idx: int) -> Any:
        return self._recorded(task, repeat_idx)


def task_queue(tasks: TasksToRun) -> BaseTaskQueue:
    """Return the tasks as a queue, with unique ids."""
    match tasks:
        case Task():
            queue: BaseTaskQueue = SequentialTaskQueue([tasks])
        case BaseTaskQueue():
            queue = tasks
        case Iterable() if not isinstance(tasks, str | Mapping):
            queue = SequentialTaskQueue.from_list(tasks)
        case _:
            raise ConfigurationError(
                f"tasks is {value_or_type(tasks)}; give a Task, a queue or a list of tasks"
            )
    # Raises for an id that two tasks have.
    tasks_by_id(queue.to_list())
    return queue


def tasks_by_id(tasks: Iterable[Task]) -> dict[str, Task]:
    """Return the tasks by their ids; raise if two have the same."""
    found: dict[str, Task] = {}
    for task in tasks:
        if str(task.id) in found:
            raise DuplicateTaskError(
                f"two tasks have the id {str(task.id)!r}; their reports would be "
                "indistinguishable, so give each task its own id"
            )
        found[str(task.id)] = task
    return found


def lasting(agent_data: AgentData) -> AgentData:
    """Return the same data in a form that can be used for several runs."""
    return list(agent_data) if isinstance(agent_data, Iterator) else agent_data


def agent_data_for(queue: BaseTaskQueue, agent_data: AgentData) -> Callable[[Task], JsonObject]:
    """Return the agent data of each task: one dict for all tasks, or one per task of the queue."""
    if isinstance(agent_data, Mapping):
        data = agent_data if isinstance(agent_data, dict) else dict(agent_data)
        return lambda task: data
    entries = _entries(queue, agent_data)

    def data_of(task: Task) -> JsonObject:
        try:
            return entries[str(task.id)]
        except KeyError:
            raise ConfigurationError(
                f"there is no agent data for task {str(task.id)!r}, which was not in the queue "
                "when the run began; give a single dict for all tasks"
            ) from None

    return data_of


def _entries(queue: BaseTaskQueue, agent_data: Iterable[object]) -> dict[str, JsonObject]:
    if not isinstance(agent_data, Iterable) or isinstance(agent_data, str):
        raise ConfigurationError(
            f"`agent_data` is {value_or_type(agent_data)}; give a dict, or one for each task"
        )
    tasks, entries = queue.to_list(), list(agent_data)
    if len(entries) != len(tasks):
        raise ConfigurationError(
            "`agent_data` must either be a single dict or an iterable matching the number of "
            f"tasks. Given: {count_of(len(tasks), 'task')} and {count_of(len(entries), 'dict')}"
        )
    by_task: dict[str, JsonObject] = {}
    for task, entry in zip(tasks, entries, strict=True):
        if not isinstance(entry, Mapping):
            raise ConfigurationError(
                f"`agent_data` holds {value_or_type(entry)}; each entry must be a dict"
            )
        by_task[str(task.id)] = entry if isinstance(entry, dict) else dict(entry)
    return by_task
