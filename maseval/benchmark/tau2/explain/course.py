"""The course of a world: each call that changed it, and the state after it.

Both the recorded conversation and the reference solution are played this way, so that each value
of an end state can be traced to the call that wrote it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from maseval.benchmark.tau2.explain.snapshot import WorldSnapshot
from maseval.benchmark.tau2.formats.message import Tau2Message, Tau2ToolCall
from maseval.benchmark.tau2.scoring.case import Case
from maseval.benchmark.tau2.world.reference import (
    call_as_evaluator,
    evaluator_world,
    gold_state,
)
from maseval.benchmark.tau2.world.replay import calls_with_answers
from maseval.benchmark.tau2.world.setting import Setting
from maseval.benchmark.tau2.world.world import World


class WorldStep(NamedTuple):
    """A call, where it stands, and the world after it.

    ``position`` is the index of the message that holds the call, or of the action in a reference
    solution.
    """

    position: int
    call: Tau2ToolCall
    after: WorldSnapshot


class Course(NamedTuple):
    """A world's way from its start to its end.

    ``steps`` are the calls that changed it; ``failures`` counts the writes that raised.
    """

    start: WorldSnapshot
    steps: Sequence[WorldStep]
    end: WorldSnapshot
    failures: int

    def before(self, number: int) -> WorldSnapshot:
        """The world just before a step."""
        return self.steps[number - 1].after if number else self.start


def recorded_calls(messages: Sequence[Tau2Message]) -> Iterator[tuple[int, Tau2ToolCall]]:
    """Every answered call with the index of the message that holds it."""
    for index, call, _ in calls_with_answers(messages):
        position = index - 1
        while messages[position]["role"] == "tool":
            position -= 1
        yield position, call


def conversation_course(case: Case) -> Course:
    """Play a conversation again, whose replay is known to come out as recorded."""
    setting, calls = case.setting, list(recorded_calls(case.messages))
    writes = [each for each in calls if setting.may_write(each[1])]
    course = _played(setting.world(), writes, _answered)
    if course.end.state != case.replayed().state():
        # A tool that is declared as reading has written: then every call is played.
        course = _played(setting.world(), calls, _answered)
    return course


def gold_course(setting: Setting) -> Course:
    """Carry out the reference solution in the evaluator's way."""
    calls = [(number, action.call()) for number, action in enumerate(setting.task.actions)]
    writes = [each for each in calls if setting.may_write(each[1])]
    course = _played(evaluator_world(setting), writes, _called)
    if course.end.state != gold_state(setting).state:
        # A tool that is declared as reading writes.
        course = _played(evaluator_world(setting), calls, _called)
    return course


def _played(
    world: World,
    calls: Iterable[tuple[int, Tau2ToolCall]],
    make: Callable[[World, Tau2ToolCall], bool],
) -> Course:
    start = last = WorldSnapshot(world)
    steps, failures = [], 0
    for position, call in calls:
        failures += make(world, call)
        after = WorldSnapshot(world)
        if after.state != last.state:
            steps.append(WorldStep(position, call, after))
            last = after
    return Course(start, steps, last, failures)


def _answered(world: World, call: Tau2ToolCall) -> bool:
    return world.respond(call)["error"]


def _called(world: World, call: Tau2ToolCall) -> bool:
    return call_as_evaluator(world, call) is not None
