"""The money that calls move: what they book, found by really making them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from pydantic import BaseModel

from maseval.benchmark.tau2.formats.message import Tau2ToolCall, record_in
from maseval.benchmark.tau2.review.labels.failure import Failure, is_error
from maseval.benchmark.tau2.review.words import record, telling_values
from maseval.benchmark.tau2.world.world import World

_CENT = 0.011
# All sums of more amounts would take too long, and one of them would fit anything.
_MOST = 6
_SHARES = range(1, 6)


class Booking(NamedTuple):
    """A call and the amounts it books: what is charged is positive, a refund negative."""

    call: Tau2ToolCall
    amounts: tuple[float, ...]

    @property
    def sum(self) -> float:
        return round(sum(self.amounts), 2)


def world_at(failure: Failure, index: int) -> World:
    """Return the world before a message."""
    world = failure.subject.case.setting.world()
    for at, call, _ in failure.writes:
        if at < index:
            world.respond(call)
    return world


def book(failure: Failure, index: int, calls: Iterable[Tau2ToolCall]) -> list[Booking]:
    """Make calls one after the other at a message; return the bookings of those that work."""
    world, found = world_at(failure, index), []
    for call in calls:
        before = _history(find_record(world, record(call)))
        answer = world.respond(call)
        if is_error(answer):
            continue
        after = record_in(answer.get("content") or "")
        amounts = _history(after)[len(before) :] or _amounts_to_come(call, after)
        found.append(Booking(call, tuple(amounts)))
    return found


def find_record(world: World, name: object) -> Mapping[str, Any]:
    """Return the record with an id, as it is in a world; empty if there is none."""
    for _, table in world.tools.db if isinstance(name, str) else ():
        rows = [table[name]] if isinstance(table, Mapping) and name in table else []
        rows += table if isinstance(table, list) else []
        for row in rows:
            found = row.model_dump() if isinstance(row, BaseModel) else row
            if isinstance(found, Mapping) and (not isinstance(table, list) or _has(found, name)):
                return found
    return {}


def _has(found: Mapping[str, Any], own_id: object) -> bool:
    return own_id in [value for key, value in found.items() if key.endswith("_id")]


def _history(found: Mapping[str, Any]) -> list[float]:
    """Return the amounts in a record's history of payments."""
    entries = found.get("payment_history") or ()
    return [_amount(each) for each in entries]


def _amount(entry: Mapping[str, Any]) -> float:
    sign = -1 if entry.get("transaction_type") == "refund" else 1
    return sign * float(entry.get("amount") or 0)


def _amounts_to_come(call: Tau2ToolCall, after: Mapping[str, Any]) -> list[float]:
    """Return what will be booked later: the difference of an exchange, the price of a return."""
    if not str(after.get("status", "")).endswith("requested"):
        return []
    if after.get("exchange_price_difference") is not None:
        return [float(after["exchange_price_difference"])]
    left = list(telling_values(call["arguments"].get("item_ids")))
    total = 0.0
    for item in after.get("items") or ():
        if item.get("item_id") in left:
            left.remove(item["item_id"])
            total -= float(item["price"])
    return [round(total, 2)] if total else []


def explains(stated: Sequence[float], bookings: Sequence[Booking]) -> bool:
    """Tell whether stated amounts give what is booked: alone, added up, or for each person."""
    wanted = {abs(each.sum) for each in bookings}
    wanted |= {abs(amount) for each in bookings for amount in each.amounts}
    wanted |= {abs(each) for each in _sums(tuple(sorted({b.sum for b in bookings})[:_MOST]))}
    amounts = sorted({round(abs(each), 2) for each in stated})
    if any(_is_near(each, wanted) for each in amounts):
        return True
    sums = _sums(tuple(amounts)) if len(amounts) <= _MOST else []
    return any(abs(abs(each) - one) <= _CENT for each in sums for one in wanted)


def _is_near(amount: float, wanted: Iterable[float]) -> bool:
    # People round: "about $31" for $30.78 is no other amount.
    rounded = 0.5 if amount % 1 == 0 else 0
    return any(
        abs(amount * share - each) <= max(_CENT * share, rounded)
        for each in wanted
        for share in _SHARES
    )


@lru_cache(maxsize=256)
def _sums(amounts: tuple[float, ...]) -> list[float]:
    """Return all sums and differences of some of the amounts."""
    signs = product((0, 1, -1), repeat=len(amounts))
    next(signs, None)
    return [sum(s * a for s, a in zip(each, amounts, strict=True)) for each in signs]
