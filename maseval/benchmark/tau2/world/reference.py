"""A task's reference solution, carried out in one of two ways.

The evaluator's way calls each tool directly: nothing is synchronised between the two sides, and an
action that raises is passed over. Where it leads is the *gold state*, which depends on nothing but
the task and the data, so each is worked out once and kept. A run's way makes the same calls as an
agent would, with both sides synchronised after each; what it fails at, nobody can earn.

After tau2-bench v0.2.0, src/tau2/evaluator/evaluator_env.py (MIT, Sierra Research).
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.world.setting import Setting, file_hashes
from maseval.benchmark.tau2.world.state.copying import once
from maseval.benchmark.tau2.world.tasks import EnvAssertion, RewardType
from maseval.benchmark.tau2.world.world import World, WorldState

_KEPT = 4096


class GoldFault(NamedTuple):
    """An action of a reference solution that raised; the original passes over it in silence."""

    action_id: str
    name: str
    error_type: str
    error: str


@dataclass(frozen=True)
class GoldState:
    """The end state of a reference solution, and the errors on the way.

    ``world`` is there to be compared with, and must not be changed.
    """

    errors: tuple[GoldFault, ...]
    world: World

    @cached_property
    def state(self) -> WorldState:
        """The states of both databases."""
        return self.world.state()


@dataclass(frozen=True)
class GoldKey:
    """A key of caches about reference solutions.

    It holds the domain, so that no other can have the same id.
    """

    key: Hashable
    setting: Setting = field(compare=False)


def gold_state(setting: Setting) -> GoldState:
    """Return the end state of the reference solution, carried out in the evaluator's way."""
    return _gold_state(gold_key(setting, setting.task.gold_key))


def gold_key(setting: Setting, task: str) -> GoldKey:
    """Return the key of what depends on a task, which ``task`` tells from others, and its data."""
    domain, folder = setting.domain, setting.folder
    hashes = file_hashes(domain, folder)
    return GoldKey((id(domain), folder, hashes, setting.rules.replay, task), setting)


@once(maxsize=_KEPT)
def _gold_state(key: GoldKey) -> GoldState:
    world, errors = evaluator_world(key.setting), []
    for action in key.setting.task.actions:
        error = call_as_evaluator(world, action.call())
        if error is not None:
            fault = (action.action_id, action.name, type(error).__name__, str(error))
            errors.append(GoldFault(*fault))
    return GoldState(tuple(errors), world)


def evaluator_world(setting: Setting) -> World:
    """Return a world in which the evaluator begins; the original knows no solo mode here."""
    world = _copied_world(setting) or setting._replace(solo=False).stage(reference=True).set_up()
    world.resume(setting.task.start.history)
    return world


def _copied_world(setting: Setting) -> World | None:
    """Return a copy of what a conversation begins with; None if it cannot serve a reference.

    What the two have in common is then one, and found equal without a look at it.
    """
    try:
        world = setting.stage().world()
    except ValueError:  # solo mode, where there is none
        return None
    world.solo = False
    kits = (world.tools, world.user_tools)
    return world if all(kit is None or kit.as_reference() is True for kit in kits) else None


def call_as_evaluator(world: World, call: Tau2ToolCall) -> Exception | None:
    """Make one call in the evaluator's way; return the error that it raised, if any."""
    try:
        world.call(call["name"], call["requestor"], call["arguments"])
    except Exception as error:  # a tool called on a task's behalf: its errors are findings
        return error
    return None


def world_after_reference(setting: Setting) -> World:
    """Return the world after both sides carried out the reference solution in a run's way."""
    world = setting._replace(solo=False).world(setting.task.start.history)
    for action in setting.task.actions:
        world.make(action.call())
    return world


class Shortfall(NamedTuple):
    """The checks that a reference solution fails when it is carried out in a run's way.

    ``error`` is what an assertion raised; the assertions after it were not checked.
    """

    state: bool = False
    assertions: tuple[EnvAssertion, ...] = ()
    error: str | None = None

    @property
    def kinds(self) -> tuple[RewardType, ...]:
        """The checks that it fails."""
        unmet = bool(self.assertions) or self.error is not None
        failed = {RewardType.DB: self.state, RewardType.ENV_ASSERTION: unmet}
        return tuple(kind for kind, missed in failed.items() if missed)


def shortfall(setting: Setting) -> Shortfall:
    """Return the checks that the reference solution fails, whether they count or not."""
    return _shortfall(gold_key(setting, setting.task.content))


@once(maxsize=_KEPT)
def _shortfall(key: GoldKey) -> Shortfall:
    setting, criteria = key.setting, key.setting.task.evaluation_criteria
    if criteria is None or not criteria.look_at_the_world:
        return Shortfall()
    world = world_after_reference(setting)
    elsewhere = not world.same_state(gold_state(setting).world)
    unmet = []
    try:
        for assertion in criteria.env_assertions or ():
            if not world.check(assertion.model_dump()):
                unmet.append(assertion)
    except Exception as error:  # a task's function in a world it did not foresee
        return Shortfall(elsewhere, tuple(unmet), f"{type(error).__name__}: {error}")
    return Shortfall(elsewhere, tuple(unmet))
