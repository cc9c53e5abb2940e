"""Where a task takes place: a domain over its files, as the task sets it up.

Every world in which a task begins is made here: for a run, for replay, for the reference solution
and for the audit.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.base import ToolType
from maseval.benchmark.tau2.domains.once import once
from maseval.benchmark.tau2.formats.message import Tau2Message, Tau2ToolCall
from maseval.benchmark.tau2.versions import RULES_0_2_0, RuleSet
from maseval.benchmark.tau2.world.stage import TaskStage
from maseval.benchmark.tau2.world.tasks import TaskSpec
from maseval.benchmark.tau2.world.world import World, WorldState


class Setting(NamedTuple):
    """A task, the domain it belongs to, the folder of that domain's files, and the rules."""

    domain: Domain
    folder: Path
    task: TaskSpec
    solo: bool = False
    rules: RuleSet = RULES_0_2_0

    def stage(self, *, reference: bool = False) -> TaskStage:
        """The stage on which the task begins.

        A ``reference`` world makes up other ids than the world of a conversation does.
        """
        start, rules = self.task.start, self.rules.replay
        return TaskStage(self.domain, self.folder, start, self.solo, reference, rules)

    def world(self, history: Sequence[Tau2Message] = ()) -> World:
        """A fresh world in which the task begins, after the calls of ``history``."""
        return self.stage().world_after(history)

    def may_write(self, call: Tau2ToolCall) -> bool:
        """Whether a call means a tool of a kind that changes the world."""
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
    """Where a simulation begins; worked out once, because a hash reads a whole database."""
    world = place.world()
    world.resume(place.start.history)
    return Beginning(world.state(), (world.get_db_hash(), world.get_user_db_hash()))
