"""How a world came to be as it is: every call that may have changed it, with what it left.

Both the recorded conversation and the reference solution are played this way, so that each value
of an end state can be traced to the call that wrote it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from maseval.benchmark.tau2.conversation.messages import Message, ToolCall
from maseval.benchmark.tau2.domains.base import ToolType
from maseval.benchmark.tau2.scoring.checks import Case
from maseval.benchmark.tau2.trust.explain.snapshot import Snapshot
from maseval.benchmark.tau2.world.gold import gold_state
from maseval.benchmark.tau2.world.tasks import Action
from maseval.benchmark.tau2.world.world import World, calls_with_answers

_WRITE = ToolType.WRITE


class Step(NamedTuple):
    """A call, where it stands, and the world after it.

    ``position`` is the index of the message that holds the call, or of the action in a reference
    solution.
    """

    position: int
    call: ToolCall
    after: Snapshot


class Course(NamedTuple):
    """A world's way from its start to its end.

    ``steps`` are the calls that changed it; ``failures`` counts the writes that raised.
    """

    start: Snapshot
    steps: Sequence[Step]
    end: Snapshot
    failures: int

    def before(self, number: int) -> Snapshot:
        """The world just before a step."""
        return self.steps[number - 1].after if number else self.start


def begun(case: Case, *, history: Sequence[Message] = (), reference: bool = False) -> World:
    """A world in which the task begins."""
    world, start = (
        World(case.domain, case.folder, solo=case.solo and not reference),
        case.task.start,
    )
    if reference:
        for toolkit in filter(None, (world.tools, world.user_tools)):
            toolkit.as_reference()
    world.set_state(start.initialization_data, start.initialization_actions, history)
    return world


def may_write(case: Case, call: ToolCall) -> bool:
    """Whether a call means a tool of a kind that changes the world."""
    ours, theirs = case.domain.toolkit, case.domain.user_toolkit
    kits = [theirs] if call["requestor"] == "user" else [ours, theirs] if case.solo else [ours]
    name = call["name"]
    return any(kit and kit.has_tool(name) and kit.tool_type(name) is _WRITE for kit in kits)


def recorded_calls(messages: Sequence[Message]) -> Iterator[tuple[int, ToolCall]]:
    """Every answered call with the index of the message that holds it."""
    for index, call, _ in calls_with_answers(messages):
        position = index - 1
        while messages[position]["role"] == "tool":
            position -= 1
        yield position, call


def conversation_course(case: Case) -> Course:
    """Play a conversation again, whose replay is known to come out as recorded."""
    calls = list(recorded_calls(case.messages))
    writes = [each for each in calls if may_write(case, each[1])]
    course = _played(begun(case), writes, _answered)
    if course.end.state != begun(case, history=case.messages).state():
        # A tool that is declared as reading has written: then every call is looked at.
        course = _played(begun(case), calls, _answered)
    return course


def gold_course(case: Case) -> Course:
    """Play the reference solution as the evaluator does: nothing synchronised, errors ignored."""
    calls = [(number, call_of(action)) for number, action in enumerate(case.task.actions)]
    writes = [each for each in calls if may_write(case, each[1])]
    course = _played(_reference(case), writes, _called)
    if course.end.state != gold_state(case.domain, case.folder, case.task).state:
        # A tool that is declared as reading writes.
        course = _played(_reference(case), calls, _called)
    return course


def _reference(case: Case) -> World:
    return begun(case, history=case.task.start.message_history or [], reference=True)


def call_of(action: Action, call_id: str = "") -> ToolCall:
    """An action of a reference solution as a call."""
    return {
        "id": call_id or action.action_id,
        "name": action.name,
        "arguments": action.arguments,
        "requestor": action.requestor,
    }


def _played(
    world: World,
    calls: Iterable[tuple[int, ToolCall]],
    make: Callable[[World, ToolCall], bool],
) -> Course:
    start = last = Snapshot(world)
    steps, failures = [], 0
    for position, call in calls:
        failures += make(world, call)
        after = Snapshot(world)
        if after.state != last.state:
            steps.append(Step(position, call, after))
            last = after
    return Course(start, steps, last, failures)


def _answered(world: World, call: ToolCall) -> bool:
    return world.respond(call)["error"]


def _called(world: World, call: ToolCall) -> bool:
    try:
        world.call(call["name"], call["requestor"], call["arguments"])
    except Exception:  # as in the evaluator: an action that raises is passed over
        return True
    return False
