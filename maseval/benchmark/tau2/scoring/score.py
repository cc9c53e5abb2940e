"""score_simulation: a recorded conversation in, a verdict in v0.2.0's form out.

Its checks are the end state, actions, communication and judgement.

After tau2-bench v0.2.0, src/tau2/evaluator/ (MIT, Sierra Research).
"""

import math
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import AnyVersion
from maseval.benchmark.tau2.environment import tool_types
from maseval.benchmark.tau2.formats.message import (
    Tau2ToolCall,
    calls_in,
    describe_overrides,
    spoken_text,
)
from maseval.benchmark.tau2.formats.simulation import (
    ActionCheck,
    CommunicateCheck,
    DBCheck,
    EnvAssertionCheck,
    NLCheck,
    ReplayProblem,
    RewardInfo,
)
from maseval.benchmark.tau2.scoring.case import AnyTask, Case, open_case, release_of_task
from maseval.benchmark.tau2.scoring.judge import JudgeReplyError, NoJudgeError, judge
from maseval.benchmark.tau2.scoring.rule import DOMAIN, RULE, VERSION, decide_by_rule
from maseval.benchmark.tau2.versions import RuleSet
from maseval.benchmark.tau2.wording import AnyTexts, wording_of
from maseval.benchmark.tau2.world.setting import gold_state, look_at_end
from maseval.benchmark.tau2.world.tasks import Criteria, RewardType
from maseval.benchmark.tau2.world.world import ReplayError, StateMatch, World
from maseval.core.exceptions import ConfigurationError
from maseval.core.judge import Judge
from maseval.core.model import ModelAdapter
from maseval.data.folder import AnyPath


class CheckOutcome(NamedTuple):
    """The outcome of one check: the reward of each of its parts, and its part of a verdict."""

    rewards: Mapping[RewardType, float] = {}
    found: Mapping[str, Any] = {}
    note: str | None = None
    match: StateMatch | None = None


class EndState(NamedTuple):
    """The findings at a conversation's end: which databases match, which assertions hold."""

    match: StateMatch
    met: list[bool]


def check_environment(case: Case, criteria: Criteria) -> CheckOutcome:
    """Replay the conversation and compare its end state with the gold state.

    A conversation whose replay gives other answers raises a ``ReplayError``.
    """
    if not criteria.look_at_the_world:
        # As in the original: where nothing is looked for, the databases count as matching.
        untouched: DBCheck = {"db_match": True, "db_reward": 1.0}
        return CheckOutcome(
            found={"db_check": untouched}, note="No expected actions or env assertions"
        )
    forms = [each.model_dump() for each in criteria.env_assertions or ()]  # the verdict's own

    def look(world: World) -> EndState:
        match = world.compare(gold_state(case.setting).world)
        # The assertions come last: they may change the world they look at.
        return EndState(match, [_holds(world, each) for each in forms])

    match, met = look_at_end(case.stage, case.task, case.messages, look)
    db: DBCheck = {"db_match": all(match), "db_reward": float(all(match))}
    asserted: list[EnvAssertionCheck] = [
        {"env_assertion": form, "met": holds, "reward": float(holds)}
        for form, holds in zip(forms, met, strict=True)
    ]
    return CheckOutcome(
        {RewardType.DB: db["db_reward"], RewardType.ENV_ASSERTION: float(all(met))},
        {"db_check": db, "env_assertions": asserted},
        match=match,
    )


def _holds(world: World, assertion: Mapping[str, Any]) -> bool:
    try:
        return world.check(assertion)
    except Exception as error:  # a task's function in a world it did not foresee: a finding
        raise ReplayError(str(error), None, assertion, original=error) from error


def check_actions(case: Case, criteria: Criteria) -> CheckOutcome:
    """Was every action of the reference solution taken, by whomever and whenever?"""
    if not criteria.actions:
        return CheckOutcome({RewardType.ACTION: 1.0}, note="No actions to evaluate")
    calls: dict[str, list[Tau2ToolCall]] = {action.name: [] for action in criteria.actions}
    for call in calls_in(case.messages):
        if call["name"] in calls:
            calls[call["name"]].append(call)
    taken = [any(map(action.matches, calls[action.name])) for action in criteria.actions]
    checks: list[ActionCheck] = [
        {"action": each.model_dump(), "action_match": found, "action_reward": float(found)}
        for each, found in zip(criteria.actions, taken, strict=True)
    ]
    if case.rules.evaluation.names_tool_types:
        types = tool_types(case.setting.domain)
        for check in checks:
            check["tool_type"] = types.get(str(check["action"]["name"]))
    return CheckOutcome({RewardType.ACTION: float(all(taken))}, {"action_checks": checks})


def check_communication(case: Case, criteria: Criteria) -> CheckOutcome:
    """Did the agent say all that it had to say?"""
    if not criteria.communicate_info:
        return CheckOutcome({RewardType.COMMUNICATE: 1.0}, note="No communicate_info to evaluate")
    said = [(text, text.lower().replace(",", "")) for text in _said_by_agent(case)]
    checks = [_check_info(info, said) for info in criteria.communicate_info]
    reward = float(all(check["met"] for check in checks))
    return CheckOutcome({RewardType.COMMUNICATE: reward}, {"communicate_checks": checks})


def _said_by_agent(case: Case) -> list[str]:
    spoken = [spoken_text(each) for each in case.messages if each["role"] == "assistant"]
    return [text for text in spoken if text]


def _check_info(info: str, said: Sequence[tuple[str, str]]) -> CommunicateCheck:
    # Commas are taken out of what was said only, as in the original: one in the task's own text
    # can never be found.
    wanted = info.lower()
    for content, plain in said:
        if wanted in plain:
            where = f"Information '{info}' communicated in the message:\n '{content}'"
            return {"info": info, "met": True, "justification": where}
    return {"info": info, "met": False, "justification": f"Information '{info}' not communicated."}


def check_nl_assertions(
    case: Case,
    criteria: Criteria,
    model: ModelAdapter | Judge | None,
    environment: CheckOutcome | None = None,
    *,
    strict: bool = False,
) -> CheckOutcome:
    """Does a judge find that the conversation is as the task's author wanted it?

    The ``environment`` is that check's outcome, for a judge that goes by the end state.
    """
    if not criteria.nl_assertions:
        return CheckOutcome(
            {RewardType.NL_ASSERTION: 1.0},
            {"nl_assertions": []},
            note="No nl_assertions to evaluate",
        )
    if model is None:
        raise NoJudgeError(
            f"the task has {len(criteria.nl_assertions)} natural-language assertions and there is "
            "no model to judge them; give one as nl_model"
        )
    if isinstance(model, Judge) and model.model == RULE:
        checks = _check_by_rule(case, criteria, environment or check_environment(case, criteria))
    else:
        checks = judge(
            model, case.messages, criteria.nl_assertions, strict=strict, wording=case.wording
        )
    reward = float(all(check["met"] for check in checks))
    return CheckOutcome({RewardType.NL_ASSERTION: reward}, {"nl_assertions": checks})


def _check_by_rule(case: Case, criteria: Criteria, environment: CheckOutcome) -> list[NLCheck]:
    assert criteria.nl_assertions
    known = (case.setting.domain.name, case.rules.version) == (DOMAIN, VERSION)
    said = _said_by_agent(case)
    ended = None if environment.match is None else all(environment.match)
    info = criteria.communicate_info or ()
    checks = decide_by_rule(criteria.nl_assertions, info, said, ended) if known else None
    if checks is None:
        raise NoJudgeError(
            f"the judge {RULE!r} cannot decide these assertions: it is made for the {DOMAIN} tasks "
            f"of {VERSION}; name a model with --judge-model"
        )
    return checks


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

    @property
    def ignores_basis(self) -> bool:
        return self.endswith("_ignore_basis")


class Verdict(NamedTuple):
    """A verdict, and which database matched the gold state if that was checked."""

    reward_info: RewardInfo
    match: StateMatch | None = None


def score_simulation(
    simulation: Mapping[str, object],
    *,
    domain: str | Domain,
    task: AnyTask | None = None,
    evaluation_type: str = "all",
    solo: bool = False,
    nl_model: ModelAdapter | Judge | None = None,
    strict: bool = False,
    data_dir: AnyPath | None = None,
    version: AnyVersion = None,
    lenient_replay: bool = False,
    texts: AnyTexts = None,
) -> RewardInfo:
    """Score one recorded simulation exactly as tau2-bench does, v0.2.0 unless another is named.

    Args:
        simulation: A simulation in v0.2.0's form.
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
    if evaluation_type not in (known := release.rules.evaluation.types):
        raise ConfigurationError(
            f"evaluation_type is {evaluation_type!r}; choose one of: {', '.join(known)}"
        )
    case = open_case(
        simulation,
        domain,
        task,
        solo=solo,
        data_dir=data_dir,
        version=release,
        lenient_replay=lenient_replay,
    )
    # Words matter to a judge alone, and looking for the original's takes time.
    if nl_model is not None:
        case = case._replace(wording=wording_of(texts, release))
    kind = EvaluationType(evaluation_type)
    return score(case, kind, nl_model=nl_model, strict=strict).reward_info


def score(
    case: Case,
    kind: EvaluationType = EvaluationType.ALL,
    *,
    nl_model: ModelAdapter | Judge | None = None,
    strict: bool = False,
) -> Verdict:
    """Return the verdict on a conversation; no check is run on one that neither side ended."""
    if not case.recording.ended_by_choice:
        reason = case.recording.termination_reason
        shown = case.rules.evaluation.reason_text(reason) if reason else "none recorded"
        note = f"Simulation terminated prematurely. Termination reason: {shown}"
        return Verdict(_unscored_verdict(0.0, note, case.rules))
    criteria = case.task.evaluation_criteria
    if criteria is None:
        return Verdict(_unscored_verdict(1.0, "No evaluation criteria", case.rules))
    try:
        verdict = _verdict(case, criteria, kind, nl_model, strict)
    except ReplayError as error:
        if strict:
            # With ``strict``, callers see the exceptions of the original.
            raise error.original from error
        return Verdict(_not_replayable(error))
    except NoJudgeError as error:
        if strict:
            raise ValueError(str(error)) from error
        raise
    if (words := describe_overrides(case.recording.messages)) is not None:
        info = verdict.reward_info["info"] or {}
        verdict.reward_info["info"] = {**info, "overrides": words}
    return verdict


def _verdict(
    case: Case,
    criteria: Criteria,
    kind: EvaluationType,
    nl_model: ModelAdapter | Judge | None,
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
    if kind.ignores_basis:
        case = case.strictly()  # as in the original, whatever was asked for
    checks: dict[str, CheckOutcome | None] = {
        "env": check_environment(case, criteria),
        "action": check_actions(case, criteria),
        "nl": None,
        "communicate": check_communication(case, criteria),
    }
    try:
        if _needs_judge(kind, case, criteria, nl_model):
            checks["nl"] = check_nl_assertions(
                case, criteria, nl_model, checks["env"], strict=strict
            )
    except (NoJudgeError, JudgeReplyError) as error:
        # Whoever catches it may need no judge: what has failed by another check fails anyway.
        error.so_far, error.match = _combine(checks, criteria)
        raise
    return _combine(checks, criteria, every=kind.ignores_basis)


def _needs_judge(
    kind: EvaluationType, case: Case, criteria: Criteria, nl_model: ModelAdapter | Judge | None
) -> bool:
    # The type that ignores the basis begins with the same words.
    if kind.startswith(EvaluationType.ALL_WITH_NL_ASSERTIONS):
        return True
    if kind.ignores_basis or RewardType.NL_ASSERTION not in criteria.reward_basis:
        return False
    if nl_model is None and not case.rules.evaluation.judge_in_all:
        raise NoJudgeError(_NL_NOT_EVALUATED)
    return True


def _combine(
    checks: Mapping[str, CheckOutcome | None], criteria: Criteria, *, every: bool = False
) -> Verdict:
    """Return the task's reward: the product of what its author asked for.

    All checks are run and reported; those outside the reward basis are not scored, unless ``every``
    one counts: then, of the environment's two parts, still those in the basis.
    """
    breakdown: dict[str, float] = {}
    found: dict[str, Any] = {}
    basis, match = criteria.reward_basis, None
    # The keys of a breakdown have the order in which the original writes them.
    for name in ("env", "action", "communicate", "nl") if every else checks:
        if (check := checks[name]) is not None:
            found.update(check.found)
            match = match or check.match
            counted = check.rewards if every and name != "env" else basis
            breakdown |= _counting(check.rewards, counted)
    if every:
        basis = [RewardType.DB, RewardType.ENV_ASSERTION, RewardType.ACTION, RewardType.COMMUNICATE]
        basis += [RewardType.NL_ASSERTION] if checks["nl"] else []
    info: dict[str, object] = {
        name: _note(checks[name]) for name in ("env", "nl", "communicate", "action")
    }
    reward = math.prod(breakdown.values(), start=1.0)
    return Verdict(_reward_info(reward, found, basis, breakdown, info), match)


def _one(check: CheckOutcome, criteria: Criteria | None = None) -> Verdict:
    """The verdict of a single check; of the environment's two parts, those in the basis count."""
    note = _note(check)
    if not check.rewards:
        return Verdict(_reward_info(1.0, check.found, info=note))
    breakdown = _counting(check.rewards, criteria.reward_basis if criteria else check.rewards)
    reward = math.prod(breakdown.values(), start=1.0)
    basis = criteria.reward_basis if criteria else [RewardType.DB]
    return Verdict(_reward_info(reward, check.found, basis, breakdown, note), check.match)


def _note(check: CheckOutcome | None) -> dict[str, object] | None:
    return {"note": check.note} if check and check.note else None


def _counting(
    rewards: Mapping[RewardType, float], counted: Collection[RewardType]
) -> dict[str, float]:
    return {kind.value: reward for kind, reward in rewards.items() if kind in counted}


def _unscored_verdict(reward: float, note: str, rules: RuleSet) -> RewardInfo:
    basis = rules.evaluation.unscored_basis
    verdict = _reward_info(reward, {}, info={"note": note})
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
    return _reward_info(0.0, {}, info={"replay_error": problem})


def _reward_info(
    reward: float,
    found: Mapping[str, Any],
    basis: list[RewardType] | None = None,
    breakdown: dict[str, float] | None = None,
    info: dict[str, object] | None = None,
) -> RewardInfo:
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
