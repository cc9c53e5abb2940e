"""Queues: the tasks of a run, and the order in which it takes them."""

import json
from abc import ABC, abstractmethod
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from os import PathLike
from pathlib import Path
from typing import Self, overload

from maseval.core.exceptions import ConfigurationError, TaskFormatError
from maseval.core.task.task import Task


class BaseTaskQueue(ABC, Sequence[Task]):
    """Tasks as a sequence, and the order in which a run takes them: ``__iter__``.

    An iteration covers the tasks that are there when it begins.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks = self._checked(tasks)

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

    def repetitions_of(self, task: Task, repeats: int) -> Sequence[int]:
        """The repetitions of a task in a run with ``repeats`` repetitions per task."""
        return range(repeats)

    # The look-ups that Sequence would answer by iterating, which in a queue means a run.
    def __contains__(self, task: object) -> bool:
        return task in self._tasks

    def count(self, value: object) -> int:
        """How many of the tasks equal ``value``."""
        return self._tasks.count(value)  # type: ignore[arg-type]

    def append(self, task: Task) -> None:
        """Add one task."""
        self.extend([task])

    def extend(self, tasks: Iterable[Task]) -> None:
        """Add tasks."""
        self._tasks.extend(self._checked(tasks))

    def to_list(self) -> list[Task]:
        """All tasks, in a new list."""
        return list(self._tasks)

    def _of(self, tasks: list[Task]) -> Self:
        """A queue that differs from this one only in its tasks."""
        other = copy(self)
        other._tasks = tasks
        return other

    def _checked(self, tasks: Iterable[Task]) -> list[Task]:
        checked = list(tasks)
        for task in checked:
            if not isinstance(task, Task):
                name = type(self).__name__
                raise TaskFormatError(
                    f"{name} holds Task objects, not {task!r}; {name}.from_list also takes dicts"
                )
        return checked

    @classmethod
    def from_list(cls, data: Iterable[Task | Mapping[str, object]]) -> Self:
        """A queue of tasks, and of dicts that describe tasks (see ``Task.from_dict``)."""
        return cls([cls._as_task(entry, position) for position, entry in enumerate(data)])

    @classmethod
    def _as_task(cls, entry: object, position: int) -> Task:
        if isinstance(entry, Task):
            return entry
        if not isinstance(entry, Mapping):
            raise TaskFormatError(
                f"{cls.__name__}.from_list expects Task or dict entries; entry {position} is "
                f"{type(entry).__name__}: {entry!r}"
            )
        try:
            return Task.from_dict(entry)
        except (TaskFormatError, ConfigurationError) as error:
            raise type(error)(f"entry {position}: {error.message}") from None

    @classmethod
    def from_json_file(cls, path: str | PathLike[str], *, limit: int | None = None) -> Self:
        """A queue from a JSON list, or from the list under ``data`` of a JSON object."""
        if limit is not None and limit < 0:
            raise ConfigurationError(f"limit is {limit}; give 0 or more, or None for all tasks")
        try:
            payload = json.loads(Path(path).read_text(encoding="utf-8"))
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
        """Add tasks, each at the place its priority gives it."""
        for task in self._checked(tasks):
            insort(self._tasks, task, key=self._rank)

    def _rank(self, task: Task) -> int:
        return -task.protocol.priority if self.reverse else task.protocol.priority

    def _of(self, tasks: list[Task]) -> Self:
        return super()._of(sorted(tasks, key=self._rank))
