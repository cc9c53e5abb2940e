"""The stage of a task: a world as the task sets it up, worked out once and copied from then on.

Trials of one task, their replays and the reference solution all begin in the same state. Loading
the databases, taking a task's actions and synchronising cost more than a replay does; a copy of the
result costs next to nothing, because what nobody has changed yet is shared.
"""

import os
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.once import once
from maseval.benchmark.tau2.versions.rules import RULES_0_2_0, ReplayRules
from maseval.benchmark.tau2.world.tasks import InitialState
from maseval.benchmark.tau2.world.world import World


@dataclass(frozen=True)
class TaskStage:
    """A domain over the files in a folder, as a task sets it up; it can be looked up in a cache.

    It holds the domain, so that no other can have the same id, and knows an edited file.
    """

    domain: Domain = field(compare=False)
    folder: Path = field(compare=False)
    start: InitialState = field(compare=False)
    solo: bool = False
    reference: bool = False
    rules: ReplayRules = RULES_0_2_0.replay
    key: Hashable = field(init=False)

    def __post_init__(self) -> None:
        files = file_versions(self.domain, self.folder)
        object.__setattr__(self, "key", (id(self.domain), str(self.folder), files, self.start.key))

    def world(self) -> World:
        """A fresh world in which the task begins."""
        stage = _stage(self)
        return self.set_up() if stage is None else stage.twin()

    def set_up(self) -> World:
        """The world made from its files, however long that takes."""
        world = World(self.domain, self.folder, solo=self.solo, rules=self.rules)
        for toolkit in (world.tools, world.user_tools) if self.reference else ():
            if toolkit is not None:
                toolkit.as_reference()
        world.tools.note_reads(self.start.noted_reads or ())
        world.initialize(self.start.initialization_data, self.start.initialization_actions)
        return world


def file_versions(domain: Domain, folder: Path) -> tuple[tuple[int, int], ...]:
    """What tells an edited database from the one that was read before."""
    files = [name for name in (domain.db_file, domain.user_db_file) if name]
    stamps = [os.stat(f"{folder}/{name}") for name in files]
    return tuple((stamp.st_mtime_ns, stamp.st_size) for stamp in stamps)


@once(maxsize=4096)
def _stage(place: TaskStage) -> World | None:
    """The world to be copied; None where a toolkit holds what cannot be copied, such as a lock."""
    world = place.set_up()
    try:
        world.share_rows()
        world.twin()
    except Exception:  # a toolkit of somebody's own, whose values may refuse in any way
        return None
    return world
