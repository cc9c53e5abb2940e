"""One worker process, which holds many simulations, each in a thread.

All that comes and goes is bytes of our own, and no method raises: what carries the calls knows how
many there were, and nothing else of a run.
"""

import os
import platform
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NamedTuple, TextIO

from maseval.core.engine.engines import Threads
from maseval.core.engine.parcel import (
    WorkerReply,
    WorkResult,
    pack,
    pack_reply,
    start_order,
    unpack,
)
from maseval.core.engine.repetition import Repetition, RunSetting
from maseval.core.engine.worker_setup import ModuleSource, code_facts, install, own_secrets
from maseval.core.exceptions import MASEvalError
from maseval.core.storage.redaction import Secrets

# Replies may be kept in a store of the carrier, which is not large.
_MOST_IN_REPLY = 32
# A reply costs about as much as a small repetition, so that several are worth waiting for.
_LINGER = 0.02


class Place(NamedTuple):
    node_id: str
    address: str
    process: int

    @property
    def node(self) -> str:
        """The machine; several nodes of a cluster may have one address."""
        return f"{self.address} ({self.node_id[:6]})" if self.node_id else self.address


class Equipment(NamedTuple):
    """Everything a process needs to begin: the run's setting, its size and its keys."""

    setting: bytes
    settings: bytes
    size: int
    domains: frozenset[str]
    environment: dict[str, str]
    folders: tuple[str, ...]


class Worker:
    """Runs the orders that it is given; each method may be called while another waits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = ExitStack()
        self._stopping = False
        self._numbers: dict[Repetition, int] = {}
        self._outbox: list[WorkResult] = []
        self._unread: dict[int, str] = {}
        self._setting: RunSetting
        self._threads: Threads
        self._secrets: Secrets

    def _place(self) -> Place:
        return Place("", platform.node(), os.getpid())

    def begin(
        self, code: Mapping[str, str], modules: dict[str, ModuleSource], equipment: bytes
    ) -> tuple[Place, dict[str, str], bytes]:
        """Get ready, unless the driver runs other code; return the place and the code here.

        And the checksums of the data here, or the reason why it cannot begin.
        """
        found: dict[str, str] | str = {}
        try:
            if code == code_facts():
                found = self._set_up(modules, unpack(equipment))
        except Exception as error:  # a user's code, imported here for the first time
            found = _in_words(error)
        return self._place(), code_facts(), pack(found)

    def _set_up(self, modules: dict[str, ModuleSource], given: Equipment) -> dict[str, str]:
        self._secrets = own_secrets(given.environment)
        os.environ.update(given.environment)
        every = Secrets.of({})
        sys.stdout, sys.stderr = _Redacted(sys.stdout, every), _Redacted(sys.stderr, every)
        install(modules, given.folders)
        unpack(given.settings).apply()
        self._setting = unpack(given.setting)
        self._threads = Threads(Repetition.run, given.size)
        self._open.enter_context(self._threads.open())
        return dict(self._setting.benchmark.data_checksums(given.domains))

    def submit(self, orders: Sequence[tuple[int, bytes]]) -> None:
        """Start the orders; the next reply tells of those that cannot be read here."""
        begun, unread = dict[Repetition, int](), dict[int, str]()
        for number, data in orders:
            try:
                order = start_order(unpack(data), self._setting, lambda: self._stopping)
                begun[order] = number
            except Exception as error:  # a class of the user's that is not known here
                unread[number] = _in_words(error)
        with self._lock:
            self._unread |= unread
            self._numbers |= begun
            for repetition in begun:
                self._threads.submit(repetition)
            self._threads.begin()

    def collect(self, orders: Sequence[tuple[int, bytes]], patience: float) -> bytes:
        """Start the orders, and reply once something is finished or after ``patience`` seconds."""
        if orders:
            self.submit(orders)
        if not self._outbox and not self._unread:
            self._threads.wait(patience)
            self._take_finished()
        until = time.monotonic() + _LINGER
        # More is awaited only as long as most of what is here is still at work.
        while 0 < len(self._outbox) < len(self._numbers) and time.monotonic() < until:
            self._threads.wait(max(0.0, until - time.monotonic()))
            self._take_finished()
        return self._next_reply()

    def _take_finished(self) -> None:
        with self._lock:
            while finished := self._threads.take():
                number = self._numbers.pop(finished[0])
                self._outbox.append(WorkResult.of(number, *finished))

    def give_up(self, number: int) -> bytes | None:
        """Give up a late order and return what it has done so far; None if it is finished."""
        with self._lock:
            for repetition in [one for one, known in self._numbers.items() if known == number]:
                if (outcome := self._threads.give_up(repetition)) is not None:
                    del self._numbers[repetition]
                    return self._pack(WorkerReply([WorkResult.of(number, repetition, outcome)]))
        return None

    def stop(self) -> None:
        """Take note that the run is stopping: nothing should wait for long any more."""
        self._stopping = True

    def _next_reply(self) -> bytes:
        with self._lock:
            unread, self._unread = self._unread, {}
        some = self._outbox[:_MOST_IN_REPLY]
        del self._outbox[: len(some)]
        return self._pack(WorkerReply(some, unread))

    def _pack(self, reply: WorkerReply) -> bytes:
        data = pack_reply(reply)
        if not self._secrets.are_in(data):
            return data
        clean: Any = [self._secrets.removed_from(dict(each.report)) for each in reply.deliveries]
        pairs = zip(reply.deliveries, clean, strict=True)
        return pack_reply(reply._replace(deliveries=[replace(a, report=b) for a, b in pairs]))


class _Redacted:
    """A stream of a worker without secrets: what is printed may be kept in logs."""

    def __init__(self, stream: TextIO, secrets: Secrets) -> None:
        self._stream = stream
        self._secrets = secrets

    def write(self, text: str) -> int:
        return self._stream.write(self._secrets.removed_from_text(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _in_words(error: Exception) -> str:
    words = str(error) if isinstance(error, MASEvalError) else f"{type(error).__name__}: {error}"
    return Secrets.of({}).removed_from_text(words)
