"""The point of no return: where a conversation leaves every path to the gold state.

Three answers are possible, and each can be defended:

* a call left a value that no tool can make right again, as the domain's ``permanence`` says: the
  path ends with that call;
* the missing calls, made after the last message, lead to the gold state when they are really
  played: then the path was open until the conversation ended;
* neither: undecided. Some sequence of calls nobody has tried may lead there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.review.explain.snapshot import (
    FieldPath,
    FieldPlace,
    WorldSnapshot,
    differing_records,
)
from maseval.benchmark.tau2.review.explain.tracing import CallAt, WorldHistory
from maseval.benchmark.tau2.world.state.permanence import PermanenceRule


@dataclass(frozen=True)
class Divergence:
    """The first message after which the gold state was out of reach.

    ``decided`` is False if that could not be found out; ``reason`` says why in every case.
    ``message_index`` is None if undecided, or if the gold state was out of reach from the start.
    """

    decided: bool
    reason: str
    message_index: int | None = None
    call: CallAt | None = None
    place: FieldPlace | None = None


def divergence(
    domain: Domain,
    played: WorldHistory,
    gold: WorldSnapshot,
    last_message: int,
    *,
    open_to_the_end: bool,
) -> Divergence:
    """Find the point of no return of a conversation that did not end in the gold state."""
    rules = domain.permanence
    lost = _lost(rules, played.start, gold)
    if lost is not None:
        place, reason = lost
        return Divergence(True, f"from the start: {reason}", place=place)
    for step in played.steps:
        lost = _lost(rules, step.after, gold)
        if lost is not None:
            place, reason = lost
            at = CallAt(step.position, step.call)
            return Divergence(True, reason, step.position, at, place)
    if open_to_the_end:
        reason = "the missing calls could have been made until the conversation ended"
        return Divergence(True, reason, last_message)
    if not rules:
        return Divergence(False, f"{domain.name} has no rules about what is permanent")
    return Divergence(False, "no wrong value is known to be permanent")


def _lost(
    rules: Sequence[PermanenceRule], now: WorldSnapshot, gold: WorldSnapshot
) -> tuple[FieldPlace, str] | None:
    """Return a value that can no longer become the gold one."""
    ruled = (
        (place, rule)
        for record in differing_records(gold, now)
        for rule in rules
        if rule.table == record.table
        for place in _places(rule, record, now, gold)
    )
    for place, rule in ruled:
        if rule.unreachable(now.value(place), gold.value(place)):
            return place, rule.reason
    return None


def _places(
    rule: PermanenceRule, record: FieldPlace, now: WorldSnapshot, gold: WorldSnapshot
) -> Iterator[FieldPlace]:
    paths: list[FieldPath] = [()]
    for step in rule.path:
        paths = [(*path, key) for path in paths for key in _keys(step, record, path, now, gold)]
    yield from (FieldPlace(record.side, record.table, record.record, path) for path in paths)


def _keys(
    step: str | int, record: FieldPlace, path: FieldPath, now: WorldSnapshot, gold: WorldSnapshot
) -> list[str | int]:
    if step != "*":
        return [step]
    here = FieldPlace(record.side, record.table, record.record, path)
    values = (snapshot.value(here) for snapshot in (now, gold))
    keys: dict[str | int, None] = {}
    for value in values:
        if isinstance(value, dict):
            keys.update(dict.fromkeys(value))
    return list(keys)
