"""An experiment: the reference solution is played with something changed, in the benchmark's world.

The world, the tools and the rules of the policy are those of a run. What comes out is whether the
tools took every call, whether the policy's rules have something against it that they do not have
against the reference solution, and whether the end state would earn the reward.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from maseval.benchmark.tau2.review.audit.subject import AuditedTask
from maseval.benchmark.tau2.review.explain.explanation import render_call
from maseval.benchmark.tau2.review.policy import check_gold, scenario_text
from maseval.benchmark.tau2.world.tasks import Action, RewardType
from maseval.benchmark.tau2.world.world import World

TAKEN = "taken by the tools, against no rule of the policy; the end state differs"


class Playthrough(NamedTuple):
    """The outcome of calls that were made in a fresh world of a task."""

    answers: tuple[str, ...]
    refused: tuple[str, ...]
    passes: bool
    world: World


class Laboratory:
    """The place where a task's reference solution is varied; what it does itself is known once."""

    def __init__(self, task: AuditedTask) -> None:
        self.task = task
        self.actions = task.spec.actions

    @cached_property
    def gold(self) -> Playthrough:
        return self.play(self.actions)

    @cached_property
    def gold_breaches(self) -> frozenset[str]:
        return self.breaches(self.actions)

    @cached_property
    def writes(self) -> list[int]:
        """The places of the calls that change something and are not refused."""
        return [
            number
            for number, action in enumerate(self.actions)
            if self.task.setting.may_write(action.call())
            and not any(fault.action_id == action.action_id for fault in self.task.gold.errors)
        ]

    def play(self, actions: Sequence[Action]) -> Playthrough:
        """Make the calls as a run would, and judge the end state as scoring would."""
        world = self.task.setting._replace(solo=False).world(self.task.spec.start.history)
        answers, refused = [], []
        for action in actions:
            answer = world.respond(action.call())
            text = answer["content"] or ""
            answers.append(text)
            if answer["error"]:
                refused.append(f"{action.name} answers {text!r}")
        return Playthrough(tuple(answers), tuple(refused), earns_reward(self.task, world), world)

    def breaches(self, actions: Sequence[Action]) -> frozenset[str]:
        """Return the policy's rules that calls break, as far as the state can tell."""
        assert self.task.criteria is not None
        criteria = self.task.criteria.model_copy(update={"actions": list(actions)})
        spec = self.task.spec.model_copy(update={"evaluation_criteria": criteria})
        found = check_gold(self.task.setting._replace(task=spec), scenario_text(self.task.raw))
        return frozenset(each.rule for each in found.breaches)

    def is_another_way(self, actions: Sequence[Action]) -> bool:
        """Tell whether tools and rules take calls that nevertheless miss the reward."""
        played = self.play(actions)
        if played.passes or len(played.refused) > len(self.gold.refused):
            return False
        return self.breaches(actions) <= self.gold_breaches

    def vary(self, number: int, arguments: Mapping[str, object]) -> list[Action]:
        """Return the reference solution with other arguments of one of its calls."""
        changed = self.actions[number].model_copy(update={"arguments": dict(arguments)})
        return [*self.actions[:number], changed, *self.actions[number + 1 :]]


def render_apart(action: Action, other: Action) -> str:
    """Return a call with the ids in it and what sets it apart from another, the rest left out."""
    told = {
        name: value
        for name, value in action.arguments.items()
        if name.endswith("_id") or other.arguments.get(name) != value
    }
    return render_call({**action.call(), "arguments": told})


def earns_reward(task: AuditedTask, world: World) -> bool:
    """Tell whether the checks that look at the world, as far as they count, are met."""
    if not task.looks_at_the_world:
        return True
    if task.counts(RewardType.DB) and not world.same_state(task.gold.world):
        return False
    return not task.counts(RewardType.ENV_ASSERTION) or task.assertions_hold(world)
