"""Repetitions on their way, and who is to blame when the process around them dies.

A process that dies takes all its simulations with it, and one of them may be the reason. They are
run again in quarantine: after one death with few others, after two alone. What kills its process
every time is then found out, and given up; the others are not harmed a third time.
"""

import math
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from maseval.core.engine.repetition import Repetition
from maseval.core.task.task import RepetitionKey

# A machine that goes down says nothing of what ran on it; but nobody is carried on for ever.
_MOST_MOVES = 10


@dataclass(eq=False)
class Flight:
    """One repetition that has been submitted, in whichever process it is."""

    number: int
    repetition: Repetition
    deaths: int = 0
    """How many processes died around it."""
    moves: int = 0
    """How many machines went down under it."""
    since: float | None = None
    """When it was begun where it is now; None while it waits for a process."""

    @property
    def key(self) -> RepetitionKey:
        """Which repetition it is."""
        return str(self.repetition.task.id), self.repetition.repeat_idx

    @property
    def crowd_of(self) -> int:
        """Zero for one without blame, else which quarantine it belongs to."""
        return min(self.deaths, 2)

    @property
    def is_late(self) -> bool:
        """Whether its time is over where it is now; it may have been begun again since."""
        limit = self.repetition.timeout
        if limit is None or self.since is None:
            return False
        return time.monotonic() - self.since >= limit

    def survived(self, *, machine_down: bool) -> None:
        """Its process died, and it must be begun again."""
        self.since = None
        if machine_down:
            self.moves += 1
        else:
            self.deaths += 1

    def is_hopeless(self, most_deaths: int) -> bool:
        """Whether it has been tried often enough."""
        return self.deaths >= most_deaths or self.moves >= _MOST_MOVES


@dataclass
class Backlog:
    """Flights that wait for a process, each kind in order."""

    room: int
    """How many a process holds, if none of them is suspected."""
    _waiting: tuple[deque[Flight], ...] = field(
        default_factory=lambda: (deque[Flight](), deque[Flight](), deque[Flight]())
    )

    def add(self, flight: Flight) -> None:
        """Have a flight wait."""
        self._waiting[flight.crowd_of].append(flight)

    @property
    def is_empty(self) -> bool:
        """Whether none waits."""
        return not any(self._waiting)

    @property
    def suspects(self) -> int:
        """How many wait for quarantine."""
        return len(self._waiting[1]) + len(self._waiting[2])

    def next_for(self, present: Mapping[int, Flight], *, quarantine: bool) -> Flight | None:
        """The next flight for a process in which these are; None if there is no room."""
        kinds = self._quarantined(present) if quarantine else [0]
        for kind in kinds:
            if self._waiting[kind] and len(present) < self._limit(kind):
                return self._waiting[kind].popleft()
        return None

    def _quarantined(self, present: Mapping[int, Flight]) -> list[int]:
        """Those with equal blame together, so that the next death tells more."""
        return [next(iter(present.values())).crowd_of] if present else [2, 1]

    def _limit(self, kind: int) -> int:
        return (self.room, max(1, math.isqrt(self.room)), 1)[kind]
