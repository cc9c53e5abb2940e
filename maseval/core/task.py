"""A task, the protocol it is run by, and the queues that decide which task comes next."""

import json
from abc import ABC, abstractmethod
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from enum import Enum
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, Self, overload
from uuid import uuid4

from maseval.core.exceptions import (
    ConfigurationError,
    DuplicateTaskError,
    HookResultError,
    TaskFormatError,
    TaskFrozenError,
)
from maseval.core.tracing import TraceableMixin


class TimeoutAction(Enum):
    """What to do with a repetition that ran out of time."""

    SKIP = "skip"
    RETRY = "retry"
    EXTEND = "extend"


@dataclass
class TaskProtocol:
    """How a task is to be run: its time limit, retries and rank among the others."""

    timeout_seconds: float | None = None
    timeout_action: TimeoutAction = TimeoutAction.SKIP
    max_retries: int = 0
    priority: int = 0
    tags: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        limit = self.timeout_seconds
        if limit is not None and not (isinstance(limit, int | float) and limit >= 0):
            raise ConfigurationError(
                f"timeout_seconds is {limit!r}; give 0 or more seconds, or None for no limit"
            )
        if not (isinstance(self.max_retries, int) and self.max_retries >= 0):
            raise ConfigurationError(f"max_retries is {self.max_retries!r}; give 0 or more")
        if not isinstance(self.priority, int | float):
            raise ConfigurationError(f"priority is {self.priority!r}; give a number")
        if not isinstance(self.timeout_action, TimeoutAction):
            raise ConfigurationError(
                f"timeout_action is {self.timeout_action!r}; give a TimeoutAction"
            )

    def to_dict(self) -> dict[str, Any]:
        """The protocol as JSON-friendly data."""
        return {
            **vars(self),
            "timeout_action": self.timeout_action.value,
            "tags": dict(self.tags),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The protocol that ``to_dict`` wrote; what is not given keeps its default."""
        known = [f.name for f in fields(cls)]
        unknown = [key for key in data if key not in known]
        if unknown:
            raise TaskFormatError(
                f"a task protocol has no {', '.join(map(repr, unknown))}; it has {', '.join(known)}"
            )
        action = data.get("timeout_action", TimeoutAction.SKIP)
        try:
            action = TimeoutAction(action)
        except ValueError:
            raise TaskFormatError(
                f"unknown timeout_action {action!r}; "
                f"choose one of: {', '.join(choice.value for choice in TimeoutAction)}"
            ) from None
        tags = dict(_mapping("tags", data.get("tags", {})))
        return cls(**{**data, "timeout_action": action, "tags": tags})


class FrozenDict(dict[str, Any]):
    """A dict that can be read, compared and written as JSON, but not changed."""

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise TaskFrozenError(
            "this data belongs to a frozen task; call task.unfreeze() to change it",
            component="Task",
        )

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __repr__(self) -> str:
        return f"FrozenDict({super().__repr__()})"

    def __reduce__(self) -> tuple[type[Self], tuple[dict[str, Any]]]:
        # Copying and unpickling would otherwise fill the new dict item by item.
        return type(self), (dict(self),)


def _frozen(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return FrozenDict({key: _frozen(inner) for key, inner in value.items()})


def _thawed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: _thawed(inner) for key, inner in value.items()}


_DATA_FIELDS = ("environment_data", "user_data", "evaluation_data", "metadata")


@dataclass
class Task:
    """One thing for an agent to do, with all that is needed to set it up and to judge it."""

    query: str
    id: str = field(default_factory=lambda: str(uuid4()))
    environment_data: dict[str, Any] = field(default_factory=dict)
    user_data: dict[str, Any] = field(default_factory=dict)
    evaluation_data: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    protocol: TaskProtocol = field(default_factory=TaskProtocol)
    _frozen: bool = field(default=False, init=False, repr=False, compare=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """A task from the names of its fields, or from a question-and-answer record.

        Without ``query``, the text is that of ``question`` or ``prompt``, and ``text`` and
        ``short_answer`` become environment and evaluation data. Other keys are not used.
        """
        given = {name: data[name] for name in _DATA_FIELDS if data.get(name) is not None}
        query = data.get("query")
        if "query" not in data:
            query = data.get("question") or data.get("prompt")
            if "text" in data:
                given.setdefault("environment_data", {"text_content": data["text"]})
            if "short_answer" in data:
                given.setdefault("evaluation_data", {"short_answer": data["short_answer"]})
        for name, value in given.items():
            given[name] = dict(_mapping(name, value))
        if data.get("id") is not None:
            given["id"] = str(data["id"])
        protocol = data.get("protocol")
        if protocol is not None and not isinstance(protocol, TaskProtocol):
            protocol = TaskProtocol.from_dict(_mapping("protocol", protocol))
        return cls(
            "" if query is None else str(query), protocol=protocol or TaskProtocol(), **given
        )

    @property
    def is_frozen(self) -> bool:
        """Whether the task refuses to be changed."""
        return self._frozen

    def freeze(self) -> Self:
        """Refuse changes of the fields and of the dicts in them; lists stay as they are."""
        if self._frozen:
            raise TaskFrozenError(f"task {self.id!r} is already frozen", component="Task")
        for name in _DATA_FIELDS:
            setattr(self, name, _frozen(getattr(self, name)))
        self._frozen = True
        return self

    def unfreeze(self) -> Self:
        """Allow changes again."""
        if not self._frozen:
            raise TaskFrozenError(f"task {self.id!r} is not frozen", component="Task")
        object.__setattr__(self, "_frozen", False)
        for name in _DATA_FIELDS:
            setattr(self, name, _thawed(getattr(self, name)))
        return self

    def __post_init__(self) -> None:
        # ``dataclasses.replace`` on a frozen task hands its data to a task that is not.
        for name in _DATA_FIELDS:
            if isinstance(getattr(self, name), FrozenDict):
                setattr(self, name, _thawed(getattr(self, name)))

    def __setattr__(self, name: str, value: object) -> None:
        if self._frozen:
            raise TaskFrozenError(
                f"cannot set {name!r} of frozen task {self.id!r}; call task.unfreeze() first",
                component="Task",
            )
        super().__setattr__(name, value)


def _mapping(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TaskFormatError(f"{name!r} of a task must be a dict, not {value!r}")
    return value


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
        """Which repetitions of a task a run makes that is asked for ``repeats`` of each."""
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
    def from_list(cls, data: Iterable[Task | Mapping[str, Any]]) -> Self:
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


@dataclass
class _Progress:
    """How far one iteration of an adaptive queue has come; tasks are kept by id."""

    remaining: dict[str, Task]
    state: dict[str, Any]
    in_flight: dict[str, Task] = field(default_factory=dict)
    finished: dict[str, tuple[Task, Mapping[str, Any]]] = field(default_factory=dict)
    stopped: bool = False


class AdaptiveTaskQueue(BaseTaskQueue, TraceableMixin):
    """Chooses each task in the light of the results so far.

    The runner takes a task whenever a worker is free, so that others may still be in flight, and
    reports each finished repetition to ``on_task_repeat_end``. An iteration hands out each task at
    most once. It is over when no task remains, when ``select_next_task`` returns None or after
    ``stop()``; it does not wait for results. Each iteration begins afresh, and all calls come
    from the runner's own thread. To look at the tasks without running them, use ``to_list()``.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        super().__init__(tasks)
        self._progress: _Progress | None = None

    @abstractmethod
    def initial_state(self) -> dict[str, Any]:
        """What is known before the first result."""

    @abstractmethod
    def select_next_task(self, remaining: Sequence[Task], state: dict[str, Any]) -> Task | None:
        """One of ``remaining``, the tasks not yet handed out; or None to end the iteration.

        The sequence is a copy, made for each selection.
        """

    @abstractmethod
    def update_state(
        self, task: Task, report: Mapping[str, Any], state: dict[str, Any]
    ) -> dict[str, Any]:
        """What is known after one more repetition of ``task``."""

    def stop(self) -> None:
        """End the current iteration; what is in flight still counts when it finishes."""
        self._current().stopped = True

    def __iter__(self) -> Iterator[Task]:
        return self._handed_out(self._begin())

    def _begin(self) -> _Progress:
        remaining: dict[str, Task] = {}
        for task in self._tasks:
            if str(task.id) in remaining:
                raise DuplicateTaskError(
                    f"two tasks have the id {task.id!r}; reports could not be told apart, "
                    "so give each task its own id"
                )
            remaining[str(task.id)] = task
        self._progress = _Progress(remaining, self.initial_state())
        return self._progress

    def _current(self) -> _Progress:
        return self._progress or self._begin()

    def _handed_out(self, progress: _Progress) -> Iterator[Task]:
        while progress.remaining and not progress.stopped:
            chosen = self.select_next_task(list(progress.remaining.values()), progress.state)
            if chosen is None:
                return
            if not isinstance(chosen, Task) or str(chosen.id) not in progress.remaining:
                raise HookResultError(
                    f"{type(self).__name__}.select_next_task returned {chosen!r}, which is not "
                    "among the remaining tasks; return one of `remaining`, or None to stop"
                )
            task = progress.remaining.pop(str(chosen.id))
            progress.in_flight[str(task.id)] = task
            yield task

    @property
    def remaining(self) -> list[Task]:
        """Tasks not handed out yet."""
        return list(self._progress.remaining.values()) if self._progress else self.to_list()

    @property
    def in_flight(self) -> list[Task]:
        """Tasks handed out of which no repetition has been reported yet."""
        return list(self._progress.in_flight.values()) if self._progress else []

    @property
    def completed(self) -> list[tuple[Task, Mapping[str, Any]]]:
        """Tasks with the first report that came in on each, in the order of those reports."""
        return list(self._progress.finished.values()) if self._progress else []

    @property
    def state(self) -> Mapping[str, Any]:
        """What the next selection will go by."""
        return MappingProxyType(self._progress.state if self._progress else self.initial_state())

    # The hooks of a benchmark callback; Benchmark itself lives above this module, hence Any.

    def on_run_start(self, benchmark: Any) -> None:
        """Nothing to learn yet."""

    def on_task_start(self, benchmark: Any, task: Task) -> None:
        """Nothing to learn yet."""

    def on_task_repeat_start(self, benchmark: Any, task: Task, repeat_idx: int) -> None:
        """Nothing to learn yet."""

    def on_task_repeat_end(self, benchmark: Any, report: Mapping[str, Any]) -> None:
        """Learn from one finished repetition; reports on other tasks are ignored."""
        progress = self._current()
        task_id = report["task_id"]
        task = progress.in_flight.pop(task_id, None) or progress.remaining.pop(task_id, None)
        if task is not None:
            progress.finished[task_id] = (task, report)
        if task_id not in progress.finished:
            return
        task, _ = progress.finished[task_id]
        state = self.update_state(task, report, progress.state)
        if not isinstance(state, dict):
            raise HookResultError(
                f"{type(self).__name__}.update_state returned {state!r}; "
                "return the new state as a dict"
            )
        progress.state = state

    def on_task_end(self, benchmark: Any, task: Task, result: Mapping[str, Any]) -> None:
        """Nothing to learn: each repetition was reported before."""

    def on_run_end(self, benchmark: Any, results: Sequence[Mapping[str, Any]]) -> None:
        """Nothing to learn: each repetition was reported before."""

    def on_event(self, event_name: str, **data: object) -> None:
        """Nothing to learn: each event has its own hook."""

    def _of(self, tasks: list[Task]) -> Self:
        other = super()._of(tasks)
        other._progress = None
        return other
