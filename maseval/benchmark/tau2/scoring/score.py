"""score_simulation: a recorded conversation in, a verdict in v0.2.0's form out.

After tau2-bench v0.2.0, src/tau2/evaluator/evaluator.py (MIT, Sierra Research).
"""

import math
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import NamedTuple

from maseval.benchmark.tau2.conversation.recording import HasSimulation, read_recording
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.domains.releases import AnyVersion
from maseval.benchmark.tau2.formats.simulation import ReplayProblem, RewardInfo
from maseval.benchmark.tau2.scoring.case import AnyTask, Case, case_of, release_of_task
from maseval.benchmark.tau2.scoring.checks import (
    CheckOutcome,
    Findings,
    check_actions,
    check_communication,
    check_environment,
    check_nl_assertions,
)
from maseval.benchmark.tau2.scoring.judge import JudgeReplyError, NoJudgeError
from maseval.benchmark.tau2.versions import RuleSet
from maseval.benchmark.tau2.wording import AnyTexts, wording_of
from maseval.benchmark.tau2.world.replay import ReplayError
from maseval.benchmark.tau2.world.tasks import Criteria, RewardType
from maseval.benchmark.tau2.world.world import StateMatch
from maseval.core.exceptions import ConfigurationError
from maseval.core.model import ModelAdapter
from maseval.data.store import AnyPath

VERDICT = ("reward", "reward_breakdown", "db_check")
"""The keys of a verdict that every release which writes results files means the same by."""

_NL_NOT_EVALUATED = "NL assertions are part of the reward basis, but they are not being evaluated."


class EvaluationType(StrEnum):
    """The checks to run; in v0.2.0, ``all`` means all but those that need a judge.

    The last two, which v0.2.0 does not have, count every check, whatever the task's author says.
    """

    ALL = "all"
    ENV = "env"
    ACTION = "action"
    COMMUNICATE = "communicate"
    NL_ASSERTIONS = "nl_assertions"
    ALL_WITH_NL_ASSERTIONS = "all_with_nl_assertions"
    ALL_IGNORE_BASIS = "all_ignore_basis"
    ALL_WITH_NL_ASSERTIONS_IGNORE_BASIS = "all_with_nl_assertions_ignore_basis"


_JUDGED = (
    EvaluationType.ALL_WITH_NL_ASSERTIONS,
    EvaluationType.ALL_WITH_NL_ASSERTIONS_IGNORE_BASIS,
)
_WHATEVER_THE_BASIS = (
    EvaluationType.ALL_IGNORE_BASIS,
    EvaluationType.ALL_WITH_NL_ASSERTIONS_IGNORE_BASIS,
)


class Verdict(NamedTuple):
    """A verdict, and which database matched the gold state if that was checked."""

    reward_info: RewardInfo
    match: StateMatch | None = None


def score_simulation(
    simulation: Mapping[str, object] | HasSimulation,
    *,
    domain: str | Domain,
    task: AnyTask | None = None,
    evaluation_type: str = "all",
    solo: bool = False,
    nl_model: ModelAdapter | None = None,
    strict: bool = False,
    data_dir: AnyPath | None = None,
    version: AnyVersion = None,
    lenient_replay: bool = False,
    texts: AnyTexts = None,
) -> RewardInfo:
    """Score one recorded simulation exactly as tau2-bench does, v0.2.0 unless another is named.

    Args:
        simulation: A simulation in v0.2.0's form, or something with ``to_simulation()``.
        domain: The domain's name, or a domain object of your own.
        task: The task, in v0.2.0's form or from ``load_tasks``; without it, the one that the
            simulation names is looked up in the domain's data.
        evaluation_type: ``all``, ``env``, ``action``, ``communicate``, ``nl_assertions`` or
            ``all_with_nl_assertions``; in v1.0.1 also ``all_ignore_basis`` and
            ``all_with_nl_assertions_ignore_basis``.
        solo: The agent worked without a user and held both sides' tools.
        nl_model: Judges natural-language assertions. With it, ``all`` includes them for tasks
            whose reward depends on them; without it, such tasks raise ``NoJudgeError``.
        strict: Raise what the original raises for a conversation that cannot be replayed, and
            read a judge's reply as it does. Otherwise such a conversation has reward 0.0, and
            ``info["replay_error"]`` says where it went wrong.
        data_dir: A data folder other than the cache.
        version: Whose rules, tools and tasks: ``0.2.0``, ``1.0.1``, or ``1.0.1+tasks.0.2.0`` for
            the tasks of one under the rules of the other. Without it, what the task or the domain
            object says.
        lenient_replay: Accept answers that differ from the recorded ones; v0.2.0 never does.
        texts: In whose words ``nl_model`` is asked, ``original`` or ``ours``; by default the
            original's if they are on this machine.
    """
    release = release_of_task(domain, task, version)
    rules = release.rules.leniently() if lenient_replay else release.rules
    recording = read_recording(simulation, messages_required=rules.evaluation.messages_required)
    chosen = domain_named(domain)
    kind = _evaluation_type(evaluation_type, rules)
    if not recording.ended_by_choice:
        return cut_off(recording.termination_reason, rules)
    case = case_of(
        recording,
        chosen,
        task,
        solo=solo,
        data_dir=data_dir,
        release=release,
        lenient_replay=lenient_replay,
    )
    if nl_model is not None:
        case = case._replace(wording=wording_of(texts, release))
    return score(case, kind, nl_model=nl_model, strict=strict).reward_info


def score(
    case: Case,
    kind: EvaluationType = EvaluationType.ALL,
    *,
    nl_model: ModelAdapter | None = None,
    strict: bool = False,
) -> Verdict:
    """Return the verdict on a conversation; no check is run on one that neither side ended."""
    if not case.recording.ended_by_choice:
        return Verdict(cut_off(case.recording.termination_reason, case.rules))
    criteria = case.task.evaluation_criteria
    if criteria is None:
        return Verdict(_unscored_verdict(1.0, "No evaluation criteria", case.rules))
    try:
        return _verdict(case, criteria, kind, nl_model, strict)
    except ReplayError as error:
        if strict:
            raise error.original from error
        return Verdict(_not_replayable(error))
    except NoJudgeError as error:
        if strict:
            raise ValueError(str(error)) from error
        raise


def _verdict(
    case: Case,
    criteria: Criteria,
    kind: EvaluationType,
    nl_model: ModelAdapter | None,
    strict: bool,
) -> Verdict:
    match kind:
        case EvaluationType.ENV:
            return _one(check_environment(case, criteria), criteria)
        case EvaluationType.ACTION:
            return _one(check_actions(case, criteria))
        case EvaluationType.COMMUNICATE:
            return _one(check_communication(case, criteria))
        case EvaluationType.NL_ASSERTIONS:
            return _one(check_nl_assertions(case, criteria, nl_model, strict=strict))
    if kind in _WHATEVER_THE_BASIS:
        case = case.strictly()  # as in the original, whatever was asked for
    checks: dict[str, CheckOutcome | None] = {
        "env": check_environment(case, criteria),
        "action": check_actions(case, criteria),
        "nl": None,
        "communicate": check_communication(case, criteria),
    }
    try:
        if _needs_judge(kind, case, criteria, nl_model):
            checks["nl"] = check_nl_assertions(case, criteria, nl_model, strict=strict)
    except (NoJudgeError, JudgeReplyError) as error:
        error.so_far, error.match = combine(checks, criteria)
        raise
    if kind in _WHATEVER_THE_BASIS:
        return _combine_all(checks, criteria)
    return combine(checks, criteria)


def _needs_judge(
    kind: EvaluationType, case: Case, criteria: Criteria, nl_model: ModelAdapter | None
) -> bool:
    if kind in _JUDGED:
        return True
    if kind in _WHATEVER_THE_BASIS or RewardType.NL_ASSERTION not in criteria.reward_basis:
        return False
    if nl_model is None and not case.rules.evaluation.judge_in_all:
        raise NoJudgeError(_NL_NOT_EVALUATED)
    return True


def combine(checks: Mapping[str, CheckOutcome | None], criteria: Criteria) -> Verdict:
    """Return the task's reward: the product of what its author asked for.

    All checks are run and reported; those outside the reward basis are not scored.
    """
    breakdown: dict[str, float] = {}
    basis = criteria.reward_basis
    for check in checks.values():
        if check is not None:
            breakdown |= _counting(check.rewards, basis)
    return _build_verdict(checks, breakdown, basis)


def _combine_all(checks: Mapping[str, CheckOutcome | None], criteria: Criteria) -> Verdict:
    """The product of everything; of the environment's two parts, still those in the basis."""
    breakdown: dict[str, float] = {}
    for name in ("env", "action", "communicate", "nl"):
        check = checks[name]
        if check is not None:
            counted = criteria.reward_basis if name == "env" else check.rewards
            breakdown |= _counting(check.rewards, counted)
    basis = [RewardType.DB, RewardType.ENV_ASSERTION, RewardType.ACTION, RewardType.COMMUNICATE]
    judged = [RewardType.NL_ASSERTION] if checks["nl"] else []
    return _build_verdict(checks, breakdown, basis + judged)


def _build_verdict(
    checks: Mapping[str, CheckOutcome | None], breakdown: dict[str, float], basis: list[RewardType]
) -> Verdict:
    findings: Findings = {}
    match = None
    for check in checks.values():
        if check is not None:
            findings.update(check.findings)
            match = match or check.match
    info: dict[str, object] = {
        name: _note(checks[name]) for name in ("env", "nl", "communicate", "action")
    }
    reward = math.prod(breakdown.values(), start=1.0)
    reward_info = _reward_info(reward, findings, basis, breakdown, info)
    return Verdict(reward_info, match)


def _one(check: CheckOutcome, criteria: Criteria | None = None) -> Verdict:
    """The verdict of a single check; of the environment's two parts, those in the basis count."""
    note = _note(check)
    if not check.rewards:
        return Verdict(_reward_info(1.0, check.findings, info=note))
    breakdown = _counting(check.rewards, criteria.reward_basis if criteria else check.rewards)
    reward = math.prod(breakdown.values(), start=1.0)
    basis = criteria.reward_basis if criteria else [RewardType.DB]
    return Verdict(_reward_info(reward, check.findings, basis, breakdown, note), check.match)


def _note(check: CheckOutcome | None) -> dict[str, object] | None:
    return {"note": check.note} if check and check.note else None


def _counting(
    rewards: Mapping[RewardType, float], counted: Collection[RewardType]
) -> dict[str, float]:
    return {kind.value: reward for kind, reward in rewards.items() if kind in counted}


def cut_off(reason: str | None, rules: RuleSet) -> RewardInfo:
    """Return the verdict on a simulation that neither side ended: no check is run."""
    shown = rules.evaluation.reason_text(reason) if reason else "none recorded"
    note = f"Simulation terminated prematurely. Termination reason: {shown}"
    return _unscored_verdict(0.0, note, rules)


def _unscored_verdict(reward: float, note: str, rules: RuleSet) -> RewardInfo:
    basis = rules.evaluation.unscored_basis
    verdict = _reward_info(reward, info={"note": note})
    return {**verdict, "reward_basis": None if basis is None else list(basis)}


def _not_replayable(error: ReplayError) -> RewardInfo:
    problem: ReplayProblem = {
        "message_index": error.index,
        "call": error.call,
        "expected": error.expected,
        "found": error.found,
        "error": str(error),
        "error_type": type(error.original).__name__,
    }
    return _reward_info(0.0, info={"replay_error": problem})


def _reward_info(
    reward: float,
    findings: Findings | None = None,
    basis: list[RewardType] | None = None,
    breakdown: dict[str, float] | None = None,
    info: dict[str, object] | None = None,
) -> RewardInfo:
    found = findings or {}
    return {
        "reward": reward,
        "db_check": found.get("db_check"),
        "env_assertions": found.get("env_assertions"),
        "action_checks": found.get("action_checks"),
        "nl_assertions": found.get("nl_assertions"),
        "communicate_checks": found.get("communicate_checks"),
        "reward_basis": ["DB"] if basis is None else [kind.value for kind in basis],
        "reward_breakdown": breakdown,
        "info": info,
    }


def _evaluation_type(name: str, rules: RuleSet) -> EvaluationType:
    if name not in rules.evaluation.types:
        raise ConfigurationError(
            f"evaluation_type is {name!r}; choose one of: {', '.join(rules.evaluation.types)}"
        )
    return EvaluationType(name)
