"""Findings about a task's criteria and reference solution.

Criteria may be unable to fail or to pass; the reference solution may do what the policy forbids, as
far as the database and what the task tells the user decide it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from maseval.benchmark.tau2.formats.message import Tau2ToolCall, render_call
from maseval.benchmark.tau2.review.audit.audited import (
    AuditedDomain,
    AuditedTask,
    TaskFinding,
    missing_tool_text,
    toolkit_with,
)
from maseval.benchmark.tau2.review.policy import check_gold, scenario_text
from maseval.benchmark.tau2.world.reference import shortfall
from maseval.benchmark.tau2.world.state.records import canonical_json
from maseval.benchmark.tau2.world.tasks import Action, RewardType

_KNOWN_INITIAL_DATA = {"agent_data", "user_data"}


def gold_raises(task: AuditedTask) -> Iterator[TaskFinding]:
    """Find an action that fails; worse if it should have written.

    A look-up of what the user tells is meant to fail where the user is told something wrong.
    """
    actions = {action.action_id: action for action in task.spec.actions}
    for fault in task.gold.errors:
        call = actions[fault.action_id].call()
        severe = task.setting.may_write(call) or not task.audited.domain.has_tool(fault.name)
        yield task.finding(
            "gold raises",
            "error" if severe else "info" if _is_led_there(task, call) else "warning",
            f"{fault.name} raises {fault.error_type}: {fault.error}",
            call=render_call(call),
        )


def _is_led_there(task: AuditedTask, call: Tau2ToolCall) -> bool:
    """Return True if the user says what a look-up is about, and the action is not scored."""
    values = [str(value).lstrip("#") for value in call["arguments"].values()]
    told = all(value.lower() in task.scenario.lower() for value in values)
    return bool(values) and told and not task.counts(RewardType.ACTION)


def gold_is_refused(task: AuditedTask) -> Iterator[TaskFinding]:
    """An action whose tool declines in an ordinary answer, which scoring cannot tell from success.

    Only tools that answer with texts decline so; the others raise.
    """
    world = task.new_world()
    for action in task.spec.actions:
        answer = world.respond(action.call())
        text = answer["content"] or ""
        if text.startswith("Error:") and not answer["error"]:
            said, call = f"{action.name} answers {text!r}", render_call(action.call())
            yield task.finding("gold is refused", "warning", said, call=call)


def initial_data_is_ignored(task: AuditedTask) -> Iterator[TaskFinding]:
    """Values for the databases in a place where nobody looks for them."""
    given = task.spec.start.initialization_data or {}
    ignored = sorted(key for key, value in given.items() if key not in _KNOWN_INITIAL_DATA)
    if ignored:
        text = f"initialization_data has {', '.join(ignored)} besides agent_data, which is ignored"
        yield task.finding("initial data is ignored", "warning", text)


def gold_changes_nothing(task: AuditedTask) -> Iterator[TaskFinding]:
    """Find a reference solution that only reads, where the end state counts."""
    if task.looks_at_the_world and task.counts(RewardType.DB) and task.gold.state == task.start:
        text = f"its {len(task.spec.actions)} gold actions leave the database unchanged"
        yield task.finding("gold changes nothing", "info", text)


def gold_misses_its_checks(task: AuditedTask) -> Iterator[TaskFinding]:
    """Find a reference solution that does not pass when it is carried out as a run would."""
    missed = [kind.value for kind in shortfall(task.setting).kinds if task.counts(kind)]
    if missed:
        text = f"carried out call by call, the reference solution fails at {', '.join(missed)}"
        yield task.finding("gold misses its own checks", "error", text)


def criteria_can_only_pass(task: AuditedTask) -> Iterator[TaskFinding]:
    """Find a task in which nothing counts that could fail."""
    if task.criteria is None:
        yield task.finding("criteria can only pass", "error", "the task has no criteria")
    elif not any(map(task.criteria.can_fail, task.criteria.reward_basis)):
        basis = [kind.value for kind in task.criteria.reward_basis]
        text = f"it scores {', '.join(basis) or 'nothing'}, none of which can fail"
        yield task.finding("criteria can only pass", "error", text)


def doing_nothing_passes(task: AuditedTask) -> Iterator[TaskFinding]:
    """Find a task that is done before it begins."""
    criteria = task.criteria
    if criteria is None or not task.looks_at_the_world:
        return
    wanted = (RewardType.COMMUNICATE, RewardType.ACTION, RewardType.NL_ASSERTION)
    if any(task.counts(kind) and criteria.can_fail(kind) for kind in wanted):
        return
    if task.counts(RewardType.DB) and task.gold.state != task.start:
        return
    if task.counts(RewardType.ENV_ASSERTION) and not task.assertions_hold(task.new_world()):
        return
    text = "an agent that does nothing and says nothing gets the full reward"
    yield task.finding("doing nothing passes", "warning", text)


def text_can_never_match(task: AuditedTask) -> Iterator[TaskFinding]:
    """Commas are removed from what the agent says, so a text with one is never found."""
    for info in (task.criteria and task.criteria.communicate_info) or ():
        if "," in info and task.counts(RewardType.COMMUNICATE):
            text = f"{info!r} has a comma, and commas are removed from what the agent says"
            yield task.finding("text can never match", "error", text)


def text_matches_by_chance(task: AuditedTask) -> Iterator[TaskFinding]:
    """Find a text so short that a wrong answer has it too."""
    for info in (task.criteria and task.criteria.communicate_info) or ():
        if len(info) <= 2 and task.counts(RewardType.COMMUNICATE):
            text = f"{info!r} also matches inside any longer number or word"
            yield task.finding("text matches by chance", "warning", text)


def equal_requests(audited: AuditedDomain, tasks: Sequence[AuditedTask]) -> Iterator[TaskFinding]:
    """Tasks with one request and two solutions."""
    asked: dict[str, list[AuditedTask]] = defaultdict(list)
    for task in tasks:
        if request := task.raw.get("user_scenario"):
            asked[canonical_json((task.spec.start.key, request))].append(task)
    for first, *others in asked.values():
        for other in others:
            if first.gold.state != other.gold.state:
                text = f"tasks {first.id} and {other.id} have one request, but different end states"
                yield audited.finding("stored twice with different gold", "error", text)


def against_the_policy(task: AuditedTask) -> Iterator[TaskFinding]:
    """Play the reference solution, and before each step ask whether the policy allows it."""
    breaches = check_gold(task.setting, scenario_text(task.raw)).breaking_calls
    for action in task.spec.actions:
        mine = [each for each, call in breaches if call == action.call()]
        unoffered = [(text, None) for text in _outside_the_schema(task, action)]
        for text, rule in (*unoffered, *((each.text, each.rule) for each in mine)):
            call = render_call(action.call())
            yield task.finding("gold breaks the policy", "warning", text, rule=rule, call=call)


def _outside_the_schema(task: AuditedTask, action: Action) -> Iterator[str]:
    """Arguments that the tool's own description does not offer."""
    kit = toolkit_with(task.audited.domain, action)
    if kit is None:
        yield missing_tool_text(action)
        return
    inputs: Mapping[str, Any] = kit.get_tool_metadata(action.name)["inputs"]
    for name, value in action.arguments.items():
        if name not in inputs:
            yield f"{action.name} has no argument {name}"
        elif "enum" in inputs[name] and value not in inputs[name]["enum"]:
            yield f"{name} is {value!r}, which {action.name} does not offer"
