"""RunProgress: how far a run is, for whoever draws it."""

import threading
import time
from collections.abc import Mapping
from datetime import datetime

from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.commands.moments import Running, Snapshot
from maseval.commands.results import SimulationLine
from maseval.runs import Simulation
from maseval.runs.log import RETRIED
from maseval.stats.estimate import Estimate
from maseval.stats.intervals import wilson


class RunProgress:
    """Keeps count while a run goes on; ``snapshot`` may be asked from any thread."""

    def __init__(self, planned: int, time_limit: float | None = None) -> None:
        self.planned = planned
        self.time_limit = time_limit
        self.stopping: str | None = None
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._lines: dict[Simulation, SimulationLine] = {}
        self._finished = 0
        self._cost = 0.0
        self._tokens = 0
        self._running: dict[Simulation, float] = {}
        self._worlds: Mapping[tuple[str, int], Tau2Environment] = {}

    def watch(self, worlds: Mapping[tuple[str, int], Tau2Environment]) -> None:
        """Where the running simulations' environments are found."""
        self._worlds = worlds

    def recall(self, line: SimulationLine) -> None:
        """Count what an earlier session finished."""
        with self._lock:
            self._count(line)

    def started(self, simulation: Simulation) -> None:
        """A simulation is under way."""
        with self._lock:
            self._running[simulation] = time.monotonic()

    def finished(self, line: SimulationLine) -> None:
        """A simulation is over."""
        with self._lock:
            self._running.pop(Simulation(line.domain, line.task_id, line.trial), None)
            self._finished += 1
            self._count(line)

    def _count(self, line: SimulationLine) -> None:
        # What a simulation that is run again cost before was spent all the same.
        self._lines[Simulation(line.domain, line.task_id, line.trial)] = line
        self._cost += line.cost
        self._tokens += line.tokens

    @property
    def ran(self) -> int:
        """How many simulations are over that were begun here."""
        return self._finished

    @property
    def cost(self) -> float:
        """Money used so far."""
        return self._cost

    @property
    def tokens(self) -> int:
        """Tokens used so far."""
        return self._tokens

    def snapshot(self) -> Snapshot:
        """The run as it is now."""
        moment = time.monotonic()
        with self._lock:
            lines, running = list(self._lines.values()), dict(self._running)
        failed = sum(line.status in RETRIED for line in lines)
        passed = sum(line.outcome == "pass" for line in lines)
        return Snapshot(
            planned=self.planned,
            done=len(lines) - failed,
            failed=failed,
            passed=passed,
            running=sorted(
                (self._look_at(one, since, moment) for one, since in running.items()),
                key=lambda each: -each.seconds,
            ),
            pass_1=_share(passed, len(lines)) if lines else None,
            cost=self._cost,
            tokens=self._tokens,
            elapsed=moment - self._began,
            left=self._left(moment, len(lines)),
            stopping=self.stopping,
            time_limit=self.time_limit,
        )

    def _left(self, moment: float, recorded: int) -> float | None:
        if not self._finished:
            return None
        return (moment - self._began) / self._finished * (self.planned - recorded)

    def _look_at(self, simulation: Simulation, since: float, moment: float) -> Running:
        world = self._worlds.get((simulation.task_id, simulation.trial))
        if world is None:
            return Running(simulation, moment - since, "set-up", moment - since)
        return Running(simulation, moment - since, *_turn(world))


def _share(passed: int, total: int) -> Estimate:
    return Estimate("pass^k", 1, passed / total, wilson(passed, total))


def _turn(world: Tau2Environment) -> tuple[str, float]:
    """Whose turn it is, and for how long, from the last message of the conversation."""
    trajectory = world.trajectory
    if not trajectory.messages:
        return "agent", _seconds_since(trajectory.start_time)
    last = trajectory.messages[-1]
    seconds = _seconds_since(last["timestamp"])
    if trajectory.termination_reason is not None:
        return "evaluation", seconds
    if last.get("tool_calls"):
        return "tools", seconds
    # A tool's answer goes to the side that asked, a text to the other side.
    if last["role"] == "tool":
        return ("user" if last.get("requestor") == "user" else "agent"), seconds
    return ("agent" if last["role"] == "user" else "user"), seconds


def _seconds_since(timestamp: str) -> float:
    return max(0.0, (datetime.now() - datetime.fromisoformat(timestamp)).total_seconds())
