"""Tasks that differ in their number, and a queue that adapts as little as it can."""

from maseval.core.task import AdaptiveTaskQueue, Task, TaskProtocol


def task(id, priority=0):
    return Task(f"do {id}", id=str(id), protocol=TaskProtocol(priority=priority))


def tasks(count):
    return [task(n) for n in range(count)]


def ids(some_tasks):
    return [each.id for each in some_tasks]


class InOrder(AdaptiveTaskQueue):
    """Takes the first task that remains, and counts reports."""

    def initial_state(self):
        return {"reports": 0}

    def select_next_task(self, remaining, state):
        return remaining[0]

    def update_state(self, task, report, state):
        return {"reports": state["reports"] + 1}
