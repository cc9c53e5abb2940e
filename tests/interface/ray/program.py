"""A run on the cluster as a program of its own, for tests that kill it.

Usage: python -m tests.interface.ray.program FOLDER [ADDRESS [SECONDS]]

Each simulation takes so many seconds.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from maseval import register_model
from maseval.core.agent import AgentAdapter
from maseval.core.scripted import ScriptedModelAdapter
from maseval.core.task import Task
from maseval.interface.ray.engine import RayEngine
from maseval.runs import RunFolder, run_into
from tests.runs.worlds import AWKWARD_IDS, Desk, config, tasks

IDS = [*AWKWARD_IDS, *(f"task {number}" for number in range(13))]
TRIALS = 3


class SlowDesk(Desk):
    """Takes a moment for each answer, so that there are moments to be killed at."""

    seconds = 0.15

    def run_agents(
        self, agents: Sequence[AgentAdapter], task: Task, environment: Any, query: str
    ) -> Any:
        time.sleep(self.seconds)
        return super().run_agents(agents, task, environment, query)


def slow_desk(**settings: Any) -> Any:
    return SlowDesk(seed=7, **settings)


def run(path: Path, benchmark: Any, engine: Any) -> None:
    with RunFolder.open(path, config(*IDS, trials=TRIALS)) as folder:
        run_into(folder, benchmark, tasks(*IDS), engine=engine)


def main(path: str, address: str = "auto", seconds: str = "0.15") -> int:
    register_model("unused", ScriptedModelAdapter)
    # With so many kills even the innocent are near many deaths.
    benchmark = slow_desk(num_workers=6)
    benchmark.seconds = float(seconds)
    run(path, benchmark, RayEngine(address, processes=3, most_deaths=1000))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
