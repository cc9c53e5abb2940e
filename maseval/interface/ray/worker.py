"""Run a worker on a node of Ray, with the keys it was sent; it tells no secret of its own."""

import os
import sys
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TextIO

from maseval.core.engine.engines import WorkersUnavailableError
from maseval.core.engine.parcel import Equipment, WorkResult, unpack
from maseval.core.engine.worker import Place, Worker, in_words
from maseval.core.exceptions import ConfigurationError
from maseval.core.storage.redaction import Secrets, environment_secrets, is_secret
from maseval.interface.ray.connection import load_ray


class NodeMismatchError(ConfigurationError):
    """A machine of the cluster has other data."""


class RayWorker(Worker):
    """A worker on a node of Ray, for one run after the other."""

    def __init__(self) -> None:
        super().__init__()
        self._turn = threading.Lock()
        self._equipped_for = ""
        self._secrets: Secrets

    def place(self) -> Place:
        ray = load_ray()
        node, address = ray.get_runtime_context().get_node_id(), ray.util.get_node_ip_address()
        return Place(os.getpid(), str(address), str(node))

    def run_for(self, run: list[Any], order: bytes) -> bytes:
        """Run an order of the run whose equipment is in Ray's store."""
        # Many orders come at once; the first equips the process for all of them.
        with self._turn:
            if self._equipped_for != run[0].hex():
                try:
                    self.equip(unpack(load_ray().get(run[0])))
                except Exception as error:  # a user's code, imported here for the first time
                    if isinstance(error, NodeMismatchError):
                        raise
                    text = f"{self.place()} cannot begin: {in_words(error)}"
                    raise WorkersUnavailableError(text) from None
                self._equipped_for = run[0].hex()
        return self.run(order)

    def equip(self, given: Equipment) -> None:
        # Before the variables are set: what was sent here is no secret of this machine.
        self._secrets = own_secrets(given.environment)
        os.environ.update(given.environment)
        # Ray keeps what its workers print, and shows it to all who use the cluster.
        every = Secrets.of({})
        sys.stdout, sys.stderr = _Redacted(sys.stdout, every), _Redacted(sys.stderr, every)
        super().equip(given)
        self._check(self.setting.benchmark.data_checksums(given.domains), given.checksums)

    def _check(self, found: Mapping[str, str], wanted: Mapping[str, str]) -> None:
        for name in sorted({*found, *wanted}):
            there, here = found.get(name, "(none)"), wanted.get(name, "(none)")
            if there != here:
                raise NodeMismatchError(
                    f"node {self.place().node} is refused: {name} is {there} there and {here} "
                    "here; fetch the data of the same release there, and verify it"
                )

    def sent(self, result: WorkResult) -> bytes:
        data = result.packed()
        if not self._secrets.are_in(data):
            return data
        clean: Any = self._secrets.removed_from(dict(result.report))
        return replace(result, report=clean).packed()


def run_alone(run: list[Any], order: bytes) -> bytes:
    """Run one order in a process that nobody else uses."""
    return RayWorker().run_for(run, order)


class _Redacted:
    """A stream of a worker without secrets: what is printed may be kept in logs."""

    def __init__(self, stream: TextIO, secrets: Secrets) -> None:
        self._stream = stream
        self._secrets = secrets

    def write(self, text: str) -> int:
        return self._stream.write(self._secrets.removed_from_text(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


_ADDRESSES = ("_BASE_URL", "_API_BASE", "_ENDPOINT", "_API_VERSION")


def needed_by_workers(more: Iterable[str] = ()) -> dict[str, str]:
    """Return the variables whose names say that they are secrets or addresses, and those named.

    Not in Ray's runtime environment: its logs and its dashboard show that.
    """
    wanted = frozenset(more)

    def travels(name: str, value: str) -> bool:
        # Ray's own token opens the cluster of this machine, not that of another.
        is_key = not name.startswith("RAY_") and is_secret(name, value)
        return name in wanted or name.endswith(_ADDRESSES) or is_key

    return {name: value for name, value in os.environ.items() if travels(name, value)}


def own_secrets(given: Mapping[str, str]) -> Secrets:
    """Return the secrets of this machine, beside those that were sent to it."""
    sent = given.values()
    return Secrets(value for value in environment_secrets() if value not in sent)
