"""Gold end states: what the world looks like after a task's reference solution.

They depend on nothing but the task and the data, so each is worked out once and kept.

After tau2-bench v0.2.0, src/tau2/evaluator/evaluator_env.py (MIT, Sierra Research).
"""

import os
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.once import once
from maseval.benchmark.tau2.world.tasks import TaskSpec
from maseval.benchmark.tau2.world.world import World, WorldState

_KEPT = 4096


class GoldFault(NamedTuple):
    """An action of a reference solution that raised; the original passes over it in silence."""

    action_id: str
    name: str
    error_type: str
    error: str


class GoldState(NamedTuple):
    """Where a reference solution leads, and what went wrong on the way."""

    state: WorldState
    errors: tuple[GoldFault, ...]


def gold_state(domain: Domain, folder: Path, task: TaskSpec) -> GoldState:
    """The end state of a task's reference solution, played in a world of its own."""
    files = [name for name in (domain.db_file, domain.user_db_file) if name]
    stamps = [os.stat(f"{folder}/{name}") for name in files]
    versions = tuple((stamp.st_mtime_ns, stamp.st_size) for stamp in stamps)
    return _played(_Play((id(domain), folder, versions, task.gold_key), domain, folder, task))


@dataclass(frozen=True)
class _Play:
    """A question to the cache; it holds the domain, so no other can have the same id."""

    key: Hashable
    domain: Domain = field(compare=False)
    folder: Path = field(compare=False)
    task: TaskSpec = field(compare=False)


@once(maxsize=_KEPT)
def _played(play: _Play) -> GoldState:
    world = World(play.domain, play.folder)
    for toolkit in filter(None, (world.tools, world.user_tools)):
        toolkit.as_reference()
    start = play.task.start
    world.set_state(
        start.initialization_data, start.initialization_actions, start.message_history or []
    )
    errors: list[GoldFault] = []
    for action in play.task.actions:
        try:
            # As in the original, nothing is synchronised between the two sides here.
            world.call(action.name, action.requestor, action.arguments)
        except Exception as error:  # a tool called on a task's behalf: its errors are findings
            fault = (action.action_id, action.name, type(error).__name__, str(error))
            errors.append(GoldFault(*fault))
    return GoldState(world.state(), tuple(errors))
