"""One report judged again, and the evidence why its record says otherwise.

``judge`` is the one function that does it, for a simulation of a run and for one of a file.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.domains import Domain, UnknownDomainError, domain_named
from maseval.benchmark.tau2.domains.releases import Release, release_named, release_of
from maseval.benchmark.tau2.formats.message import is_user_stop
from maseval.benchmark.tau2.formats.simulation import RewardInfo, TerminationReason, replay_problem
from maseval.benchmark.tau2.results import Omitted
from maseval.benchmark.tau2.results.recorded import FILED, MALFORMED
from maseval.benchmark.tau2.results.writing import Tau2Report
from maseval.benchmark.tau2.review.explain.evidence import ReplayFault, replay_fault
from maseval.benchmark.tau2.scoring.judge import JudgeReplyError, NoJudgeError
from maseval.benchmark.tau2.scoring.score import VERDICT, score_simulation
from maseval.core.exceptions import ConfigurationError
from maseval.core.judge import Judge
from maseval.core.outcome import Simulation, total_cost
from maseval.core.recorded import entries, mapping, number, whole_number
from maseval.core.report import (
    AGENT_FAILURES,
    RERUN_STATUSES,
    UNEVALUATED,
    TaskExecutionStatus,
)
from maseval.core.report_parts import is_successful
from maseval.core.words import text_or_none


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
# Other programs may multiply the parts of a reward in another order.
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
class JudgedSimulation:
    """A recorded simulation and its new verdict.

    ``checked_task`` is the other task to which its recorded checks belong. Without a ``reward``,
    its ``problem`` says why. ``contradiction`` is within the recorded verdict, ``differing`` lists
    the checks that came out otherwise. It is ``open`` if only a judge can decide it, and there was
    none, or one whose reply cannot be read. ``status`` is what the report of a run shows of it.
    ``stopped`` if the user's stop is its last message. ``checks`` are those of the new verdict.
    """

    slot: Simulation
    ending: str | None
    stopped: bool
    seed: int | None
    status: str | None = None
    marks: Mapping[str, str] = field(default_factory=dict)
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
    checks: RewardInfo | None = None

    @property
    def passed(self) -> bool:
        return self.reward is not None and is_successful(self.reward)

    @property
    def no_verdict(self) -> str | None:
        """The reason why nobody can tell whether it passed; None if it has a verdict.

        What the agent broke off is its failure. An accident after which the user ended the
        conversation is none.
        """
        if self.status in AGENT_FAILURES:
            return None
        broken = self.status if self.status in RERUN_STATUSES else None
        # A release that does not know this ending has no accidents: there it is a failure.
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
        finished = (None, TaskExecutionStatus.SUCCESS.value, *UNEVALUATED)
        return self.status not in finished and self.stopped

    @property
    def misstatement(self) -> str | None:
        """The difference between the recorded verdict and the recomputed one; None if it holds."""
        if self.contradiction:
            return self.contradiction
        if self.is_relabelled:
            return f"recorded as {self.status}, but its last message is the user's stop"
        return self.differences[0] if self.differences else None

    @property
    def is_explained(self) -> bool:
        """True if there is a finding of its own for why the two verdicts differ."""
        faulty = self.contradiction or self.fault or self.checked_task
        return bool(faulty) or self.foreign_ending or self.is_by_judge_alone

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


def rules_for(
    report: Tau2Report, domain: Domain | None = None, version: str | None = None
) -> tuple[Domain, Release]:
    """Return the domain and the release by which a report is judged; what is given counts.

    Without them it is judged by the release that it was run by, or the one its domain belongs to.
    """
    recorded = text_or_none(report.settings.get("version"))
    found = _domain_of(report, recorded) if domain is None else domain
    release = release_of(found, version or recorded)
    found = release.domain(found)
    return found.lenient if report.lenient else found, release


def _domain_of(report: Tau2Report, version: str | None) -> Domain:
    if (name := report.domain_name) is None:
        raise ConfigurationError(
            "a simulation does not name its domain; pass it, such as domain='retail' "
            "(--domain retail)"
        )
    try:
        # A release may have the domain in a form of its own.
        return domain_named(name) if version is None else release_named(version).domain(name)
    except UnknownDomainError as error:
        way_out = "if the simulations are of a variant of one of them, name it with --domain"
        raise UnknownDomainError(f"{error}; {way_out}") from None


def judge(
    report: Tau2Report,
    domain: Domain,
    release: Release,
    trial: int,
    *,
    task: Mapping[str, Any] | None = None,
    model: Judge | None = None,
) -> JudgedSimulation:
    """Judge a report again: by a task, or without one by the benchmark's of the name it has.

    ``model`` decides natural-language assertions. Where it is missing or cannot be understood,
    the verdict stands that no judge can turn.
    """
    simulation, problem = conversation_in(report)
    slot = Simulation(domain.name, str(simulation.get("task_id")), trial)
    if simulation["messages"] is None and release.rules.evaluation.messages_required:
        problem = problem or MALFORMED
    checks: RewardInfo | None = None
    without_judge = False
    if model is not None:
        # The answers of a judge are kept by simulation.
        model.key = slot._asdict()
    try:
        if problem is None:
            checks = score_simulation(
                simulation,
                domain=domain,
                task=task,
                solo=report.solo,
                version=release,
                # v1.0.1 accepts other answers when it grades again.
                lenient_replay=release.rules.replay.can_be_lenient,
                nl_model=model,
                texts=text_or_none(report.texts.get("name")),
            )
    except (NoJudgeError, JudgeReplyError) as error:
        checks = error.certain_failure
        without_judge, problem = checks is not None, None if checks else NEEDS_JUDGE
    except UnknownTaskError:
        problem = FOREIGN_TASK
    recorded = _recorded_verdict(report)
    reward = number(recorded.get("reward"))
    fault = None if checks is None or not replay_problem(checks) else replay_fault(checks)
    differences: list[str] = []
    if checks is not None and reward is not None:
        differences = [
            *_differences(checks, recorded, without_judge),
            *_other_outcome(report, checks),
        ]
    # The original writes zero for a model whose price it does not know.
    costs = [number(simulation.get(f"{side}_cost")) or None for side in ("agent", "user")]
    return JudgedSimulation(
        slot,
        simulation.get("termination_reason"),
        any(map(_stops, (simulation["messages"] or ())[-1:])),
        whole_number(simulation.get("seed")),
        None if FILED in report.raw else report.status,
        recorded=reward,
        reward=None if checks is None else checks["reward"],
        problem=problem,
        differences=tuple(differences),
        fault=fault,
        unknown_tool=unknown_tool(simulation, domain),
        contradiction=contradiction(recorded) or _shown_contradiction(report, reward),
        differing=() if checks is None or fault else tuple(_differing(checks, recorded)),
        cost=total_cost(costs),
        version=release.name,
        checks=checks,
    )


def conversation_in(report: Tau2Report) -> tuple[Mapping[str, Any], str | None]:
    """Return the simulation of a report, and why it cannot be judged if that is so."""
    if FILED in report.raw:
        return report.conversation, text_or_none(mapping(report.raw, FILED).get("problem"))
    found = report.form
    if not isinstance(found, Omitted):
        return found, None
    # The user's stop shows that it was no accident, whatever the record calls it.
    last = [each for each in entries(report.conversation.get("messages"))[-1:] if _stops(each)]
    named = {"task_id": found.task_id, "trial": found.trial, "messages": last}
    return named, f"{found.status}: {found.reason.partition(':')[0]}"


def _stops(message: Any) -> bool:
    return mapping(message).get("role") == "user" and is_user_stop(message)


def _recorded_verdict(report: Tau2Report) -> Mapping[str, object]:
    """Return the verdict of a report; where its checks are not there, by its outcome alone."""
    found = report.recorded_verdict
    if found or report.kind not in ("pass", "fail"):
        return found
    reward = report.reward
    return {"reward": float(report.kind == "pass") if reward is None else reward}


def _shown_contradiction(report: Tau2Report, reward: float | None) -> str | None:
    """Return how a report shows another verdict than that of its own checks, or None."""
    kind = report.kind
    if reward is None or kind not in ("pass", "fail"):
        return None
    if (kind == "pass") != is_successful(reward):
        return f"it is recorded as {kind!r}, but the reward of its own checks is {reward:g}"
    if report.reward is not None and not _same(report.reward, reward):
        return f"its reward is {report.reward:g}, but that of its own checks is {reward:g}"
    return None


def _differences(
    verdict: RewardInfo, recorded: Mapping[str, object], without_judge: bool
) -> Iterator[str]:
    """Yield where a recorded verdict differs from the new one."""
    if without_judge:
        # The new verdict has no judge's part: leave it out of the recorded one as well.
        parts = mapping(recorded, "reward_breakdown")
        known = {kind: value for kind, value in parts.items() if kind != "NL_ASSERTION"}
        recorded = {**recorded, "reward_breakdown": known}
    for key in VERDICT:
        if not _same(mapping(verdict).get(key), recorded.get(key)):
            yield f"{key}: recorded {recorded.get(key)!r}, recomputed {mapping(verdict).get(key)!r}"


def _other_outcome(report: Tau2Report, verdict: RewardInfo) -> Iterator[str]:
    """Yield how the outcome that a report shows differs from the new one."""
    outcome = "pass" if is_successful(verdict["reward"]) else "fail"
    if FILED not in report.raw and report.kind in ("pass", "fail") and outcome != report.kind:
        yield f"outcome: recorded {report.kind!r}, recomputed {outcome!r}"


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
    # A reward is the product of its parts: if only one of the two was edited, this shows it.
    parts = [part for value in breakdown.values() if (part := number(value)) is not None]
    if reward is None or not parts or _same(math.prod(parts), reward):
        return None
    return f"its reward is {reward:g}, but its own breakdown gives {math.prod(parts):g}"


def _differing(found: RewardInfo, recorded: Mapping[str, object]) -> Iterator[str]:
    # Some forks record the reward alone.
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


def unknown_tool(simulation: Mapping[str, Any], domain: Domain) -> str | None:
    """Return a tool that was called with success, and that the domain does not have."""
    names: dict[object, str] = {}
    for message in simulation["messages"] or ():
        for call in message.get("tool_calls") or ():
            names[call.get("id")] = call["name"]
        name = names.get(message.get("id")) if message.get("role") == "tool" else None
        # An error is what every domain answers to a tool that it lacks.
        if name and not message.get("error") and not domain.has_tool(name):
            return name
    return None
