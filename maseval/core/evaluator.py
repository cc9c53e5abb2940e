"""Evaluator: was the task done?"""

from abc import ABC, abstractmethod
from typing import Any

from maseval.core.environment import Environment
from maseval.core.task import Task
from maseval.core.tracing import JsonObject
from maseval.core.user import User


class Evaluator(ABC):
    """Evaluates one finished repetition from its traces and the agent's final answer.

    An evaluator that cannot decide should raise: the report then says that the evaluation failed,
    instead of counting it against the agent. One that judges by the traces alone needs no
    environment (``Benchmark.evaluators_need_environment``).
    """

    environment: Any

    def __init__(
        self, task: Task, environment: Environment | None, user: User | None = None
    ) -> None:
        self.task = task
        self.environment = environment
        self.user = user

    def filter_traces(self, traces: JsonObject) -> JsonObject:
        """Return the part of the traces that this evaluator uses; all of them by default."""
        return traces

    @abstractmethod
    def __call__(self, traces: JsonObject, final_answer: Any = None) -> JsonObject:
        """Return the result, as JSON-friendly data."""
