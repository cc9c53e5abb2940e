"""Sending in the background: the run neither waits nor fails when a receiver does.

A thread of its own takes items from a queue of limited size and hands over batches. An item that
finds the queue full is left out, one that the receiver does not take is counted, and the end waits
a stated time.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from maseval.core.exceptions import MASEvalError

ItemT = TypeVar("ItemT", contravariant=True)
KeptT = TypeVar("KeptT")

END_SECONDS = 10.0
"""The end of a run waits at most so long for what is still to be sent."""
CAPACITY = 500
BATCH = 50


class DeliveryError(MASEvalError):
    """A receiver did not take what it was sent; the text says why."""


class Receiver(Protocol[ItemT]):
    """A destination of batches; another thread can tell it to give up."""

    def send(self, items: Sequence[ItemT], /) -> None:
        """Hand over a batch; raise ``DeliveryError`` if it is not taken."""

    def abort(self) -> None:
        """Let a ``send`` that hangs end soon."""


@dataclass
class Delivery:
    """The number of items sent and not sent, and the reason of the first failure."""

    sent: int = 0
    unsent: int = 0
    reason: str | None = None

    def __str__(self) -> str:
        return f"{self.unsent} of {self.sent + self.unsent} traces were not sent ({self.reason})"


@dataclass
class Sender(Generic[KeptT]):
    """Sends what is put into it; ``on_sent`` is called in its thread with every taken batch."""

    receiver: Receiver[KeptT]
    on_sent: Callable[[Sequence[KeptT]], object] = lambda items: None
    capacity: int = CAPACITY
    _delivery: Delivery = field(default_factory=Delivery)
    _put: int = 0

    def __post_init__(self) -> None:
        # One place more, for the sign that all is put.
        self._queue: queue.Queue[KeptT | None] = queue.Queue(self.capacity + 1)
        self._thread = threading.Thread(target=self._run, daemon=True, name="maseval-telemetry")
        self._thread.start()

    def put(self, item: KeptT) -> None:
        """Have an item sent; one that finds the queue full is left out."""
        self._put += 1
        if self._queue.qsize() >= self.capacity:
            self._fail(1, f"more than {self.capacity} simulations waited to be sent")
        else:
            self._queue.put_nowait(item)

    def finish(self, seconds: float = END_SECONDS) -> Delivery:
        """Wait until all is sent, but no longer than that; the rest counts as unsent."""
        deadline = time.monotonic() + seconds
        self._queue.put_nowait(None)
        self._thread.join(seconds)
        if self._thread.is_alive():
            self.receiver.abort()
            self._thread.join(max(0.0, deadline + 0.5 - time.monotonic()))
        sent, reason = self._delivery.sent, self._delivery.reason
        unsent = self._put - sent
        late = f"no answer within {seconds:g} s" if unsent else None
        return Delivery(sent, unsent, reason or late)

    def _run(self) -> None:
        more = True
        while more:
            batch, more = self._batch()
            if batch:
                self._send(batch)
        self.receiver.abort()

    def _send(self, batch: Sequence[KeptT]) -> None:
        try:
            self.receiver.send(batch)
        except Exception as error:  # whatever a foreign library raises, the run must not see it
            self._fail(len(batch), str(error) or type(error).__name__)
            return
        self._delivery.sent += len(batch)
        self.on_sent(batch)

    def _batch(self) -> tuple[list[KeptT], bool]:
        """Take what waits by now; the second value tells whether more can come."""
        items = [self._queue.get()]
        while len(items) < BATCH and items[-1] is not None:
            try:
                items.append(self._queue.get_nowait())
            except queue.Empty:
                break
        return [item for item in items if item is not None], items[-1] is not None

    def _fail(self, count: int, reason: str) -> None:
        self._delivery.unsent += count
        self._delivery.reason = self._delivery.reason or reason
