"""Findings about what the reference solution does: steps that the policy forbids.

Only rules that can be decided from the database are looked at. A reason that a user gives, or a
fact that only the conversation has, is not.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from maseval.benchmark.tau2.domains.airline.tools import AirlineTools
from maseval.benchmark.tau2.domains.base import ToolKitBase
from maseval.benchmark.tau2.domains.retail.tools import RetailTools
from maseval.benchmark.tau2.domains.telecom.tools import TelecomTools
from maseval.benchmark.tau2.trust.audit.audited import AuditedTask, no_tool, toolkit_with
from maseval.benchmark.tau2.trust.audit.criteria import found
from maseval.benchmark.tau2.trust.audit.finding import Finding
from maseval.benchmark.tau2.trust.audit.rules_of_airline import RULES as AIRLINE_RULES
from maseval.benchmark.tau2.trust.audit.rules_of_retail import RULES as RETAIL_RULES
from maseval.benchmark.tau2.trust.audit.rules_of_telecom import RULES as TELECOM_RULES
from maseval.benchmark.tau2.trust.explain.text import shown_call
from maseval.benchmark.tau2.world.tasks import Action

Broken = Callable[[Any, Mapping[str, Any]], Iterator[str]]
"""A tool's rules: given the toolkit before the call, and the arguments, what they would break."""

_RULES: Mapping[type[ToolKitBase[Any]], Mapping[str, Broken]] = {
    AirlineTools: AIRLINE_RULES,
    RetailTools: RETAIL_RULES,
    TelecomTools: TELECOM_RULES,
}


def broken_preconditions(task: AuditedTask) -> Iterator[Finding]:
    """Play the reference solution, and before each step ask whether the policy allows it."""
    rules = _rules_of(task.audited.domain.toolkit)
    world = task.begun()
    for action in task.spec.actions:
        for text in (*_outside_the_schema(task, action), *_broken(rules, world.tools, action)):
            yield found(
                task,
                "gold breaks a precondition",
                "warning",
                text,
                action_id=action.action_id,
                call=shown_call(action.call()),
            )
        world.respond(action.call())


def _rules_of(toolkit: type[ToolKitBase[Any]]) -> Mapping[str, Broken]:
    return next((rules for kit, rules in _RULES.items() if issubclass(toolkit, kit)), {})


def _broken(rules: Mapping[str, Broken], toolkit: Any, action: Action) -> list[str]:
    rule = rules.get(action.name)
    if rule is None or action.requestor != "assistant":
        return []
    try:
        return list(rule(toolkit, action.arguments))
    except (KeyError, ValueError, TypeError, AttributeError):
        return []  # about something that is not there: then the action raises, which is told apart


def _outside_the_schema(task: AuditedTask, action: Action) -> Iterator[str]:
    """Arguments that the tool's own description does not offer."""
    kit = toolkit_with(task.audited.domain, action)
    if kit is None:
        yield no_tool(action)
        return
    inputs: Mapping[str, Any] = kit.get_tool_metadata(action.name)["inputs"]
    for name, value in action.arguments.items():
        if name not in inputs:
            yield f"{action.name} has no argument {name}"
        elif "enum" in inputs[name] and value not in inputs[name]["enum"]:
            yield f"{name} is {value!r}, which {action.name} does not offer"


TASK_CHECKS = (broken_preconditions,)
