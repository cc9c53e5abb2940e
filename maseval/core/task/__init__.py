"""Tasks, the protocol each is run by, and the queues that order them."""

from maseval.core.task.adaptive import AdaptiveTaskQueue
from maseval.core.task.queues import (
    BaseTaskQueue,
    PriorityTaskQueue,
    SequentialTaskQueue,
    TaskQueue,
)
from maseval.core.task.task import FrozenDict, Task, TaskProtocol, TimeoutAction

__all__ = [
    "AdaptiveTaskQueue",
    "BaseTaskQueue",
    "FrozenDict",
    "PriorityTaskQueue",
    "SequentialTaskQueue",
    "Task",
    "TaskProtocol",
    "TaskQueue",
    "TimeoutAction",
]
