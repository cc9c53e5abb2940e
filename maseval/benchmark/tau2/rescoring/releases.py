"""score_under: score a record under each of several releases, and say why verdicts change."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import AnyVersion, Release, release_named
from maseval.benchmark.tau2.environment import tool_types
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.rescoring.record import (
    RecordItem,
    RecordSource,
    SimulationRecord,
    open_record,
)
from maseval.benchmark.tau2.rescoring.rescore import RescoredRecord
from maseval.benchmark.tau2.rescoring.verdict import (
    FOREIGN_TASK,
    NewVerdict,
    RescoredSimulation,
)
from maseval.benchmark.tau2.scoring.judge import RememberingJudge
from maseval.benchmark.tau2.world.replay import ReplayError
from maseval.benchmark.tau2.world.state.records import canonical_json
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Simulation
from maseval.core.recorded import entries, mapping
from maseval.core.scoring_options import ScoringOptions
from maseval.core.words import count_of

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


class ReleaseVerdict(NamedTuple):
    """A simulation under a release; ``task`` is as the release has it, None if it has none."""

    release: Release
    domain: Domain
    task: Mapping[str, Any] | None
    simulation: RescoredSimulation
    verdict: NewVerdict

    @classmethod
    def of(cls, item: RecordItem, recount: RescoredRecord) -> "ReleaseVerdict":
        """Judge a simulation under the release that it comes with."""
        again = recount.judge(item)
        task = again.task or recount.known_tasks(item.domain).raw(again.simulation.slot.task_id)
        release = release_named(item.version)
        return cls(release, item.domain, task, again.simulation, again.verdict)

    @property
    def passed(self) -> bool | None:
        """True if it passes, None if only a judge can tell."""
        return None if self.simulation.open else self.simulation.passed

    @property
    def judge_is_moot(self) -> bool:
        """True if there was no judge, and none could have turned the failure."""
        asked = self.simulation.asks_judge and self.verdict.so_far is not None
        return asked and not self.simulation.open

    @property
    def parts(self) -> Mapping[str, float]:
        """The reward of each check that counts, without a judge's if there was none."""
        verdict = self.verdict.reward_info or self.verdict.so_far
        return {} if verdict is None else verdict["reward_breakdown"] or {}

    @property
    def failed_by(self) -> set[str]:
        """The checks it fails, or that it cannot be replayed or has no task."""
        found = {kind for kind, reward in self.parts.items() if reward < 1}
        if self.simulation.fault is not None or self.verdict.raised is not None:
            found.add(REPLAY)
        return found | ({TASK} if self.simulation.problem == FOREIGN_TASK else set())

    @property
    def unreplayable_call(self) -> str | None:
        """The tool whose recorded answer the replay does not give."""
        fault, raised = self.simulation.fault, self.verdict.raised
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


def reasons(before: ReleaseVerdict, after: ReleaseVerdict) -> tuple[Reason, ...]:
    """Return the reasons why two verdicts differ, the most telling first."""
    found = []
    if after.passed is None and before.passed is not None:
        wanted = len(entries(_criteria(after).get("nl_assertions")))
        found.append(Reason("judge needed", count_of(wanted, "assertion")))
    if before.passed is None and after.passed is not None:
        found.append(Reason("judge no longer needed"))
    appeared = before.passed is not False
    one, other = (after, before) if appeared else (before, after)
    for kind in sorted(one.failed_by - other.failed_by):
        found.append(_why(kind, before, after, appeared=appeared))
    return tuple(dict.fromkeys(found)) or (Reason("other rules"),)


def _why(kind: str, before: ReleaseVerdict, after: ReleaseVerdict, *, appeared: bool) -> Reason:
    if kind == TASK:
        return Reason("task removed" if appeared else "task added")
    if kind == REPLAY:
        return _replay(after, before) if appeared else _replay(before, after)
    if kind == JUDGE:
        return Reason("judge says no" if appeared else "judge says yes")
    if not appeared and kind not in after.parts:
        return Reason(f"{kind} no longer counts")
    if appeared and kind not in before.parts:
        return Reason(f"{kind} counts now")
    named, field = _CRITERIA[kind]
    old, new = (entries(_criteria(each).get(field)) for each in (before, after))
    if list(map(_content, old)) == list(map(_content, new)):
        return Reason("other replay", kind)
    return Reason(named, difference(old, new))


def _replay(failing: ReleaseVerdict, other: ReleaseVerdict) -> Reason:
    name = failing.unreplayable_call
    if name is None:
        return Reason("other replay")
    if name not in tool_types(failing.domain) and name in tool_types(other.domain):
        return Reason("other tools", f"{failing.release.name} has no {name}")
    if other.release.rules.replay.mutating_only and tool_types(other.domain).get(name) != "write":
        return Reason("only writes replayed", f"another answer of {name}")
    return Reason("lenient replay", f"another answer of {name} is accepted")


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
    told = []
    for words, names in parts.items():
        counts = ((name, names.count(name)) for name in dict.fromkeys(names))
        each = ", ".join(name if number == 1 else f"{number} {name}" for name, number in counts)
        told += [words + each] if names else []
    return "; ".join(told) or "another order"


def _content(each: object) -> str:
    parts = mapping(each)
    kept = {key: value for key, value in parts.items() if key in ("name", "arguments")}
    return canonical_json(kept or each)


def _name(each: object) -> str:
    if isinstance(each, str):
        return repr(each)
    return str(mapping(each).get("name") or mapping(each).get("func_name"))


Direction = Literal["same", "up", "down", "open"]
"""``open``: a judge decides, and there was none."""
OpenUnder = Callable[[str], SimulationRecord]
"""Opens the same record again, to be judged under the release of that name."""
_CHOSEN = (TerminationReason.AGENT_STOP, TerminationReason.USER_STOP)


@dataclass(frozen=True)
class VerdictChange:
    """One simulation whose verdict is another, or depends on a judge, under a later release.

    ``before`` and ``after`` are whether it passes, None if a judge decides. ``asks_judge`` if the
    release asks one about it; ``judge_is_moot`` if it fails whatever one would say.
    """

    trial: Simulation
    before: bool | None
    after: bool | None
    asks_judge: bool = False
    judge_is_moot: bool = False
    reasons: tuple[Reason, ...] = ()

    @classmethod
    def compare(cls, before: ReleaseVerdict, after: ReleaseVerdict) -> "VerdictChange":
        why = reasons(before, after) if before.passed != after.passed else ()
        asks, moot = after.simulation.asks_judge, after.judge_is_moot
        return cls(after.simulation.slot, before.passed, after.passed, asks, moot, why)

    @property
    def direction(self) -> Direction:
        if self.before == self.after:
            return "same"
        if self.before is None or self.after is None:
            return "open"
        return "up" if self.after else "down"

    def to_dict(self) -> dict[str, object]:
        return {
            **self.trial._asdict(),
            "direction": self.direction,
            "before": self.before,
            "after": self.after,
            "asks_judge": self.asks_judge,
            "reasons": [asdict(reason) for reason in self.reasons],
        }


@dataclass(frozen=True)
class ReleaseTotals:
    """Counts of the verdicts that change from one release to another.

    ``open`` are those that a judge decides: if it says yes each time, ``up_if_met`` go up, and if
    it says no each time, ``down_if_not_met`` go down. ``asks_judge`` counts all that the release
    asks a judge about, of which ``judge_is_moot`` fail whatever it would say. ``ended_early``
    neither side ended: these fail under every release.
    """

    simulations: int = 0
    same: int = 0
    up: int = 0
    down: int = 0
    open: int = 0
    up_if_met: int = 0
    down_if_not_met: int = 0
    asks_judge: int = 0
    judge_is_moot: int = 0
    ended_early: int = 0

    @classmethod
    def of(cls, changes: Sequence[VerdictChange], ended_early: int = 0) -> "ReleaseTotals":
        """Count all simulations of a record."""
        ways = Counter(each.direction for each in changes)
        waiting = [each for each in changes if each.after is None]
        return cls(
            simulations=len(changes),
            **{way: ways[way] for way in ("same", "up", "down", "open")},
            up_if_met=ways["up"] + sum(each.before is False for each in waiting),
            down_if_not_met=ways["down"] + sum(each.before is True for each in waiting),
            asks_judge=sum(each.asks_judge for each in changes),
            judge_is_moot=sum(each.judge_is_moot for each in changes),
            ended_early=ended_early,
        )

    def to_dict(self) -> dict[str, int]:
        return asdict(self)


def counted_reasons(changes: Sequence[VerdictChange]) -> Counter[tuple[Direction, str]]:
    """Count the changes by direction and kind of reason."""
    return Counter(
        (each.direction, kind)
        for each in changes
        for kind in dict.fromkeys(reason.kind for reason in each.reasons)
    )


@dataclass
class ScoredUnder:
    """A record under several releases.

    ``recounts`` has the numbers of each release, ``every`` what becomes of each simulation under
    each later release in comparison with the first.
    """

    recounts: Mapping[str, RescoredRecord]
    every: Mapping[str, list[VerdictChange]] = field(default_factory=dict)
    ended_early: int = 0

    @property
    def first(self) -> str:
        """The release that the others are compared with."""
        return next(iter(self.recounts))

    def changes(self, version: str) -> list[VerdictChange]:
        """The simulations whose verdict is another under a release, or depends on a judge."""
        return [each for each in self.every[version] if each.direction != "same"]

    @property
    def totals(self) -> dict[str, ReleaseTotals]:
        return {
            name: ReleaseTotals.of(changes, self.ended_early)
            for name, changes in self.every.items()
        }


def score_under(
    source: RecordSource | OpenUnder,
    versions: Sequence[AnyVersion],
    *,
    domain: str | Domain | None = None,
    options: ScoringOptions | None = None,
    judge: RememberingJudge | None = None,
    on_progress: Callable[[int], object] | None = None,
) -> ScoredUnder:
    """Judge the same conversations under several releases; the first is what changes are from.

    Args:
        source: A results file, or simulations or reports; a run's reports may be opened anew for
            each release by a function that takes its name.
        versions: Releases, such as ``0.2.0``, ``1.0.1`` and ``1.0.1+tasks.0.2.0``.
        domain: The domain, whatever the simulations call theirs.
        options: How simulations are scored. Releases that can replay leniently do unless
            ``strict``.
        judge: The judge of natural-language assertions.
        on_progress: Gets how many simulations are done.
    """
    names = list(dict.fromkeys(release_named(version).name for version in versions))
    if len(names) < 2:
        raise ConfigurationError(
            f"{', '.join(names) or 'no release'} alone changes nothing; name two releases or more, "
            "such as 0.2.0,1.0.1"
        )
    if callable(source):
        wholes = {name: source(name) for name in names}
    else:
        once = [*source] if isinstance(source, Iterator) else source
        wholes = {name: open_record(once, domain, version=name) for name in names}
    found = ScoredUnder(
        {name: RescoredRecord(whole, options, judge=judge) for name, whole in wholes.items()},
        {name: [] for name in names[1:]},
    )
    for number, items in enumerate(zip(*(w.items for w in wholes.values()), strict=True), 1):
        first, *later = map(ReleaseVerdict.of, items, found.recounts.values())
        for changes, standing in zip(found.every.values(), later, strict=True):
            changes.append(VerdictChange.compare(first, standing))
        found.ended_early += first.simulation.ending not in _CHOSEN
        if on_progress is not None:
            on_progress(number)
    return found
