"""RayEngine: runs on all cores of this machine, or on a cluster that is there already."""

import gc
import logging
import os
import signal
import socket
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

from maseval.core.engine.dispatch import ProcessLostError
from maseval.core.engine.engines import Job
from maseval.core.engine.parcel import pack_by_value
from maseval.core.engine.process import signal_handlers
from maseval.core.engine.processes import usable_cores
from maseval.core.engine.remote_workers import Limits, RemoteWorkers
from maseval.core.engine.worker import Place, Worker
from maseval.core.exceptions import ConfigurationError, MASEvalError, RunStoppedError
from maseval.interface.extras import load

logger = logging.getLogger(__name__)

_AUTHENTICATION = "RAY_AUTH_MODE"
LOCAL, AUTO, CLIENT = "local", "auto", "ray://"
NAMESPACE = "maseval"

# What a Ray of our own sets aside for large objects; a report has some 100 kB.
_OBJECT_STORE = 200_000_000
# Of a Ray of our own. Its workers would give way to every other program, and what is sent would
# take a detour of half a millisecond through its store above 100 kB.
_OWN_SETTINGS = {"worker_niceness": 0, "max_direct_call_object_size": 10_000_000}
# On a busy machine Ray may not be up within the 30 s that it gives itself.
_STARTS = 5
# A unix socket's path has at most 107 characters, of which Ray's own names take about 65.
_LONGEST_FOLDER = 40


class RayConnectionError(MASEvalError, ConnectionError):
    """There is no Ray at the address, or it cannot be started here."""


def load_ray() -> ModuleType:
    """Import Ray; raise if it is not installed."""
    # Ray would ask, once per machine, whether it may send home what it is used for.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = load("ray", extra="ray")
    pack_by_value(ray.cloudpickle)
    return ray


def check_address(address: str) -> None:
    """Raise unless it is an address that ``connect_ray`` understands."""
    if address not in (LOCAL, AUTO) and not address.startswith(CLIENT):
        raise ConfigurationError(
            f"the address of Ray is {address!r}; give 'local' for this machine, 'auto' for the "
            "cluster that this machine is part of, or ray://HOST:PORT"
        )


@contextmanager
def connect_ray(address: str = LOCAL, processes: int | None = None) -> Iterator[ModuleType]:
    """Connect to Ray for as long as the context is open.

    A program that is connected already stays so, and its connection is used whatever the address.
    """
    ray = load_ray()
    check_address(address)
    if ray.is_initialized():
        yield ray
        return
    with _silence(ray), _restore_authentication(ray):
        # Ray handles SIGTERM in its own way, which would cut off how a run is stopped.
        with signal_handlers({signal.SIGTERM: signal.getsignal(signal.SIGTERM) or 0}):
            _init_ray(ray, address, processes)
        try:
            yield ray
        finally:
            # A handle that outlives its connection would end an actor of the next one: a Ray that
            # is started anew numbers its actors as the one before did.
            gc.collect()
            ray.shutdown()


class Head:
    """The head of a cluster; a thread looks whether it is there, and ``check`` raises if it is not.

    Ray itself would wait for a minute and then end this process from within, without a word of what
    was recorded. A head that is started anew is given half of that. Where a call of Ray waits for
    the head, so that nobody can check, the thread itself says what happened.
    """

    def __init__(self, place: tuple[str, int], between: float = 5.0, patience: float = 30.0):
        self.is_lost = False
        self._place, self._between, self._patience = place, between, patience
        self._closed = threading.Event()
        threading.Thread(target=self._watch, daemon=True, name="maseval-ray-head").start()

    @classmethod
    def of(cls, ray: ModuleType, address: str) -> "Head":
        """Return the head that ``ray`` is connected to, by a client if the address is one's."""
        is_client = address.startswith(CLIENT)
        own = ray.get_runtime_context().gcs_address if not is_client else address[len(CLIENT) :]
        host, _, port = own.rpartition(":")
        return cls((host.strip("[]"), int(port)))

    def check(self) -> None:
        """Raise ``RunStoppedError`` if nothing has listened at the address for half a minute."""
        if self.is_lost:
            raise RunStoppedError(self._sentence)

    def close(self) -> None:
        self._closed.set()

    def _watch(self) -> None:
        answered = time.monotonic()
        while not self.is_lost and not self._closed.wait(self._between):
            try:
                socket.create_connection(self._place, self._between).close()
                answered = time.monotonic()
            except OSError:
                self.is_lost = time.monotonic() - answered >= self._patience
        if self.is_lost and not self._closed.wait(2 * self._between):
            logger.error(self._sentence)

    @property
    def _sentence(self) -> str:
        return (
            f"the connection to the head of the Ray cluster at {self._place[0]} was lost: nothing "
            f"answers there for {self._patience:g} s; what was finished is recorded. Start the "
            "cluster, and run the same command again to resume"
        )


@contextmanager
def _restore_authentication(ray: ModuleType) -> Iterator[None]:
    # A Ray of our own asks for a token. Asked of the next cluster, it would end every worker
    # process at once: the head of that cluster is not let in to look after them.
    before = os.environ.get(_AUTHENTICATION)
    try:
        yield
    finally:
        if os.environ.get(_AUTHENTICATION) != before:
            os.environ.pop(_AUTHENTICATION, None)
            if before is not None:
                os.environ[_AUTHENTICATION] = before
            inside = ray._raylet
            inside.Config.initialize("")  # it reads the variables anew
            inside.AuthenticationTokenLoader.instance().reset_cache()


def _init_ray(ray: ModuleType, address: str, processes: int | None) -> None:
    for left in reversed(range(_STARTS)):
        try:
            ray.init(**_options(address, processes))
            return
        except Exception as error:  # of many libraries below Ray
            ray.shutdown()
            # Our own Ray, or a cluster's server for clients, may only have taken too long.
            may_be_slow = address == LOCAL or isinstance(error, ConnectionAbortedError)
            if not left or not may_be_slow:
                raise RayConnectionError(_failure(address, error)) from error


@contextmanager
def _silence(ray: ModuleType) -> Iterator[None]:
    """Keep Ray's messages in its own logs.

    Of every process that dies it would print a traceback on standard output, where results belong.
    """
    logger, inside = logging.getLogger("ray"), ray._private.worker
    before = logger.level, getattr(inside, "print_to_stdstream", None)
    logger.setLevel(logging.ERROR)
    inside.print_to_stdstream = lambda *args, **kwargs: None
    try:
        yield
    finally:
        logger.setLevel(before[0])
        inside.print_to_stdstream = before[1]


def _options(address: str, processes: int | None) -> dict[str, Any]:
    quiet = {"log_to_driver": False, "configure_logging": False, "namespace": NAMESPACE}
    if address != LOCAL:
        return {"address": address, **quiet}
    return {
        "address": "local",
        "num_cpus": processes,
        "include_dashboard": False,
        "object_store_memory": _OBJECT_STORE,
        "_system_config": _OWN_SETTINGS,
        **_folder(),
        **quiet,
    }


def _folder() -> dict[str, str]:
    # The folder of temporary files may be too long for Ray's sockets.
    usual = os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()
    return {} if len(usual) <= _LONGEST_FOLDER else {"_temp_dir": "/tmp/ray"}


_TOKEN_WAY = (
    "give this machine the token of the head (`ray get-auth-token` prints it there) in "
    "~/.ray/auth_token, or in the file that RAY_AUTH_TOKEN_PATH names, and set RAY_AUTH_MODE=token"
)


def _failure(address: str, error: Exception) -> str:
    why = _first_line(error)
    if type(error).__name__ == "AuthenticationError":
        return f"Ray authenticates by token, and the token here is missing or wrong: {_TOKEN_WAY}"
    if address == LOCAL:
        return f"Ray cannot be started on this machine: {why}"
    if address == AUTO and "Failed to connect" in why:
        return f"the Ray cluster does not let this machine in, or is down ({why}); {_TOKEN_WAY}"
    if address == AUTO:
        return (
            "this machine is not part of a Ray cluster; start one with `ray start --head`, or give "
            f"ray://HOST:PORT: {why}"
        )
    return (
        f"no Ray cluster answers at {address}; is the port that of its client server (10001)? If "
        f"the cluster authenticates by token, {_TOKEN_WAY}: {why}"
    )


def _first_line(error: Exception) -> str:
    # A server's own error is the last line of its traceback.
    lines = [line for line in str(error).splitlines() if line.strip()] or [""]
    return f"{type(error).__name__}: {lines[-1 if 'Traceback' in str(error) else 0]}"


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


MOST_DEATHS = 3
# How long the start of the processes may take.
_START_SECONDS = 600.0


class RayEngine:
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
        self._workers: RemoteWorkers | None = None

    def workers(self, job: Job) -> RemoteWorkers:
        """Return the workers of one run."""
        limits = Limits(self.processes, *self._limits)
        way = partial(ray_carrier, self.address, self.processes, self._connection)
        self._workers = RemoteWorkers(job, limits, way)
        return self._workers

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
