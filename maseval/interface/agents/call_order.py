"""CallOrder: runs tool calls one after another that a framework starts all at once.

A model that makes several calls in one answer gives them an order, and a recorded conversation
keeps it. Frameworks hand the calls to threads or tasks, which do not.
"""

import asyncio
import time
from collections.abc import Sequence
from itertools import pairwise

# How long, in seconds, a call waits for the one before it. That one may never start: the tool may
# not exist, or the framework may have answered itself. Better to lose the order than the run.
UNTIL_STARTED = 1.0
UNTIL_FINISHED = 60.0

_PAUSE = 0.002


class CallOrder:
    """Decides when a call may run; one object serves a whole conversation.

    ``announce`` the calls of an answer, then ``wait`` before each call and ``finish`` after it.
    """

    def __init__(self) -> None:
        self._before: dict[str, str] = {}
        self._came: dict[str, float] = {}
        self._ended: set[str] = set()

    def announce(self, call_ids: Sequence[str | None]) -> None:
        """Register the ids of one answer's calls, in order; duplicate ids impose no order."""
        known = [call_id for call_id in call_ids if call_id]
        for call_id in known:  # a model may reuse an id in a later answer
            self._before.pop(call_id, None)
            self._came.pop(call_id, None)
            self._ended.discard(call_id)
        if len(set(known)) == len(call_ids):
            self._before.update((later, earlier) for earlier, later in pairwise(known))

    def wait(self, call_id: str | None) -> None:
        """Return when it is this call's turn."""
        while not self._is_due(call_id):
            time.sleep(_PAUSE)

    async def wait_async(self, call_id: str | None) -> None:
        """``wait`` without blocking the event loop."""
        while not self._is_due(call_id):
            await asyncio.sleep(_PAUSE)

    def finish(self, call_id: str | None) -> None:
        """Note that the call has returned or failed."""
        if call_id:
            self._ended.add(call_id)

    def _is_due(self, call_id: str | None) -> bool:
        if not call_id:
            return True
        came = self._came.setdefault(call_id, time.monotonic())
        earlier = self._before.get(call_id)
        if earlier is None or earlier in self._ended:
            return True
        patience = UNTIL_FINISHED if earlier in self._came else UNTIL_STARTED
        return time.monotonic() - came > patience
