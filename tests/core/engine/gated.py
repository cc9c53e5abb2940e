"""A benchmark whose later simulations wait for a file, so that a run is caught in the middle."""

import os
from pathlib import Path

from examples.booking import BookingBenchmark, load_tasks
from maseval.core.environment import Environment
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.task.queues import SequentialTaskQueue
from maseval.core.tracing import JsonObject
from tests.waiting import wait_until

GATE = "MASEVAL_TEST_GATE"


def some() -> SequentialTaskQueue:
    """Five tasks."""
    return load_tasks()[:5]


class Gated(BookingBenchmark):
    """Bookings, of which the first are over at once."""

    def setup_environment(
        self, agent_data: JsonObject, task: Task, seed_generator: SeedGenerator
    ) -> Environment:
        if task.id not in {each.id for each in some()[:2]}:
            wait_until(Path(os.environ[GATE]).exists, "the gate")
        return super().setup_environment(agent_data, task, seed_generator)
