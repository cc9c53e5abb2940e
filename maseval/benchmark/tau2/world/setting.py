"""The setting of a task: a domain over its files, as the task sets it up.

Every world in which a task begins is made here: for a run, for replay, for the reference solution
and for the audit. All of these begin in the same state. Loading the databases, taking a task's
actions and synchronising cost more than a replay does, so this is done once (``TaskStage``) and
copied from then on; a copy costs next to nothing, because what nobody has changed yet is shared.
"""

import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.base import ToolType
from maseval.benchmark.tau2.domains.copying import once
from maseval.benchmark.tau2.domains.pattern import NoPatternError, Pattern
from maseval.benchmark.tau2.formats.message import Tau2Message, Tau2ToolCall
from maseval.benchmark.tau2.versions import RULES_0_2_0, ReplayRules, RuleSet
from maseval.benchmark.tau2.world.replay import refuse_user_messages
from maseval.benchmark.tau2.world.tasks import InitialState, TaskSpec
from maseval.benchmark.tau2.world.world import World, WorldState

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
        """Return a fresh world in which the task begins."""
        copy_of_stage = _stage(self)
        return self.set_up() if copy_of_stage is None else copy_of_stage()

    def world_after(self, history: Sequence[Tau2Message]) -> World:
        """Return a fresh world after the calls of ``history``."""
        self.domain.check_solo(self.solo)
        if self.solo:
            refuse_user_messages(history)
        world = self.world()
        world.resume(history)
        return world

    def set_up(self) -> World:
        """Make the world from its files, however long that takes."""
        world = World(self.domain, self.folder, solo=self.solo, rules=self.rules)
        for toolkit in (world.tools, world.user_tools) if self.reference else ():
            if toolkit is not None:
                toolkit.as_reference()
        world.tools.note_reads(self.start.noted_reads or ())
        world.initialize(self.start.initialization_data, self.start.initialization_actions)
        return world


def file_versions(domain: Domain, folder: Path) -> FileVersions:
    """Return what tells an edited database from the one that was read before."""
    files = [name for name in (domain.db_file, domain.user_db_file) if name]
    stamps = [os.stat(f"{folder}/{name}") for name in files]
    return tuple((stamp.st_mtime_ns, stamp.st_size) for stamp in stamps)


@once(maxsize=4096)
def _stage(place: TaskStage) -> Callable[[], World] | None:
    """Return a function that makes copies; None if a toolkit cannot be copied."""
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


class Setting(NamedTuple):
    """A task, the domain it belongs to, the folder of that domain's files, and the rules."""

    domain: Domain
    folder: Path
    task: TaskSpec
    solo: bool = False
    rules: RuleSet = RULES_0_2_0

    def stage(self, *, reference: bool = False) -> TaskStage:
        """Return the stage on which the task begins.

        A ``reference`` world makes up other ids than the world of a conversation does.
        """
        start, rules = self.task.start, self.rules.replay
        return TaskStage(self.domain, self.folder, start, self.solo, reference, rules)

    def world(self, history: Sequence[Tau2Message] = ()) -> World:
        """Return a fresh world in which the task begins, after the calls of ``history``."""
        return self.stage().world_after(history)

    def may_write(self, call: Tau2ToolCall) -> bool:
        """Return True if a call means a tool of a kind that changes the world."""
        ours, theirs = self.domain.toolkit, self.domain.user_toolkit
        kits = [theirs] if call["requestor"] == "user" else [ours, theirs] if self.solo else [ours]
        name = call["name"]
        return any(
            kit and kit.has_tool(name) and kit.tool_type(name) is ToolType.WRITE for kit in kits
        )


class Beginning(NamedTuple):
    """The state in which a simulation begins, and the hashes of both sides' databases."""

    state: WorldState
    hashes: tuple[str, str | None]


@once(maxsize=4096)
def beginning(place: TaskStage) -> Beginning:
    """Return the initial state; it is cached, because a hash reads a whole database."""
    world = place.world()
    world.resume(place.start.history)
    return Beginning(world.state(), (world.get_db_hash(), world.get_user_db_hash()))
