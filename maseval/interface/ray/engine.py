"""RayEngine: runs on all cores of this machine, or on a cluster."""

import logging
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from maseval.core.engine.dispatch import ProcessLostError
from maseval.core.engine.engines import Job, MappedBatch
from maseval.core.engine.parcel import pack, pack_for_worker, unpack
from maseval.core.engine.processes import usable_cores
from maseval.core.engine.remote_workers import Limits, RemoteEngine, RemoteWorkers
from maseval.core.engine.worker import Place, Worker
from maseval.core.engine.worker_setup import (
    CodeFacts,
    ModuleSource,
    check_code,
    install,
    own_modules,
)
from maseval.core.exceptions import ConfigurationError, WorkerDiedError
from maseval.interface.ray.connection import (
    LOCAL,
    Head,
    RayConnectionError,
    check_address,
    connect_ray,
    load_ray,
)

logger = logging.getLogger(__name__)

# Beside the one that waits: submits, and what is given up.
_CALLS_AT_ONCE = 8


class RayWorker(Worker):
    """A worker on a node of Ray."""

    def _place(self) -> Place:
        ray = load_ray()
        context, address = ray.get_runtime_context(), ray.util.get_node_ip_address()
        return super()._place()._replace(node_id=context.get_node_id(), address=address)


@contextmanager
def ray_carrier(
    address: str, processes: int | None, connection: ExitStack | None
) -> Iterator["RayCarrier"]:
    """Connect to Ray for one run; a ``connection`` that is given stays open after it."""
    with ExitStack() as own:
        keeping = own if connection is None else connection
        ray = keeping.enter_context(connect_ray(address, processes))
        head = Head.of(ray, address)
        try:
            yield RayCarrier(ray, head)
        finally:
            head.close()


class RayCarrier:
    """Starts worker processes on Ray; see ``Carrier``."""

    def __init__(self, ray: ModuleType, head: Head) -> None:
        self._ray = ray
        self._head = head
        self._started = Counter[str]()
        self.cores = int(ray.cluster_resources().get("CPU", 1))

    def start(self) -> Any:
        node = self._next_node()
        self._started[node] += 1
        strategies = import_module("ray.util.scheduling_strategies")
        actor = self._ray.remote(RayWorker).options(
            num_cpus=0,  # it waits for models most of the time
            max_restarts=0,
            max_concurrency=_CALLS_AT_ONCE,
            scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node, soft=False),
        )
        return actor.remote()

    def _next_node(self) -> str:
        """Return the node with the fewest processes for its cores; Ray itself may fill one node."""
        alive = [node for node in self._ray.nodes() if node["Alive"]]
        cores = {node["NodeID"]: node["Resources"].get("CPU", 0) for node in alive}
        usable = {node: number for node, number in cores.items() if number} or dict.fromkeys(
            cores, 1
        )
        return str(min(usable, key=lambda node: (self._started[node] / usable[node], node)))

    def share(self, value: object) -> Any:
        return self._ray.put(value)

    def call(self, process: Any, method: str, *args: object) -> Any:
        return getattr(process, method).remote(*args)

    def wait(self, calls: Sequence[Any], timeout: float) -> Sequence[Any]:
        self._head.check()
        number = 1 if timeout else len(calls)
        ready, _ = self._ray.wait(list(calls), num_returns=number, timeout=timeout)
        found: Sequence[Any] = ready
        return found

    def reply(self, call: Any, timeout: float | None = None) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(call, timeout=timeout)
        except errors.GetTimeoutError as error:
            raise TimeoutError from error
        except (errors.RayError, ConnectionError) as error:
            raise ProcessLostError(_in_a_line(error)) from error

    def kill(self, process: Any) -> None:
        if not self._head.is_lost:  # a call would wait for a head that is gone
            with suppress(Exception):  # the connection may be what is gone
                self._ray.kill(process, no_restart=True)

    def is_down(self, node_id: str) -> bool:
        nodes = {node["NodeID"]: node["Alive"] for node in self._ray.nodes()}
        return not nodes.get(node_id, False)


def _in_a_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reasons = [line for line in lines if "because" in line]
    return (reasons or lines or [type(error).__name__])[0]


Function = Callable[[Sequence[Any]], Any]

# Ray repeats a task whose process died so often.
_RETRIES = 2
_WAY_FOR_VALUES = "give values that consist of plain data"


class _TaskReply(NamedTuple):
    """The reply of a task; without a result, the function raised an exception."""

    place: str
    facts: CodeFacts
    result: bytes | None
    problem: str


def _apply(code: tuple[dict[str, ModuleSource], list[str]], work: bytes) -> _TaskReply:
    install(*code)
    ray = load_ray()
    result, problem = None, ""
    try:
        function, values = unpack(work)
        result = pack(function(values))
    except Exception as error:  # for the driver to decide
        problem = f"{type(error).__name__}: {error}"
    return _TaskReply(ray.util.get_node_ip_address(), CodeFacts.here(), result, problem)


class RayMap:
    """Applies one function to batches of values, ``at_once`` of them at a time."""

    def __init__(self, ray: ModuleType, function: Function, at_once: int) -> None:
        self._ray = ray
        self._function = function
        self._at_once = at_once
        self._code = ray.put((own_modules(), list(sys.path)))
        self._task = ray.remote(num_cpus=1, max_retries=_RETRIES, scheduling_strategy="SPREAD")(
            _apply
        )
        self._under_way: deque[tuple[Sequence[Any], Any]] = deque()

    def over(self, batches: Iterable[Sequence[Any]]) -> Iterator[MappedBatch[Any, Any]]:
        try:
            for batch in batches:
                self._under_way.append((batch, self._start(batch)))
                if len(self._under_way) >= self._at_once:
                    yield from self._next()
            while self._under_way:
                yield from self._next()
        finally:
            for _, reply in self._under_way:
                with suppress(Exception):  # the connection may be what is gone
                    self._ray.cancel(reply, force=True)

    def _start(self, batch: Sequence[Any]) -> Any:
        work = pack_for_worker("what is to be done", (self._function, batch), _WAY_FOR_VALUES)
        return self._task.remote(self._code, work)

    def _next(self) -> Iterator[MappedBatch[Any, Any]]:
        batch, reply = self._under_way[0]
        try:
            yield self._receive(batch, reply)
        except WorkerDiedError:
            if len(batch) == 1:
                raise
            for value in batch:
                yield self._receive([value], self._start([value]))
        self._under_way.popleft()

    def _receive(self, batch: Sequence[Any], reply: Any) -> MappedBatch[Any, Any]:
        errors = self._ray.exceptions
        try:
            answer: _TaskReply = self._ray.get(reply)
        except (errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError) as error:
            raise WorkerDiedError(
                f"the process that worked on {batch[0]!s} died {_RETRIES + 1} times; find out what "
                "kills it there: too little memory, or a library that crashes"
            ) from error
        except errors.RayError as error:
            raise RayConnectionError(
                f"the connection to Ray was lost ({type(error).__name__}); is the cluster up?"
            ) from error
        check_code(answer.place, answer.facts, CodeFacts.here())
        if answer.result is None:
            logger.info("on %s: %s", answer.place, answer.problem)
        result = None if answer.result is None else unpack(answer.result)
        return MappedBatch(batch, result, answer.place)


MOST_DEATHS = 3
# How long the start of the processes may take.
_START_SECONDS = 600.0


class RayEngine(RemoteEngine):
    """Repetitions in processes of Ray, each with many at once.

    As a context manager it stays connected from its first run to the end of the context; otherwise
    each run connects for itself.

    Args:
        address: ``local`` for a Ray of its own on this machine, ``auto`` for the cluster that this
            machine is part of, or ``ray://HOST:PORT``.
        processes: How many worker processes; by default one for each core.
        most_deaths: A repetition whose process died this often is given up.
        variables: Environment variables that workers need, beside keys and addresses of providers.
        force: Start as many processes as that, even if there are fewer cores.
    """

    def __init__(
        self,
        address: str = LOCAL,
        processes: int | None = None,
        *,
        most_deaths: int = MOST_DEATHS,
        variables: tuple[str, ...] = (),
        force: bool = False,
    ) -> None:
        check_address(address)
        for name, value in (("processes", processes), ("most_deaths", most_deaths)):
            if value is not None and value < 1:
                raise ConfigurationError(f"{name} is {value}; give at least 1")
        load_ray()  # raises if it is missing, before anything has begun
        self.address = address
        if processes is not None and address == LOCAL and not force:
            processes = min(processes, usable_cores())
        self.processes = processes
        self._limits = most_deaths, _START_SECONDS, variables, force
        self._connection: ExitStack | None = None
        self._entered = 0

    def workers(self, job: Job) -> RemoteWorkers:
        """Return the workers of one run."""
        limits = Limits(self.processes, *self._limits)
        way = partial(ray_carrier, self.address, self.processes, self._connection)
        self._workers = RemoteWorkers(job, limits, way)
        return self._workers

    def mapped(
        self, function: Function, batches: Iterable[Sequence[Any]]
    ) -> Iterator[MappedBatch[Any, Any]]:
        """Yield the results of a function of batches, in their order; see ``MappingEngine``."""
        with ExitStack() as own:
            connection = own if self._connection is None else self._connection
            ray = connection.enter_context(connect_ray(self.address, self.processes))
            # Two for each core, so that none waits for the next; a Ray of our own has no others.
            at_once = 2 * int(ray.cluster_resources().get("CPU", 1))
            if self.address != LOCAL and self.processes is not None:
                at_once = self.processes
            yield from RayMap(ray, function, at_once).over(batches)

    def __getstate__(self) -> dict[str, object]:
        # The options of a run hold it, and are sent to the workers with its benchmark.
        return {**vars(self), "_connection": None, "_entered": 0, "_workers": None}

    def __enter__(self) -> "RayEngine":
        # A command enters the engine that it is given, which its caller may have entered before.
        self._entered += 1
        self._connection = self._connection or ExitStack()
        return self

    def __exit__(self, *exception: object) -> None:
        self._entered -= 1
        if self._entered == 0 and self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()
