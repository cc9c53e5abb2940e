"""Where a timeline and the replay of scoring part."""

from collections.abc import Iterator, Mapping
from typing import Any

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.review.explain.snapshot import WorldSnapshot
from maseval.benchmark.tau2.review.timeline import Timeline, timeline_of
from maseval.benchmark.tau2.scoring.case import Case, open_case
from maseval.benchmark.tau2.world.state.hashing import state_hash
from maseval.benchmark.tau2.world.world import ReplayError, World


def timeline_differences(
    name: str,
    simulation: Mapping[str, Any],
    domain: str | Domain,
    version: str,
    *,
    every_message: bool = False,
    **options: Any,
) -> Iterator[str]:
    """The end state must be the one that is scored; with ``every_message`` all before it too."""
    case = open_case(simulation, domain, version=version, **options)
    found = timeline_of(case)
    try:
        world = case.replay()
    except ReplayError as error:
        if error.index not in places_of_mismatches(found):
            yield f"{name}: {error.index} is not among {places_of_mismatches(found)}"
        return
    if found.end.state != WorldSnapshot(world).state:
        yield f"{name}: it ends in another state"
    if every_message:
        yield from _hash_differences(name, world, found)
        yield from _prefix_differences(name, case, found)


def _hash_differences(name: str, world: World, found: Timeline) -> Iterator[str]:
    state = found.end.state
    if state_hash(state.company) != world.get_db_hash():
        yield f"{name}: the company's database has another hash"
    if state.customer is not None and state_hash(state.customer) != world.get_user_db_hash():
        yield f"{name}: the customer's database has another hash"


def places_of_mismatches(found: Timeline) -> set[int | None]:
    calls = {call.index for each in found.moments for call in each.calls if call.mismatch}
    return calls | {
        at for each in found.moments if each.problem for at in (each.last, each.last + 1)
    }


def _prefix_differences(name: str, case: Case, found: Timeline) -> Iterator[str]:
    for moment in found.moments:
        world = case.setting.world(case.messages[: moment.last + 1])
        if WorldSnapshot(world).state != moment.after.state:
            yield f"{name}: another state after message {moment.index}"
