"""The stage of a task: a world as the task sets it up, worked out once and copied from then on.

Trials of one task, their replays and the reference solution all begin in the same state. Loading
the databases, taking a task's actions and synchronising cost more than a replay does; a copy of the
result costs next to nothing, because what nobody has changed yet is shared.
"""

import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.once import once
from maseval.benchmark.tau2.domains.pattern import NoPatternError, Pattern
from maseval.benchmark.tau2.formats.message import Tau2Message
from maseval.benchmark.tau2.versions import RULES_0_2_0, ReplayRules
from maseval.benchmark.tau2.world.replay import refuse_user_messages
from maseval.benchmark.tau2.world.tasks import InitialState
from maseval.benchmark.tau2.world.world import World

FileVersions = tuple[tuple[int, int], ...]
"""When the files of a domain were written, and how long they are."""


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
    files: FileVersions = field(init=False)
    key: Hashable = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "files", file_versions(self.domain, self.folder))
        object.__setattr__(self, "key", (id(self.domain), str(self.folder), self.start.key))

    def world(self) -> World:
        """A fresh world in which the task begins."""
        copy_of_stage = _stage(self)
        return self.set_up() if copy_of_stage is None else copy_of_stage()

    def world_after(self, history: Sequence[Tau2Message]) -> World:
        """A fresh world after the calls of ``history``."""
        self.domain.check_solo(self.solo)
        if self.solo:
            refuse_user_messages(history)
        world = self.world()
        world.resume(history)
        return world

    def set_up(self) -> World:
        """The world made from its files, however long that takes."""
        world = World(self.domain, self.folder, solo=self.solo, rules=self.rules)
        for toolkit in (world.tools, world.user_tools) if self.reference else ():
            if toolkit is not None:
                toolkit.as_reference()
        world.tools.note_reads(self.start.noted_reads or ())
        world.initialize(self.start.initialization_data, self.start.initialization_actions)
        return world


def file_versions(domain: Domain, folder: Path) -> FileVersions:
    """What tells an edited database from the one that was read before."""
    files = [name for name in (domain.db_file, domain.user_db_file) if name]
    stamps = [os.stat(f"{folder}/{name}") for name in files]
    return tuple((stamp.st_mtime_ns, stamp.st_size) for stamp in stamps)


@once(maxsize=4096)
def _stage(place: TaskStage) -> Callable[[], World] | None:
    """Makes copies; None where a toolkit holds what cannot be copied, such as a lock."""
    world = place.set_up()
    try:
        world.share_rows()
        world.twin()
    except Exception:  # a toolkit of somebody's own, whose values may refuse in any way
        return None
    try:
        pattern = Pattern((world.tools, world.user_tools))
    except NoPatternError:
        return world.twin
    return lambda: world.over(*pattern.copies())
