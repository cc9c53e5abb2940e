"""Engines: where the repetitions of a run take place.

The default is threads of this process. Installed packages offer others by an entry point in the
group ``maseval.engines``; what one must do is ``Engine``.
"""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Literal, Protocol, runtime_checkable

from maseval.core.engine.repetition import RunSetting
from maseval.core.engine.workers import CallingThread, RunRepetition, Threads, Workers
from maseval.core.exceptions import ConfigurationError
from maseval.core.tracing import now

GROUP = "maseval.engines"
DEFAULT = "threads"


@dataclass(frozen=True)
class WorkerEvent:
    """What became of a worker outside this process, in a sentence."""

    kind: Literal["started", "died", "refused", "given_up"]
    node: str
    """The machine it is on."""
    text: str
    at: str = field(default_factory=now)


@dataclass(frozen=True)
class Job:
    """A run that needs workers."""

    setting: RunSetting
    """What all its repetitions share."""
    size: int
    """How many repetitions may take place at once."""
    timed: bool
    """Whether any of them has a deadline: it can then be given up while it runs."""
    domains: frozenset[str]
    """The domains of its tasks; empty for a benchmark that has none."""
    run: RunRepetition
    """Runs a repetition in this process, in the thread that calls it."""
    note: Callable[[WorkerEvent], None] = lambda event: None
    """Tells the callbacks what became of a worker; only for the thread that runs the benchmark."""


@runtime_checkable
class Engine(Protocol):
    """Where repetitions take place; one engine may serve many runs, one after the other."""

    def workers(self, job: Job) -> Workers:
        """The workers of one run; raises if it cannot be run here."""


@runtime_checkable
class SeveralNodes(Protocol):
    """What an engine may offer in addition, for whoever watches a run."""

    @property
    def in_flight(self) -> Mapping[str, int]:
        """How many repetitions each machine has now; asked from any thread."""

    @property
    def finished_by_node(self) -> Mapping[str, int]:
        """How many repetitions of the current run, or of the last one, each machine finished."""


class ThreadEngine:
    """Threads of this process; one repetition at a time needs none."""

    def workers(self, job: Job) -> Workers:
        # A repetition that hangs can only be abandoned from another thread.
        if job.size == 1 and not job.timed:
            return CallingThread(job.run)
        return Threads(job.run, job.size)


AnyEngine = str | Engine
"""An engine, or the name of one."""


def engine_of(engine: AnyEngine, **options: object) -> Engine:
    """The engine itself; one that is named is made with the options."""
    made = _made(engine, **options) if isinstance(engine, str) else engine
    if not isinstance(made, Engine):
        raise ConfigurationError(
            f"engine is {made!r}; give the name of an engine, or an object with workers(job)"
        )
    return made


def _made(name: str, **options: object) -> object:
    known = _known()
    if name not in known:
        alike = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {alike[0]!r}? " if alike else ""
        raise ConfigurationError(
            f"engine is {name!r}; {hint}known engines: {', '.join(sorted(known))}. Install a "
            f"package that has an entry point of this name in the group {GROUP!r}"
        )
    make: Callable[..., object] = known[name].load()
    return make(**options)


def _known() -> dict[str, EntryPoint]:
    here = EntryPoint(DEFAULT, f"{__name__}:{ThreadEngine.__name__}", GROUP)
    return {**{found.name: found for found in entry_points(group=GROUP)}, DEFAULT: here}
