"""Tasks, the protocol each is run by, and the queues that order them."""

from maseval.core.task.adaptive import AdaptiveTaskQueue as AdaptiveTaskQueue
from maseval.core.task.queues import BaseTaskQueue as BaseTaskQueue
from maseval.core.task.queues import ChosenSubset as ChosenSubset
from maseval.core.task.queues import DISCOQueue as DISCOQueue
from maseval.core.task.queues import InformativeSubsetQueue as InformativeSubsetQueue
from maseval.core.task.queues import PriorityTaskQueue as PriorityTaskQueue
from maseval.core.task.queues import SequentialTaskQueue as SequentialTaskQueue
from maseval.core.task.queues import TaskQueue as TaskQueue
from maseval.core.task.task import FrozenDict as FrozenDict
from maseval.core.task.task import Task as Task
from maseval.core.task.task import TaskProtocol as TaskProtocol
from maseval.core.task.task import TimeoutAction as TimeoutAction
