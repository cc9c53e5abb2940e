"""A small run to observe: what callbacks see of a benchmark, and its reports."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from maseval.core.callbacks import BenchmarkCallback
from maseval.core.task import BaseTaskQueue, SequentialTaskQueue, Task


@dataclass
class Rehearsal:
    """The part of a benchmark that callbacks look at, and a run that fires their hooks."""

    tasks: BaseTaskQueue
    n_task_repeats: int = 1
    machine: dict[str, Any] = field(default_factory=lambda: {"git": {"commit_hash": "c0ffee"}})

    def report(self, task_id: str, repeat_idx: int = 0, **parts: Any) -> Any:
        return {
            "task_id": task_id,
            "repeat_idx": repeat_idx,
            "status": "success",
            "error": None,
            "traces": {"agents": {"a": {"messages": [{"role": "user", "content": "hi"}]}}},
            "config": {"agents": {"a": {"type": "A"}}, "benchmark": self.machine},
            "usage": {"total": {"cost": 0.1}},
            "eval": [{"reward": 1.0}],
            "task": {"query": "hi", "metadata": {}, "protocol": {}},
            "final_answer": "done",
            "run_id": "run-1",
            "started_at": "2025-01-01T00:00:00",
            "duration_seconds": 1.5,
            "seed": 7,
            "attempts": [],
            **parts,
        }

    def run(self, *callbacks: BenchmarkCallback, leave_out: tuple[str, ...] = ()) -> list[Any]:
        reports = []
        for callback in callbacks:
            callback.on_run_start(self)
        for task in self.tasks:
            for repeat in range(self.n_task_repeats):
                if task.id in leave_out:
                    continue
                for callback in callbacks:
                    callback.on_task_repeat_start(self, task, repeat)
                reports.append(self.report(task.id, repeat))
                for callback in callbacks:
                    callback.on_task_repeat_end(self, reports[-1])
                if hasattr(self.tasks, "on_task_repeat_end"):
                    self.tasks.on_task_repeat_end(self, reports[-1])
        for callback in callbacks:
            callback.on_run_end(self, reports)
        return reports


@pytest.fixture
def rehearsal() -> Callable[..., Any]:
    def build(*task_ids: str, repeats: int = 1, queue: type[BaseTaskQueue] = SequentialTaskQueue):
        return Rehearsal(queue([Task(query="hi", id=each) for each in task_ids]), repeats)

    return build
