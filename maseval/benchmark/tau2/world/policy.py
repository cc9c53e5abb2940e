"""Calls that the policy forbids, as far as a domain's preconditions tell from the database."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.world.setting import Setting
from maseval.benchmark.tau2.world.world import World


def forbidden_steps(setting: Setting) -> dict[str, str]:
    """Return the steps of the reference solution that the policy forbids: their ids, and why."""
    calls = [action.call() for action in setting.task.actions]
    return {calls[number]["id"]: text for number, text in forbidden_calls(setting, calls).items()}


def forbidden_calls(setting: Setting, calls: Sequence[Tau2ToolCall]) -> dict[int, str]:
    """Return the calls of a sequence that the policy forbids when their turn comes, and why."""
    world, forbidden = setting.world(), {}
    for number, call in enumerate(calls):
        for text in why_forbidden(world, call):
            forbidden[number] = text
        world.respond(call)
    return forbidden


def why_forbidden(world: World, call: Tau2ToolCall) -> list[str]:
    """Return the policy's objections to a call that is to be made now."""
    rule = world.domain.preconditions.get(call["name"])
    return _objections(call, rule and partial(rule, world.tools, call["arguments"]))


def unspoken_reasons(world: World, call: Tau2ToolCall, told: str) -> list[str]:
    """Return the reasons that the policy asks for and the task does not let the user give."""
    rule = world.domain.spoken_conditions.get(call["name"])
    return _objections(call, rule and partial(rule, world.tools, call["arguments"], told))


def _objections(call: Tau2ToolCall, rule: Callable[[], Iterator[str]] | None) -> list[str]:
    if rule is None or call["requestor"] != "assistant":
        return []
    try:
        return list(rule())
    except (KeyError, ValueError, TypeError, AttributeError, IndexError):
        return []  # about something that is not there: then the call raises
