"""Tasks that differ in their number, and a queue that adapts as little as it can."""

from collections.abc import Sequence
from typing import Any

from maseval.core.task import AdaptiveTaskQueue, Task, TaskProtocol


def task(id: int | str, priority: int = 0) -> Task:
    return Task(f"do {id}", id=str(id), protocol=TaskProtocol(priority=priority))


def tasks(count: int) -> list[Task]:
    return [task(n) for n in range(count)]


def ids(some_tasks: Any) -> list[str]:
    return [each.id for each in some_tasks]


class InOrder(AdaptiveTaskQueue):
    """Takes the first task that remains, and counts reports."""

    def initial_state(self) -> dict[str, object]:
        return {"reports": 0}

    def select_next_task(self, remaining: Sequence[Task], state: dict[str, object]) -> Task | None:
        return remaining[0]

    def update_state(self, task: Task, report: Any, state: dict[str, Any]) -> dict[str, Any]:
        return {"reports": state["reports"] + 1}
