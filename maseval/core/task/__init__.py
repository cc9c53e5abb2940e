"""Tasks, the protocol each is run by, and the queues that order them."""

from maseval.core.task.adaptive import AdaptiveTaskQueue
from maseval.core.task.queues import (
    BaseTaskQueue,
    ChosenSubset,
    PriorityTaskQueue,
    SequentialTaskQueue,
    TaskQueue,
)
from maseval.core.task.subset import DISCOQueue, InformativeSubsetQueue
from maseval.core.task.task import FrozenDict, Task, TaskProtocol, TimeoutAction

__all__ = [
    "AdaptiveTaskQueue",
    "BaseTaskQueue",
    "ChosenSubset",
    "DISCOQueue",
    "FrozenDict",
    "InformativeSubsetQueue",
    "PriorityTaskQueue",
    "SequentialTaskQueue",
    "Task",
    "TaskProtocol",
    "TaskQueue",
    "TimeoutAction",
]
