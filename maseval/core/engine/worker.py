"""One worker process, which runs each order in the thread that brings it.

All that comes and goes is bytes of our own, and no method raises: what carries them knows how many
there were, and nothing else of a run.
"""

import threading
from contextlib import ExitStack
from contextvars import copy_context
from typing import NamedTuple

from maseval.core.engine.own_modules import find_modules
from maseval.core.engine.parcel import Equipment, WorkResult, pack, start_order, unpack
from maseval.core.engine.process_settings import many_threads
from maseval.core.engine.repetition import Repetition, RepetitionResult, RunSetting
from maseval.core.exceptions import MASEvalError
from maseval.core.storage.redaction import Secrets

# A worker in which no thread has its turn for so long would never come back.
_STANDSTILL_SECONDS = 300.0


class Place(NamedTuple):
    """The process of a worker, and the machine it is on."""

    process: int
    address: str
    node_id: str = ""

    @property
    def node(self) -> str:
        """The machine; several nodes of a cluster may have one address."""
        return f"{self.address} ({self.node_id[:6]})" if self.node_id else self.address

    def __str__(self) -> str:
        return f"process {self.process} on {self.node}"


class Worker:
    """Runs the orders that it is given; each method may be called while another waits."""

    def __init__(self) -> None:
        self.room = 0
        """The number of orders that it is given at once."""
        self._stopping = False
        self._open = ExitStack()
        self.setting: RunSetting

    def begin(self, equipment: bytes) -> str:
        """Get ready for the orders of a run; return the reason why it cannot, if there is one."""
        try:
            self.equip(unpack(equipment))
        except Exception as error:  # a user's code, imported here for the first time
            return in_words(error)
        return ""

    def equip(self, given: Equipment) -> None:
        find_modules(given.modules, given.folders)
        self._stopping, self.room = False, given.room
        self.setting, settings = unpack(given.run)
        settings.apply()
        self._open.close()  # of the run before
        self._open.enter_context(many_threads(given.room, standstill=_STANDSTILL_SECONDS))

    def run(self, order: bytes) -> bytes:
        """Run one order; return its packed ``WorkResult``, or why it cannot be read."""
        try:
            # Asked each time, as the run may begin to stop while it works.
            repetition = start_order(unpack(order), self.setting, lambda: self._stopping)
        except Exception as error:  # a class of the user's that is not known here
            return pack(in_words(error))
        return self.sent(WorkResult.of(repetition, run_in_time(repetition)))

    def sent(self, result: WorkResult) -> bytes:
        return result.packed()

    def stop(self) -> None:
        """Take note that the run is stopping: nothing should wait for long any more."""
        self._stopping = True


def run_in_time(repetition: Repetition) -> RepetitionResult:
    """Run a repetition, and give it up at its deadline, whatever it is doing then."""
    # No context variable that it sets is left to the next one in this thread.
    run = copy_context().run
    if repetition.timeout is None:
        return run(repetition.run)
    finished: list[RepetitionResult] = []
    thread = threading.Thread(
        target=lambda: finished.append(run(repetition.run)), daemon=True, name="maseval-worker"
    )
    thread.start()
    # Python raises for a longer wait than the system can make.
    thread.join(min(repetition.timeout, threading.TIMEOUT_MAX))
    return finished[0] if finished else repetition.given_up()


def in_words(error: Exception) -> str:
    words = str(error) if isinstance(error, MASEvalError) else f"{type(error).__name__}: {error}"
    return Secrets.of({}).removed_from_text(words)
