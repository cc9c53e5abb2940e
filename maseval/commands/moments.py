"""A run at one moment, for whoever shows it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from maseval.runs import Simulation
from maseval.stats.estimate import Estimate


class Running(NamedTuple):
    """A simulation that is under way: since when, for whom it waits, and how long already."""

    simulation: Simulation
    seconds: float
    waits_for: str
    waiting: float


@dataclass(frozen=True)
class Snapshot:
    """The state of a run; counts include what earlier sessions finished.

    ``running`` begins with the slowest. ``left`` is how many seconds the rest will take at this
    rate, and ``stopping`` why nothing more is started.
    """

    planned: int
    done: int
    failed: int
    passed: int
    running: list[Running]
    pass_1: Estimate | None
    cost: float
    tokens: int
    elapsed: float
    left: float | None
    stopping: str | None
    time_limit: float | None

    @property
    def grace(self) -> float | None:
        """At most how long the running simulations can still take."""
        if self.time_limit is None or not self.running:
            return None
        return max(0.0, self.time_limit - self.running[-1].seconds)


class Progress(Protocol):
    """Something that knows how far a run is; may be asked from any thread."""

    def snapshot(self) -> Snapshot: ...


Display = Callable[[Progress], AbstractContextManager[object]]
"""Shows a run for as long as the context is open."""
