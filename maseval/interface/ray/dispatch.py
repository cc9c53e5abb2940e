"""Which process is given which simulation, and how it is sent there."""

import time
from collections.abc import Sequence

from maseval.core.engine.shipping import WorkOrder
from maseval.interface.ray.flights import Backlog, Flight
from maseval.interface.ray.parcel import packed, packed_for_worker
from maseval.interface.ray.process import Process, Stage

# A call of Ray costs about as much as a small repetition, whatever it carries.
_SENT_AT_ONCE = 64
# Of a process, if nothing is finished there: in seconds, and a second over all processes.
_SHORTEST_WAIT, _MOST_REPLIES = 1.0, 50
_WAY_FOR_TASK = "give tasks and agent data that consist of plain data"


def given_out(processes: Sequence[Process], backlog: Backlog) -> dict[Process, list[Flight]]:
    """The flights that wait, each given to the process with the fewest that has room for it."""
    given: dict[Process, list[Flight]] = {}
    while pair := _next_pair(processes, backlog):
        process, flight = pair
        process.flights[flight.number] = flight
        given.setdefault(process, []).append(flight)
    return given


def _next_pair(processes: Sequence[Process], backlog: Backlog) -> tuple[Process, Flight] | None:
    if backlog.is_empty:
        return None
    working = [one for one in processes if one.stage is Stage.WORKING]
    for process in sorted(working, key=lambda one: len(one.flights)):
        if flight := backlog.next_for(process.flights, quarantine=process.quarantine):
            return process, flight
    return None


def send(process: Process, flights: Sequence[Flight], patience: float) -> None:
    """Send flights to a process, with the call that asks what it has finished if possible."""
    for first in range(0, len(flights), _SENT_AT_ONCE):
        together = flights[first : first + _SENT_AT_ONCE]
        orders = packed_orders(together)
        if process.pending is None:
            process.collect(patience, together, orders)
        else:
            process.submit(together, orders)
        for flight in together:
            flight.since = time.monotonic()
    if process.pending is None:
        process.collect(patience)


def patience_of(processes: int) -> float:
    """How long each of so many processes waits before it replies, if nothing is finished."""
    return max(_SHORTEST_WAIT, processes / _MOST_REPLIES)


def packed_orders(flights: Sequence[Flight]) -> bytes:
    """Packed as one value: what their tasks have in common is sent once."""
    orders = [WorkOrder.of(flight.number, flight.repetition) for flight in flights]
    try:
        return packed(orders)
    except Exception:  # of whatever a task consists of: which one is it?
        for each in orders:
            packed_for_worker(f"task {str(each.task.id)!r}", each, _WAY_FOR_TASK)
        raise
