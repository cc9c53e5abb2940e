"""What the policy forbids, as far as a domain's preconditions can tell from the database."""

from collections.abc import Iterator

from maseval.benchmark.tau2.world.setting import Setting
from maseval.benchmark.tau2.world.tasks import Action
from maseval.benchmark.tau2.world.world import World


def forbidden_steps(setting: Setting) -> dict[str, str]:
    """The steps of the reference solution that the policy forbids: their ids, and why."""
    return dict(_forbidden(setting, setting.world()))


def _forbidden(setting: Setting, world: World) -> Iterator[tuple[str, str]]:
    for action in setting.task.actions:
        for text in why_forbidden(world, action):
            yield action.action_id, text
        world.respond(action.call())


def why_forbidden(world: World, action: Action) -> list[str]:
    """What the policy has against a step that is to be made now; empty if nothing."""
    rule = world.domain.preconditions.get(action.name)
    if rule is None or action.requestor != "assistant":
        return []
    try:
        return list(rule(world.tools, action.arguments))
    except (KeyError, ValueError, TypeError, AttributeError):
        return []  # about something that is not there: then the action raises
