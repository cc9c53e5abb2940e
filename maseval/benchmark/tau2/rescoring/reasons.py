"""Reasons why a verdict changes from one release to another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import Release, release_named
from maseval.benchmark.tau2.environment import tool_types
from maseval.benchmark.tau2.rescoring.record import RecordItem
from maseval.benchmark.tau2.rescoring.rescore import RescoredRecord, RescoringResult
from maseval.benchmark.tau2.rescoring.verdict import FOREIGN_TASK
from maseval.benchmark.tau2.world.replay import ReplayError
from maseval.benchmark.tau2.world.state.records import canonical_json
from maseval.core.recorded import entries, mapping

REPLAY, TASK = "replay", "task"
"""What a verdict can fail by, beside the checks that count."""
JUDGE = "NL_ASSERTION"
_CRITERIA = {
    "DB": ("changed gold", "actions"),
    "ACTION": ("changed gold", "actions"),
    "ENV_ASSERTION": ("changed assertions", "env_assertions"),
    "COMMUNICATE": ("changed information", "communicate_info"),
    JUDGE: ("changed assertions", "nl_assertions"),
}


@dataclass(frozen=True)
class ReleaseVerdict:
    """A simulation under a release; ``task`` is as the release has it, None if it has none."""

    release: Release
    domain: Domain
    task: Mapping[str, Any] | None
    again: RescoringResult

    @classmethod
    def of(cls, item: RecordItem, recount: RescoredRecord) -> "ReleaseVerdict":
        """Judge a simulation under the release that it comes with."""
        again = recount.judge(item)
        task = again.task or recount.known_tasks(item.domain).raw(again.simulation.slot.task_id)
        return cls(release_named(item.version), item.domain, task, again)

    @property
    def passed(self) -> bool:
        return self.again.simulation.passed

    @property
    def open(self) -> bool:
        return self.again.simulation.open

    @property
    def asks_judge(self) -> bool:
        """True if the release asks a judge about it, whatever else it finds."""
        return self.again.simulation.asks_judge

    @property
    def judge_is_moot(self) -> bool:
        """True if there was no judge, and none could have turned the failure."""
        return self.asks_judge and self.again.verdict.so_far is not None and not self.open

    @property
    def parts(self) -> Mapping[str, float]:
        """The reward of each check that counts, without a judge's if there was none."""
        verdict = self.again.verdict.reward_info or self.again.verdict.so_far
        return {} if verdict is None else verdict["reward_breakdown"] or {}

    @property
    def failed_by(self) -> set[str]:
        """The checks it fails, or that it cannot be replayed or has no task."""
        found = {kind for kind, reward in self.parts.items() if reward < 1}
        found |= {REPLAY} if self.unreplayable else set()
        return found | ({TASK} if self.again.simulation.problem == FOREIGN_TASK else set())

    @property
    def unreplayable(self) -> bool:
        return self.again.simulation.fault is not None or self.again.verdict.raised is not None

    @property
    def unreplayable_call(self) -> str | None:
        """The tool whose recorded answer the replay does not give."""
        fault, raised = self.again.simulation.fault, self.again.verdict.raised
        call: Mapping[str, object] | None = None if fault is None else fault.call
        if raised is not None and isinstance(raised.__cause__, ReplayError):
            call = raised.__cause__.call
        return None if call is None else str(call.get("name"))


@dataclass(frozen=True)
class Reason:
    """One reason: ``kind`` is what many changes have in common, ``text`` what is special."""

    kind: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.kind} ({self.text})" if self.text else self.kind

    def to_dict(self) -> dict[str, str]:
        return {"kind": self.kind, "text": self.text}


def reasons(before: ReleaseVerdict, after: ReleaseVerdict) -> tuple[Reason, ...]:
    """Return the reasons why two verdicts differ, the most telling first."""
    gone, new = before.failed_by - after.failed_by, after.failed_by - before.failed_by
    found = []
    if after.open and not before.open:
        wanted = len(entries(_criteria(after).get("nl_assertions")))
        found.append(Reason("judge needed", f"{wanted} assertion{'' if wanted == 1 else 's'}"))
    if before.open and not after.open:
        found.append(Reason("judge no longer needed"))
    if before.passed or before.open:
        found += [_why(kind, before, after, appeared=True) for kind in sorted(new)]
    else:
        found += [_why(kind, before, after, appeared=False) for kind in sorted(gone)]
    return tuple(dict.fromkeys(found)) or (Reason("other rules"),)


def _why(kind: str, before: ReleaseVerdict, after: ReleaseVerdict, *, appeared: bool) -> Reason:
    if kind == TASK:
        return Reason("task added" if not appeared else "task removed")
    if kind == REPLAY:
        return _replay(before, after) if not appeared else _replay(after, before)
    if kind == JUDGE:
        return Reason("judge says no" if appeared else "judge says yes")
    if not appeared and kind not in after.parts:
        return Reason(f"{kind} no longer counts")
    if appeared and kind not in before.parts:
        return Reason(f"{kind} counts now")
    return _other_criteria(kind, before, after)


def _replay(failing: ReleaseVerdict, other: ReleaseVerdict) -> Reason:
    name = failing.unreplayable_call
    if name is None:
        return Reason("other replay")
    if name not in tool_types(failing.domain) and name in tool_types(other.domain):
        return Reason("other tools", f"{failing.release.name} has no {name}")
    if other.release.rules.replay.mutating_only and tool_types(other.domain).get(name) != "write":
        return Reason("only writes replayed", f"another answer of {name}")
    return Reason("lenient replay", f"another answer of {name} is accepted")


def _other_criteria(kind: str, before: ReleaseVerdict, after: ReleaseVerdict) -> Reason:
    named, field = _CRITERIA[kind]
    old, new = (entries(_criteria(each).get(field)) for each in (before, after))
    if list(map(_content, old)) == list(map(_content, new)):
        return Reason("other replay", kind)
    return Reason(named, difference(old, new))


def _criteria(standing: ReleaseVerdict) -> Mapping[str, Any]:
    return mapping(standing.task, "evaluation_criteria")


def difference(old: Sequence[object], new: Sequence[object]) -> str:
    """Describe what a list lost, what it gained, and what has other arguments now."""
    gone = [each for each in old if _content(each) not in map(_content, new)]
    come = [each for each in new if _content(each) not in map(_content, old)]
    lost, added = ([_name(each) for each in some] for some in (gone, come))
    changed = [name for name in dict.fromkeys(lost) if name in added]
    for name in changed:
        lost.remove(name)
        added.remove(name)
    parts = {"without ": lost, "with ": added, "other arguments of ": changed}
    told = [words + _count_names(names) for words, names in parts.items() if names]
    return "; ".join(told) or "another order"


def _count_names(names: Sequence[str]) -> str:
    counts = ((name, names.count(name)) for name in dict.fromkeys(names))
    return ", ".join(name if number == 1 else f"{number} {name}" for name, number in counts)


def _content(each: object) -> str:
    parts = mapping(each)
    kept = {key: value for key, value in parts.items() if key in ("name", "arguments")}
    return canonical_json(kept or each)


def _name(each: object) -> str:
    if isinstance(each, str):
        return repr(each)
    return str(mapping(each).get("name") or mapping(each).get("func_name"))
