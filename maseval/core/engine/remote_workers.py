"""The common part of engines whose workers are other processes.

A process that dies takes all its repetitions with it, and one of them may be the reason. They run
again, in the end each in a process of its own: one that kills its process every time is found this
way and given up, and the others are not harmed by it.
"""

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from maseval.core.engine.engines import Finished, Job, WorkerEvent
from maseval.core.engine.parcel import WorkerExceptionError, WorkResult, unpack
from maseval.core.engine.repetition import Repetition
from maseval.core.engine.worker import Place
from maseval.core.exceptions import ConfigurationError, MASEvalError, WorkerDiedError

LOOK_SECONDS = 0.5
"""Between two looks at whether the run is stopping."""


class RemoteEngine:
    """The processes of an engine: how many there may be, and those that wait for the next run."""

    def __init__(self, processes: int | None, *, force: bool) -> None:
        if processes is not None and processes < 1:
            raise ConfigurationError(f"processes is {processes}; give at least 1")
        self.processes, self.force = processes, force
        self.kept: list[Any] = []

    def most_processes(self, cores: int) -> int:
        wanted = self.processes or cores
        return wanted if self.force else min(wanted, cores)


@dataclass(eq=False)
class Assignment:
    """One repetition that has been submitted, and the number of processes that died around it."""

    repetition: Repetition
    number: int = field(default_factory=count(1).__next__)
    deaths: int = 0


class RemoteWorkers(ABC):
    """Up to ``size`` repetitions in several processes; how to reach these is the engine's."""

    def __init__(self, job: Job) -> None:
        self.size = job.size
        self.job = job
        self.finished: deque[Finished] = deque()
        self.waiting: deque[Assignment] = deque()
        self.has_begun = False
        self._said_stop = False

    def share(self, processes: int) -> tuple[int, int]:
        """Return how many of so many processes the run needs, and how much each does at once."""
        together = min(self.size, self.job.repetitions)
        number = max(1, min(processes, together))
        return number, math.ceil(together / number)

    @abstractmethod
    def begin(self) -> None:
        """Start the processes of the run."""

    @abstractmethod
    def give(self, process: Any, assignment: Assignment) -> None:
        """Let a process work on it."""

    def submit(self, repetition: Repetition) -> None:
        if not self.has_begun:  # a run that is complete needs no process
            self.begin()
            self.has_begun = True
        self.waiting.append(Assignment(repetition))

    def hand_out(self, processes: Iterable[Any], room: int) -> None:
        """Give what waits to those of the processes that are there and have least to do."""
        ready = [process for process in processes if process.is_ready]
        while self.waiting and ready:
            # Evenly, so that a run of few repetitions uses all processes.
            process = min(ready, key=lambda worker: worker.working)
            if process.working >= room:
                break
            self.give(process, self.waiting.popleft())

    @abstractmethod
    def attend(self) -> None:
        """See to what has come from the processes."""

    @abstractmethod
    def stop(self) -> None:
        """Tell all processes that the run is stopping."""

    def take(self) -> Finished | None:
        # Seen here and not by a callback: a run may be stopped from any thread.
        if not self._said_stop and self.job.setting.stopping():
            self._said_stop = True
            self.stop()
        if not self.finished:
            self.attend()
        return self.finished.popleft() if self.finished else None

    def receive(self, repetition: Repetition, data: bytes) -> None:
        """Take what a worker's ``run`` has returned."""
        result: WorkResult | str = unpack(data)
        if isinstance(result, str):
            self._end(repetition, WorkerExceptionError(result))
        else:
            self.finished.append((repetition, result.to_result(repetition)))

    def abandon(self, repetition: Repetition, deaths: int, node: str, why: str) -> None:
        """Give up a repetition whose process died so often, as it is to blame."""
        name = f"task {str(repetition.task.id)!r}, repetition {repetition.repeat_idx}"
        self.note("given_up", node, f"gave up on {name}: its process died {deaths} times")
        error = WorkerDiedError(
            f"the process in which it took place died {deaths} times, the last time on {node}: "
            f"{why}. Find out what kills the process there: too little memory, or a library that "
            "crashes"
        )
        self._end(repetition, error)

    def _end(self, repetition: Repetition, error: MASEvalError) -> None:
        # What it used is not known: it was counted in another process, which did not send it.
        repetition.context.registry.close()
        self.finished.append((repetition, repetition.outcome(error, "setup")))

    def note(self, kind: Literal["started", "died", "given_up"], node: str, text: str) -> None:
        self.job.note(WorkerEvent(kind, node, text))

    def note_started(self, place: Place) -> None:
        self.note("started", place.node, f"{place} started")
