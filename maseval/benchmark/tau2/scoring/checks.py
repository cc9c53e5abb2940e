"""The checks of a finished conversation: end state, actions, communication, judgement.

After tau2-bench v0.2.0, src/tau2/evaluator/ (MIT, Sierra Research).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from maseval.benchmark.tau2.environment import tool_types
from maseval.benchmark.tau2.formats.message import Tau2ToolCall, calls_in, spoken_text
from maseval.benchmark.tau2.formats.simulation import (
    ActionCheck,
    CommunicateCheck,
    DBCheck,
    EnvAssertionCheck,
    NLCheck,
)
from maseval.benchmark.tau2.scoring.case import Case
from maseval.benchmark.tau2.scoring.judge import NoJudgeError, judge
from maseval.benchmark.tau2.world.reference import gold_state
from maseval.benchmark.tau2.world.replay import ReplayError
from maseval.benchmark.tau2.world.retracing import look_at_end
from maseval.benchmark.tau2.world.tasks import Criteria, RewardType
from maseval.benchmark.tau2.world.world import StateMatch, World
from maseval.core.model import ModelAdapter


class Findings(TypedDict, total=False):
    """The parts of a verdict that checks fill in, each its own."""

    db_check: DBCheck
    env_assertions: list[EnvAssertionCheck]
    action_checks: list[ActionCheck]
    nl_assertions: list[NLCheck]
    communicate_checks: list[CommunicateCheck]


class CheckOutcome(NamedTuple):
    """The outcome of one check: the reward of each of its parts, and the evidence."""

    rewards: Mapping[RewardType, float] = {}
    findings: Findings = Findings()
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
        untouched: DBCheck = {"db_match": True, "db_reward": 1.0}
        return CheckOutcome(
            findings={"db_check": untouched}, note="No expected actions or env assertions"
        )
    stage, forms = case.stage, criteria.assertion_forms()

    def look(world: World) -> EndState:
        match = world.compare(gold_state(case.setting, stage.files).world)
        # The assertions come last: they may change the world they look at.
        return EndState(match, [_holds(world, each) for each in forms])

    match, met = look_at_end(stage, case.task, case.messages, look)
    db: DBCheck = {"db_match": all(match), "db_reward": float(all(match))}
    asserted: list[EnvAssertionCheck] = [
        {"env_assertion": form, "met": holds, "reward": float(holds)}
        for form, holds in zip(forms, met, strict=True)
    ]
    return CheckOutcome(
        rewards={RewardType.DB: db["db_reward"], RewardType.ENV_ASSERTION: float(all(met))},
        findings={"db_check": db, "env_assertions": asserted},
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
        {"action": form, "action_match": found, "action_reward": float(found)}
        for form, found in zip(criteria.action_forms(), taken, strict=True)
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
    said = [
        (text, text.lower().replace(",", ""))
        for message in case.messages
        if message["role"] == "assistant" and (text := spoken_text(message))
    ]
    checks = [_check_info(info, said) for info in criteria.communicate_info]
    reward = float(all(check["met"] for check in checks))
    return CheckOutcome({RewardType.COMMUNICATE: reward}, {"communicate_checks": checks})


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
    case: Case, criteria: Criteria, model: ModelAdapter | None, *, strict: bool = False
) -> CheckOutcome:
    """Does a judge find that the conversation is as the task's author wanted it?"""
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
    checks = judge(
        model, case.messages, criteria.nl_assertions, strict=strict, wording=case.wording
    )
    reward = float(all(check["met"] for check in checks))
    return CheckOutcome({RewardType.NL_ASSERTION: reward}, {"nl_assertions": checks})
