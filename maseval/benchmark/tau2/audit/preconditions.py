"""Findings about what the reference solution does: steps that the policy forbids.

Only rules that the database decides are checked. A reason that a user gives, or a
fact that only the conversation has, is not.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from maseval.benchmark.tau2.audit.audited import AuditedTask, no_tool, toolkit_with
from maseval.benchmark.tau2.audit.criteria import found
from maseval.benchmark.tau2.audit.finding import Finding
from maseval.benchmark.tau2.explain.text import shown_call
from maseval.benchmark.tau2.world.policy import why_forbidden
from maseval.benchmark.tau2.world.tasks import Action


def broken_preconditions(task: AuditedTask) -> Iterator[Finding]:
    """Play the reference solution, and before each step ask whether the policy allows it."""
    world = task.begun()
    for action in task.spec.actions:
        for text in (*_outside_the_schema(task, action), *why_forbidden(world, action.call())):
            yield found(
                task,
                "gold breaks a precondition",
                "warning",
                text,
                action_id=action.action_id,
                call=shown_call(action.call()),
            )
        world.respond(action.call())


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
