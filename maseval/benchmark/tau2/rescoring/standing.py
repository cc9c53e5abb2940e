"""One simulation under one release: its verdict as far as it is known, and what it failed by."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import Release, release_named
from maseval.benchmark.tau2.recount.judged import FOREIGN_TASK
from maseval.benchmark.tau2.recount.recount import Recount, Retrial
from maseval.benchmark.tau2.recount.sources import Item
from maseval.benchmark.tau2.world.replay import ReplayError

REPLAY, TASK = "replay", "task"
"""What a verdict can fail by, beside the checks that count."""


@dataclass(frozen=True)
class Standing:
    """A simulation under a release; ``task`` is as the release has it, None if it has none."""

    release: Release
    domain: Domain
    task: Mapping[str, Any] | None
    again: Retrial

    @classmethod
    def of(cls, item: Item, recount: Recount) -> "Standing":
        """Judge a simulation under the release that it comes with."""
        again = recount.judge(item)
        task = again.task or recount.known(item.domain).raw(again.judged.slot.task_id)
        return cls(release_named(item.version), item.domain, task, again)

    @property
    def passed(self) -> bool:
        return self.again.judged.passed

    @property
    def open(self) -> bool:
        """Whether a judge would decide it."""
        return self.again.judged.open

    @property
    def asks_judge(self) -> bool:
        """Whether the release asks a judge about it, whatever else it finds."""
        return self.again.judged.asks_judge

    @property
    def judge_is_moot(self) -> bool:
        """Whether there was no judge, and none could have turned the failure."""
        return self.asks_judge and self.again.verdict.so_far is not None and not self.open

    @property
    def parts(self) -> Mapping[str, float]:
        """What counts, and how it came out; without a judge who was not there."""
        verdict = self.again.verdict.reward_info or self.again.verdict.so_far
        return {} if verdict is None else verdict["reward_breakdown"] or {}

    @property
    def failed_by(self) -> set[str]:
        """The checks it fails, or that it cannot be replayed or has no task."""
        found = {kind for kind, reward in self.parts.items() if reward < 1}
        found |= {REPLAY} if self.unreplayable else set()
        return found | ({TASK} if self.again.judged.problem == FOREIGN_TASK else set())

    @property
    def unreplayable(self) -> bool:
        return self.again.judged.fault is not None or self.again.verdict.raised is not None

    @property
    def unreplayable_call(self) -> str | None:
        """The tool whose recorded answer the replay does not give."""
        fault, raised = self.again.judged.fault, self.again.verdict.raised
        call: Mapping[str, object] | None = None if fault is None else fault.call
        if raised is not None and isinstance(raised.__cause__, ReplayError):
            call = raised.__cause__.call
        return None if call is None else str(call.get("name"))
