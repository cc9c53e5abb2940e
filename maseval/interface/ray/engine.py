"""RayEngine: runs on all cores of this machine, or on a cluster."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from maseval.core.engine.engines import Job, MappedBatch
from maseval.core.exceptions import ConfigurationError
from maseval.interface.ray.connection import LOCAL, check_address, connected, load_ray
from maseval.interface.ray.mapping import Function, RayMap
from maseval.interface.ray.workers import Limits, RayWorkers

MOST_DEATHS = 3
START_SECONDS = 600.0


class RayEngine:
    """Repetitions in processes of Ray, each with many at once.

    As a context manager it stays connected from its first run to the end of the context; otherwise
    each run connects for itself.

    Args:
        address: ``local`` for a Ray of its own on this machine, ``auto`` for the cluster that this
            machine is part of, or ``ray://HOST:PORT``.
        processes: How many worker processes; by default one for each core.
        most_deaths: A repetition whose process died this often is given up.
        start_seconds: How long the start of the processes may take.
        variables: Environment variables that workers need, beside keys and addresses of providers.
    """

    def __init__(
        self,
        address: str = LOCAL,
        processes: int | None = None,
        *,
        most_deaths: int = MOST_DEATHS,
        start_seconds: float = START_SECONDS,
        variables: tuple[str, ...] = (),
    ) -> None:
        check_address(address)
        for name, value in (("processes", processes), ("most_deaths", most_deaths)):
            if value is not None and value < 1:
                raise ConfigurationError(f"{name} is {value}; give at least 1")
        load_ray()  # raises if it is missing, before anything has begun
        self.address = address
        self.processes = processes
        self._limits = most_deaths, start_seconds, variables
        self._connection: ExitStack | None = None
        self._workers: RayWorkers | None = None

    def workers(self, job: Job) -> RayWorkers:
        """The workers of one run."""
        limits = Limits(self.processes, *self._limits)
        self._workers = RayWorkers(job, self.address, limits, self._connection)
        return self._workers

    def mapped(
        self, function: Function, batches: Iterable[Sequence[Any]]
    ) -> Iterator[MappedBatch[Any, Any]]:
        """The results of a function of batches, in their order; see ``MappingEngine``."""
        with ExitStack() as own:
            connection = own if self._connection is None else self._connection
            ray = connection.enter_context(connected(self.address, self.processes))
            # Two for each core, so that none waits for the next; a Ray of our own has no others.
            at_once = 2 * int(ray.cluster_resources().get("CPU", 1))
            if self.address != LOCAL and self.processes is not None:
                at_once = self.processes
            yield from RayMap(ray, function, at_once).over(batches)

    @property
    def in_flight(self) -> dict[str, int]:
        """How many repetitions each node has now."""
        return self._workers.in_flight if self._workers else {}

    @property
    def finished_by_node(self) -> dict[str, int]:
        """How many repetitions of the last run each node finished."""
        return dict(self._workers.finished_by_node) if self._workers else {}

    def __getstate__(self) -> dict[str, object]:
        # The options of a run hold it, and are sent to the workers with its benchmark.
        return {**vars(self), "_connection": None, "_workers": None}

    def __enter__(self) -> "RayEngine":
        self._connection = ExitStack()
        return self

    def __exit__(self, *exception: object) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
