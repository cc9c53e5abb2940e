"""One recorded simulation scored again, and the evidence why its record says otherwise."""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.domains.releases import release_named, release_of
from maseval.benchmark.tau2.formats.message import is_user_stop
from maseval.benchmark.tau2.formats.simulation import RewardInfo, TerminationReason, replay_problem
from maseval.benchmark.tau2.rescoring.record import MALFORMED, PrintedVerdict, RecordItem
from maseval.benchmark.tau2.review.explain.evidence import ReplayFault, replay_fault
from maseval.benchmark.tau2.scoring.judge import JudgeReplyError, NoJudgeError
from maseval.benchmark.tau2.scoring.score import VERDICT, score_simulation
from maseval.core.judge import Judge
from maseval.core.outcome import Simulation, is_successful, total_cost
from maseval.core.recorded import entries, mapping, number, whole_number
from maseval.core.report import AGENT_FAILURES, RERUN_STATUSES, UNEVALUATED


def marks_of(simulation: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what no other simulation should share: its id, its times and its responses' ids.

    Two trials whose words are equal are two trials: a model can be deterministic. But ids, times
    and the ids of a provider's responses are another each time, so that repeated ones deserve a
    look. No verdict changes by it.
    """
    messages: Sequence[Mapping[str, Any]] = simulation["messages"] or ()
    if simulation.get("id"):
        yield "id", str(simulation["id"])
    responses = (mapping(each, "raw_data").get("id") for each in messages if each.get("raw_data"))
    several = {
        "times": [each["timestamp"] for each in messages if each.get("timestamp")],
        "response ids": [each for each in responses if each],
    }
    for name, values in several.items():
        if values:
            text = "\n".join(map(str, values)).encode(errors="surrogatepass")
            yield name, hashlib.blake2b(text, digest_size=16).hexdigest()


NEEDS_JUDGE = "its verdict needs a judge model"
FOREIGN_TASK = "no such task in the domain"
_TOLERANCE = 1e-9
_BROKEN_OFF = TerminationReason.INFRASTRUCTURE_ERROR.value
_CHECKS = {
    "DB": ("db_check", "db_match"),
    "ENV_ASSERTION": ("env_assertions", "met"),
    "ACTION": ("action_checks", "action_match"),
    "COMMUNICATE": ("communicate_checks", "met"),
    "NL_ASSERTION": ("nl_assertions", "met"),
}


@dataclass(frozen=True)
class RescoredSimulation:
    """A recorded simulation and its new verdict.

    ``checked_task`` is the other task to which its recorded checks belong. Without a ``reward``,
    its ``problem`` says why. ``contradiction`` is within the recorded verdict, ``differing`` lists
    the checks that came out otherwise. It is ``open`` if only a judge can decide it, and there was
    none, or one whose reply cannot be read. ``shown`` is what a report shows of it. ``stopped`` if
    the user's stop is its last message.
    """

    slot: Simulation
    ending: str | None
    stopped: bool
    seed: int | None
    marks: Mapping[str, str]
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
    shown: PrintedVerdict | None = None

    @property
    def passed(self) -> bool:
        return self.reward is not None and is_successful(self.reward)

    @property
    def no_verdict(self) -> str | None:
        """The reason why nobody can tell whether it passed; None if it has a verdict.

        What the agent broke off is its failure. An accident after which the user ended the
        conversation is none.
        """
        status = None if self.shown is None else self.shown.status
        if status in AGENT_FAILURES:
            return None
        broken = status if status in RERUN_STATUSES else None
        if self.ending == _BROKEN_OFF and not self.foreign_ending:
            broken = broken or self.ending
        return self.problem if self.stopped else broken or self.problem

    @property
    def open(self) -> bool:
        """True if only a judge can decide it: all other checks passed."""
        return self.problem == NEEDS_JUDGE

    @property
    def passed_as_recorded(self) -> bool:
        return self.recorded is not None and is_successful(self.recorded)

    @property
    def compared(self) -> bool:
        return self.recorded is not None and (self.reward is not None or bool(self.differences))

    @property
    def agrees(self) -> bool:
        return self.compared and not self.differences

    @property
    def impossible_ending(self) -> bool:
        """True if the user is said to have ended it, and the last message is no stop of theirs."""
        stops = self.ending == TerminationReason.USER_STOP.value
        return stops and self.problem is None and not self.stopped

    @property
    def is_relabelled(self) -> bool:
        """True if a report calls it an accident, though the user ended the conversation."""
        return (
            self.shown is not None
            and self.shown.kind == "error"
            and self.shown.status not in UNEVALUATED
            and self.stopped
        )

    @property
    def misstatement(self) -> str | None:
        """The difference between the recorded verdict and the recomputed one; None if it holds."""
        if self.contradiction:
            return self.contradiction
        if self.is_relabelled and self.shown is not None:
            return f"recorded as {self.shown.status}, but its last message is the user's stop"
        return self.differences[0] if self.differences else None

    @property
    def is_by_judge_alone(self) -> bool:
        """True if the two verdicts differ in nothing but what a judge says."""
        return self.differing == ("NL_ASSERTION",)

    @property
    def both_rewards(self) -> str:
        """The recorded and the recomputed reward in words, or what differs if there is none."""
        if self.reward is None:
            return self.differences[0]
        return f"recorded {self.recorded:g}, recomputed {self.reward:g}"

    @property
    def foreign_ending(self) -> bool:
        """True if it ended in a way that its release does not have."""
        endings = {each.value for each in release_named(self.version).rules.loop.endings}
        return self.ending is not None and self.ending not in endings


@dataclass(frozen=True)
class NewVerdict:
    """The result of scoring again: a verdict, or the reason why there is none.

    ``so_far`` is the verdict without the judge who would be needed. Where that is a failure, it is
    the verdict: no judge can turn it.
    """

    reward_info: RewardInfo | None = None
    problem: str | None = None
    so_far: RewardInfo | None = None

    @classmethod
    def without_judge(cls, so_far: RewardInfo | None) -> "NewVerdict":
        """Build the result where a judge is missing or cannot be understood."""
        decided = so_far is not None and not is_successful(so_far["reward"])
        return cls(
            reward_info=so_far if decided else None,
            problem=None if decided else NEEDS_JUDGE,
            so_far=so_far,
        )


def rescore_simulation(
    item: RecordItem, task: Mapping[str, Any] | None, nl_model: Judge | None
) -> NewVerdict:
    """Score a simulation by a task, or without one by the benchmark's of the name it has."""
    if item.problem is not None:
        return NewVerdict(problem=item.problem)
    release = release_of(item.domain, item.version)
    if item.simulation["messages"] is None and release.rules.evaluation.messages_required:
        return NewVerdict(problem=MALFORMED)
    try:
        found = score_simulation(
            item.simulation,
            domain=item.domain,
            task=task,
            solo=item.solo,
            version=release,
            # v1.0.1 accepts other answers when it grades again.
            lenient_replay=release.rules.replay.can_be_lenient,
            nl_model=nl_model,
            texts=item.wording,
        )
    except (NoJudgeError, JudgeReplyError) as error:
        return NewVerdict.without_judge(error.so_far)
    except UnknownTaskError:
        return NewVerdict(problem=FOREIGN_TASK)
    return NewVerdict(found)


def compare_verdicts(item: RecordItem, new: NewVerdict) -> dict[str, Any]:
    """Compare the two verdicts, and return fields of ``RescoredSimulation``."""
    recorded, found = mapping(item.recorded), new.reward_info
    reward = number(recorded.get("reward"))
    fault = None if found is None or not replay_problem(found) else replay_fault(found)
    # The original writes zero for a model whose price it does not know.
    costs = [number(item.simulation.get(f"{side}_cost")) or None for side in ("agent", "user")]
    last = (item.simulation["messages"] or ())[-1:]
    return {
        "stopped": any(each["role"] == "user" and is_user_stop(each) for each in last),
        "seed": whole_number(item.simulation.get("seed")),
        "recorded": reward,
        "reward": None if found is None else found["reward"],
        "problem": new.problem,
        "fault": fault,
        "differences": () if reward is None else tuple(_differences(new, recorded, item.shown)),
        "contradiction": contradiction(recorded) or _shown_contradiction(item, reward),
        "differing": () if found is None or fault else tuple(_differing(found, recorded)),
        "unknown_tool": unknown_tool(item),
        "cost": total_cost(costs),
        "version": item.version,
        "shown": item.shown,
    }


def _shown_contradiction(item: RecordItem, reward: float | None) -> str | None:
    """Return how a report shows another verdict than that of its own checks, or None."""
    shown = item.shown
    if shown is None or reward is None or shown.kind not in ("pass", "fail"):
        return None
    if (shown.kind == "pass") != is_successful(reward):
        return f"it is recorded as {shown.kind!r}, but the reward of its own checks is {reward:g}"
    if shown.reward is not None and not _same(shown.reward, reward):
        return f"its reward is {shown.reward:g}, but that of its own checks is {reward:g}"
    return None


def _differences(
    new: NewVerdict, recorded: Mapping[str, object], shown: PrintedVerdict | None
) -> Iterator[str]:
    """Yield where a record, and what its report shows, differ from the new verdict."""
    if new.reward_info is None:
        return
    verdict: Mapping[str, object] = new.reward_info
    if new.so_far is not None:
        # The new verdict has no judge's part: leave it out of the recorded one as well.
        parts = mapping(recorded, "reward_breakdown")
        known = {kind: value for kind, value in parts.items() if kind != "NL_ASSERTION"}
        recorded = {**recorded, "reward_breakdown": known}
    for key in VERDICT:
        if not _same(verdict.get(key), recorded.get(key)):
            yield f"{key}: recorded {recorded.get(key)!r}, recomputed {verdict.get(key)!r}"
    outcome = "pass" if is_successful(new.reward_info["reward"]) else "fail"
    if shown is not None and shown.kind in ("pass", "fail") and outcome != shown.kind:
        yield f"outcome: recorded {shown.kind!r}, recomputed {outcome!r}"


def _same(one: object, other: object) -> bool:
    a, b = number(one), number(other)
    return one == other if a is None or b is None else abs(a - b) <= _TOLERANCE


def contradiction(verdict: Mapping[str, object]) -> str | None:
    """Return how a verdict contradicts its own checks, a sign that it was edited, or None."""
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
    """Return True if a check of a verdict passed; None if it was not made."""
    if kind not in _CHECKS:
        return None
    name, key = _CHECKS[kind]
    value = verdict.get(name)
    if value is None:
        return None
    return all(mapping(each).get(key) for each in ([value] if kind == "DB" else entries(value)))


def unknown_tool(item: RecordItem) -> str | None:
    """Return a tool that was called with success, and that the domain does not have."""
    kits = [kit for kit in (item.domain.toolkit, item.domain.user_toolkit) if kit is not None]
    names: dict[object, str] = {}
    for message in item.simulation["messages"] or ():
        for call in message.get("tool_calls") or ():
            names[call.get("id")] = call["name"]
        name = names.get(message.get("id")) if message.get("role") == "tool" else None
        if name and not message.get("error") and not any(kit.has_tool(name) for kit in kits):
            return name
    return None
