"""One recorded simulation judged again, and every clue to why its record says otherwise."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.forms.reward import RewardInfo
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.scoring.score import VERDICT, score_simulation
from maseval.benchmark.tau2.trust.explain.findings import ReplayFault, replay_fault
from maseval.benchmark.tau2.trust.recount.slots import PlannedTrial
from maseval.benchmark.tau2.trust.recount.sources import Item
from maseval.benchmark.tau2.trust.recount.suspicion import Passport
from maseval.benchmark.tau2.versions.releases import release_named, release_of
from maseval.core.exceptions import MASEvalError
from maseval.core.outcome import is_successful
from maseval.core.shapes import entries, mapping, number
from maseval.data.store import AnyPath

NEEDS_JUDGE = "its verdict needs a judge model"
FOREIGN_TASK = "no such task in the domain"
_TOLERANCE = 1e-9
_CHECKS = {
    "DB": ("db_check", "db_match"),
    "ENV_ASSERTION": ("env_assertions", "met"),
    "ACTION": ("action_checks", "action_match"),
    "COMMUNICATE": ("communicate_checks", "met"),
}


@dataclass(frozen=True)
class Judged:
    """A recorded simulation and its new verdict.

    ``named`` is the task that the record names, ``slot`` has the one by which it was judged, and
    ``checked_task`` the other one to which its recorded checks belong. Without a ``reward``, its
    ``problem`` says why. ``contradiction`` is within the recorded verdict, ``differing`` lists the
    checks that came out otherwise.
    """

    slot: PlannedTrial
    named: str
    passport: Passport
    ending: str | None
    recorded: float | None = None
    reward: float | None = None
    problem: str | None = None
    differences: tuple[str, ...] = ()
    fault: ReplayFault | None = None
    unknown_tool: str | None = None
    contradiction: str | None = None
    differing: tuple[str, ...] = ()
    checked_task: str | None = None
    cost: float | None = None
    version: str | None = None

    @property
    def passed(self) -> bool:
        """By the new verdict; only where a judge would be needed, by the recorded one."""
        reward = self.recorded if self.problem == NEEDS_JUDGE else self.reward
        return reward is not None and is_successful(reward)

    @property
    def passed_as_recorded(self) -> bool:
        """By the recorded verdict."""
        return self.recorded is not None and is_successful(self.recorded)

    @property
    def compared(self) -> bool:
        """Whether there are two verdicts to compare."""
        return self.recorded is not None and (self.reward is not None or bool(self.differences))

    @property
    def agrees(self) -> bool:
        """Whether both verdicts say the same."""
        return self.compared and not self.differences

    @property
    def foreign_ending(self) -> bool:
        """Whether it ended in a way that its release does not have."""
        endings = {each.value for each in release_named(self.version).rules.loop.endings}
        return self.ending is not None and self.ending not in endings


@dataclass(frozen=True)
class NewVerdict:
    """What judging again gave: a verdict, what it raised, or why there is none."""

    reward_info: RewardInfo | None = None
    raised: Exception | None = None
    problem: str | None = None


def judge_again(
    item: Item,
    task: Mapping[str, Any] | None,
    *,
    strict: bool = False,
    data_dir: AnyPath | None = None,
) -> NewVerdict:
    """Score a simulation by a task, or without one by the benchmark's of the name it has."""
    if item.problem is not None:
        return NewVerdict(problem=item.problem)
    release = release_of(item.domain, item.version)
    try:
        found = score_simulation(
            item.simulation,
            domain=item.domain,
            task=task,
            solo=item.solo,
            strict=strict,
            data_dir=data_dir,
            version=release,
            # v1.0.1 accepts other answers when it grades again.
            lenient_replay=release.rules.replay.can_be_lenient and not strict,
        )
    except NoJudgeError:
        return NewVerdict(problem=NEEDS_JUDGE)
    except UnknownTaskError:
        return NewVerdict(problem=FOREIGN_TASK)
    except MASEvalError:
        raise
    except Exception as error:  # strict: what the original raises for a conversation is a finding
        if not strict:
            raise
        return NewVerdict(raised=error)
    return NewVerdict(found)


def clues(item: Item, new: NewVerdict) -> dict[str, Any]:
    """What the two verdicts and the conversation say about each other, as fields of ``Judged``."""
    recorded, found = item.recorded, new.reward_info
    reward = None if recorded is None else number(recorded.get("reward"))
    fault = None if found is None else replay_fault(found)
    return {
        "recorded": reward,
        "reward": None if found is None else found["reward"],
        "problem": new.problem,
        "fault": fault,
        "differences": () if reward is None else tuple(_differences(new, mapping(recorded))),
        "contradiction": contradiction(mapping(recorded)),
        "differing": () if found is None or fault else tuple(_differing(found, mapping(recorded))),
        "unknown_tool": unknown_tool(item),
        "cost": _cost(item.simulation),
        "version": item.version,
    }


def _differences(new: NewVerdict, recorded: Mapping[str, object]) -> Iterator[str]:
    if new.raised is not None:
        yield f"raises {type(new.raised).__name__}: {new.raised}"
    if new.reward_info is None:
        return
    verdict: Mapping[str, object] = new.reward_info
    for key in VERDICT:
        if not _same(verdict.get(key), recorded.get(key)):
            yield f"{key}: recorded {recorded.get(key)!r}, recomputed {verdict.get(key)!r}"


def _same(one: object, other: object) -> bool:
    a, b = number(one), number(other)
    return one == other if a is None or b is None else abs(a - b) <= _TOLERANCE


def contradiction(verdict: Mapping[str, object]) -> str | None:
    """Where a verdict contradicts its own checks, which is a sign that it was edited."""
    reward, breakdown = number(verdict.get("reward")), mapping(verdict, "reward_breakdown")
    for kind, value in breakdown.items():
        met = _met(verdict, kind)
        if met is not None and number(value) != float(met):
            says = "passed" if met else "failed"
            return f"its breakdown gives {kind} {value}, but its own check {says}"
    parts = [part for value in breakdown.values() if (part := number(value)) is not None]
    if reward is None or not parts or _same(math.prod(parts), reward):
        return None
    return f"its reward is {reward:g}, but its own breakdown gives {math.prod(parts):g}"


def _differing(found: RewardInfo, recorded: Mapping[str, object]) -> Iterator[str]:
    """The checks whose outcome is another."""
    if not recorded.get("reward_breakdown"):
        return
    for kind in _CHECKS:
        ours, theirs = _met(mapping(found), kind), _met(recorded, kind)
        if None not in (ours, theirs) and ours != theirs:
            yield kind
    basis, other = recorded.get("reward_basis"), found.get("reward_basis")
    if basis is not None and set(map(str, entries(basis))) != set(other or ()):
        yield "reward basis"


def _met(verdict: Mapping[str, object], kind: str) -> bool | None:
    """Whether a check of a verdict passed; None if it was not made."""
    if kind not in _CHECKS:
        return None
    name, key = _CHECKS[kind]
    value = verdict.get(name)
    if value is None:
        return None
    return all(mapping(each).get(key) for each in ([value] if kind == "DB" else entries(value)))


def unknown_tool(item: Item) -> str | None:
    """A tool that was called with success, and that the domain does not have."""
    kits = [kit for kit in (item.domain.toolkit, item.domain.user_toolkit) if kit is not None]
    names: dict[object, str] = {}
    for message in item.simulation["messages"]:
        for call in message.get("tool_calls") or ():
            names[call.get("id")] = call["name"]
        name = names.get(message.get("id")) if message.get("role") == "tool" else None
        if name and not message.get("error") and not _has(kits, name):
            return name
    return None


def _has(kits: list[Any], name: str) -> bool:
    return any(kit.has_tool(name) for kit in kits)


def _cost(simulation: Mapping[str, object]) -> float | None:
    sides = (number(simulation.get(f"{side}_cost")) for side in ("agent", "user"))
    known = [cost for cost in sides if cost is not None]
    return sum(known) if known else None


def foreign_domain(name: str | None, domain: Domain) -> bool:
    """Whether the record calls its domain otherwise."""
    return name is not None and name != domain.name
