"""The connection to Ray: one of our own on this machine, or a cluster that is there already."""

import gc
import logging
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import maseval
from maseval.core.engine.engines import WorkersUnavailableError
from maseval.core.engine.own_modules import copy_modules
from maseval.core.engine.parcel import pack_by_value
from maseval.core.engine.process_settings import signal_handlers
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
# Between two looks at whether the head is still there while Ray connects to it.
_LOOK_SECONDS = 0.5
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
def connect_ray(
    address: str, processes: int | None, modules: Mapping[str, str]
) -> Iterator["Connection"]:
    """Connect to Ray for as long as the context is open, and send modules to its machines.

    A program that is connected already stays so, and its connection is used whatever the address.
    """
    ray = load_ray()
    check_address(address)
    if ray.is_initialized():
        with Head(_head_of(ray, address)) as head:
            yield Connection(ray, head, modules)
        return
    with _silence(ray), _restore_authentication(ray):
        with _environment(address, modules) as environment:
            _init_ray(ray, address, {**_options(address, processes), **environment})
        try:
            with Head(_head_of(ray, address)) as head:
                yield Connection(ray, head, modules)
        finally:
            # A handle that outlives its connection would end an actor of the next one: a Ray that
            # is started anew numbers its actors as the one before did.
            gc.collect()
            ray.shutdown()


@contextmanager
def _environment(address: str, modules: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Return the environment that other machines need: this maseval, and the modules."""
    if address == LOCAL:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="maseval-") as folder:
        copy_modules(modules, Path(folder))
        home = str(Path(str(maseval.__file__)).parent)
        yield {"runtime_env": {"working_dir": folder, "py_modules": [home]}}


class Connection(NamedTuple):
    """Ray, its head, and the modules that were sent to its machines."""

    ray: ModuleType
    head: "Head"
    modules: Mapping[str, str]

    def has(self, modules: Mapping[str, str]) -> bool:
        return modules.items() <= self.modules.items()

    @contextmanager
    def reached(self) -> Iterator[None]:
        """Say what happened where a client has lost its connection."""
        try:
            yield
        except ConnectionError as error:
            raise self.head.lost() from error

    def raise_unless_death(self, error: BaseException) -> None:
        """Raise what ended a call, unless it is that its process died."""
        errors, cause = self.ray.exceptions, getattr(error, "cause", None)
        if isinstance(error, ConnectionError) or isinstance(cause, MASEvalError):
            raise cause or error
        if isinstance(error, (errors.RayTaskError, errors.RuntimeEnvSetupError)):
            raise WorkersUnavailableError(f"workers cannot start: {_first_line(error)}") from error


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

    def check(self) -> None:
        """Raise ``RunStoppedError`` if nothing has listened at the address for half a minute."""
        if self.is_lost:
            raise self.lost()

    def lost(self) -> RunStoppedError:
        return RunStoppedError(self._sentence)

    def __enter__(self) -> "Head":
        return self

    def __exit__(self, *error: object) -> None:
        self._closed.set()

    def _watch(self) -> None:
        answered = time.monotonic()
        while not self.is_lost and not self._closed.wait(self._between):
            try:
                socket.create_connection(self._place, self._between).close()
                answered = time.monotonic()
            except OSError:
                self.is_lost = time.monotonic() - answered >= self._patience
        # Whoever can check has said it by now; otherwise they wait within Ray.
        if self.is_lost and not self._closed.wait(2 * self._between):
            logger.error(self._sentence)

    @property
    def _sentence(self) -> str:
        return (
            f"the connection to the head of the Ray cluster at {self._place[0]} was lost; what "
            "was finished is recorded. Start the cluster, and run the same command again to resume"
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


def _head_of(ray: ModuleType, address: str) -> tuple[str, int]:
    """Return the place of the head that Ray is connected to, or would be."""
    if address.startswith(CLIENT):
        place = address.removeprefix(CLIENT)
    elif ray.is_initialized():
        place = ray.get_runtime_context().gcs_address
    else:
        place = ray._private.services.canonicalize_bootstrap_address(address)
    host, _, port = place.rpartition(":")
    return host.strip("[]"), int(port)


def _init_ray(ray: ModuleType, address: str, options: Mapping[str, Any]) -> None:
    for left in reversed(range(_STARTS)):
        try:
            _init_once(ray, address, options)
            return
        # The head is gone: another try would only wait as long again.
        except RunStoppedError:
            raise
        except Exception as error:  # of many libraries below Ray
            ray.shutdown()
            # Our own Ray, or a cluster's server for clients, may only have taken too long.
            may_be_slow = address == LOCAL or isinstance(error, ConnectionAbortedError)
            if not left or not may_be_slow:
                raise RayConnectionError(_failure(address, error)) from error


def _init_once(ray: ModuleType, address: str, options: Mapping[str, Any]) -> None:
    if address == LOCAL:
        # Ray handles SIGTERM in its own way, which would cut off how a run is stopped.
        with signal_handlers({signal.SIGTERM: signal.getsignal(signal.SIGTERM) or 0}):
            ray.init(**options)
        return
    # In a thread, as Ray may wait there for a head that has gone away until it ends this process.
    with Head(_head_of(ray, address)) as head:
        connected: Future[None] = Future()

        def connect() -> None:
            try:
                ray.init(**options)
                connected.set_result(None)
            except BaseException as error:
                connected.set_exception(error)

        threading.Thread(target=connect, daemon=True, name="maseval-ray-connect").start()
        while not connected.done():
            head.check()
            wait([connected], timeout=_LOOK_SECONDS)
        connected.result()


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
    # What workers print would appear in the midst of a command's own output.
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


def _first_line(error: BaseException) -> str:
    # A server's own error is the last line of its traceback.
    lines = [line for line in str(error).splitlines() if line.strip()] or [""]
    return f"{type(error).__name__}: {lines[-1 if 'Traceback' in str(error) else 0]}"
