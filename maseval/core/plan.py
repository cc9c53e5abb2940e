"""The plan of a run: its tasks as a queue, their repetitions and their agent data."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from maseval.core.exceptions import AgentDataError, ConfigurationError, DuplicateTaskError
from maseval.core.task import BaseTaskQueue, SequentialTaskQueue, Task
from maseval.core.tracing import JsonObject

TasksToRun = Task | BaseTaskQueue | Iterable[Task | Mapping[str, object]]
AgentData = Mapping[str, object] | Iterable[Mapping[str, object]]


class SelectedRepetitions(BaseTaskQueue):
    """The tasks of another queue, in its order, each with the repetitions selected for its id.

    A task without any is not run. These replace the ``n_task_repeats`` of a run.
    """

    def __init__(self, queue: BaseTaskQueue, repetitions: Mapping[str, Sequence[int]]) -> None:
        super().__init__(queue.to_list())
        self._queue = queue
        self._repetitions = repetitions

    def __iter__(self) -> Iterator[Task]:
        return (task for task in self._queue if self.repetitions_of(task, 1))

    def repetitions_of(self, task: Task, repeats: int) -> Sequence[int]:
        """The repetitions selected for ``task``; ``repeats`` is ignored."""
        return self._repetitions.get(str(task.id), ())


def task_queue(tasks: TasksToRun) -> BaseTaskQueue:
    """The tasks as a queue, with unique ids."""
    match tasks:
        case Task():
            queue: BaseTaskQueue = SequentialTaskQueue([tasks])
        case BaseTaskQueue():
            queue = tasks
        case str() | Mapping():
            raise ConfigurationError(f"tasks is {tasks!r}; give a Task, a queue or a list of tasks")
        case Iterable():
            queue = SequentialTaskQueue.from_list(tasks)
        case _:
            raise ConfigurationError(f"tasks is {tasks!r}; give a Task, a queue or a list of tasks")
    _check_ids(queue)
    return queue


def _check_ids(queue: BaseTaskQueue) -> None:
    seen: set[str] = set()
    for task in queue.to_list():
        if str(task.id) in seen:
            raise DuplicateTaskError(
                f"two tasks have the id {str(task.id)!r}; their reports would be "
                "indistinguishable, so give each task its own id"
            )
        seen.add(str(task.id))


def lasting(agent_data: AgentData) -> AgentData:
    """The same data in a form that can be used for several runs."""
    return list(agent_data) if isinstance(agent_data, Iterator) else agent_data


def agent_data_for(queue: BaseTaskQueue, agent_data: AgentData) -> Callable[[Task], JsonObject]:
    """The agent data of each task: one dict for all tasks, or one per task of the queue."""
    if isinstance(agent_data, Mapping):
        data = agent_data if isinstance(agent_data, dict) else dict(agent_data)
        return lambda task: data
    entries = _entries(queue, agent_data)

    def data_of(task: Task) -> JsonObject:
        try:
            return entries[str(task.id)]
        except KeyError:
            raise AgentDataError(
                f"there is no agent data for task {str(task.id)!r}, which was not in the queue "
                "when the run began; give a single dict for all tasks"
            ) from None

    return data_of


def _entries(queue: BaseTaskQueue, agent_data: Iterable[object]) -> dict[str, JsonObject]:
    if not isinstance(agent_data, Iterable) or isinstance(agent_data, str):
        raise AgentDataError(f"`agent_data` is {agent_data!r}; give a dict, or one for each task")
    tasks, entries = queue.to_list(), list(agent_data)
    if len(entries) != len(tasks):
        raise AgentDataError(
            "`agent_data` must either be a single dict or an iterable matching the number of "
            f"tasks. There are {len(tasks)} tasks and {len(entries)} entries"
        )
    by_task: dict[str, JsonObject] = {}
    for task, entry in zip(tasks, entries, strict=True):
        if not isinstance(entry, Mapping):
            raise AgentDataError(f"`agent_data` holds {entry!r}; each entry must be a dict")
        by_task[str(task.id)] = entry if isinstance(entry, dict) else dict(entry)
    return by_task
