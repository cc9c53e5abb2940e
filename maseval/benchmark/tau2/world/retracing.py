"""Replay in the steps of earlier conversations: a known call is looked up and not made again.

Conversations of one task begin in the same state and ask much the same. What a tool answers, and
what it changes, depends on nothing but the calls before it that changed something. So a task has a
tree of states: calls that change nothing stay at one, each of the others leads to its own. A world
is made, and brought to where the conversation is, when a call is met that was not made there yet.
What was found out about a state is kept with it. This is for tools that are known to be
predictable; in every other conversation each call is made.
"""

import marshal
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from maseval.benchmark.tau2.formats.message import Tau2Message, Tau2ToolCall, ToolAnswer
from maseval.benchmark.tau2.world.replay import replay
from maseval.benchmark.tau2.world.setting import TaskStage
from maseval.benchmark.tau2.world.state.copying import once
from maseval.benchmark.tau2.world.tasks import TaskSpec
from maseval.benchmark.tau2.world.world import World

TASKS = 300
"""So many tasks have a tree at a time."""
_CHARACTERS = 200_000  # of calls and answers in one

# Equal calls give equal bytes only if no part of one points at another.
_NO_REFERENCES = 2

T = TypeVar("T")


class KnownCall(NamedTuple):
    """The answer to a call, and the state after it."""

    content: str
    error: bool
    after: "KnownState"


class KnownState:
    """A state of the world: that in which a task begins, or one that calls have changed it to.

    ``found`` is what looks at the world showed there, by the names of these looks.
    """

    __slots__ = ("calls", "found")

    def __init__(self) -> None:
        self.calls: dict[bytes, KnownCall] = {}
        self.found: dict[str, Any] = {}


class KnownStates:
    """The states of a task; ``room`` is how many more characters can be kept."""

    def __init__(self, room: int | None = None) -> None:
        self.start = KnownState()
        self.room = _CHARACTERS if room is None else room


@once(maxsize=TASKS)
def _states_of(stage: TaskStage, content: str) -> KnownStates:
    stage.prepare()  # a task that cannot be set up fails here, before any message is looked at
    return KnownStates()


class Retracing:
    """The replay of one conversation, along known steps as far as there are any."""

    def __init__(self, stage: TaskStage, states: KnownStates) -> None:
        self._stage = stage
        self._states = states
        self._world: World | None = None
        self._to_be_made: list[Tau2ToolCall] = []
        self.state = states.start

    def answer(self, call: Tau2ToolCall) -> ToolAnswer:
        """Answer a call as the world would."""
        key = _key(call)
        known = self.state.calls.get(key)
        if known is None:
            return self._make(call, key)
        if known.after is not self.state:
            self._to_be_made.append(call)
            self.state = known.after
        return known.content, known.error

    def world(self) -> World:
        """Return the world where the conversation is now."""
        world = self._world
        if world is None:
            world = self._world = self._stage.world()
        if self._to_be_made:
            for call in self._to_be_made:
                world.make(call)
            self._to_be_made.clear()
        return world

    def is_replayed(self, call: Tau2ToolCall) -> bool:
        """Return True if the rules have a recorded call made again."""
        stage = self._stage
        return not stage.rules.mutating_only or stage.domain.mutates(call["name"])

    def find(self, name: str, look: Callable[[World], T]) -> T:
        """Return what ``look`` finds in the world now; what it found in this state is known.

        A look with this name must find the same in the same state of a task.
        """
        found = self.state.found
        if name not in found:
            # Threads that look at the same time must go on with one and the same thing.
            found.setdefault(name, look(self.world()))
        known: T = found[name]
        return known

    def _make(self, call: Tau2ToolCall, key: bytes) -> ToolAnswer:
        world, name = self.world(), call["name"]
        settled = world.is_settled
        answer = content, error = world.answer(call)
        # What raised is not settled: the next call synchronises both sides, whatever it does.
        theirs = world.user_tools
        mutates = world.tools.mutates(name) or (theirs is not None and theirs.mutates(name))
        before, reads = self.state, self._stage.domain.is_predictable and not mutates
        if not (reads and settled and world.is_settled):
            self.state = KnownState()
        size = len(key) + len(content)
        if key and size <= self._states.room:
            self._states.room -= size
            before.calls[key] = KnownCall(content, error, self.state)
        return answer


def _key(call: Tau2ToolCall) -> bytes:
    """Return bytes that are equal for equal calls only; none for values that no file can hold."""
    try:
        return marshal.dumps((call["name"], call["requestor"], call["arguments"]), _NO_REFERENCES)
    except ValueError:
        return b""


def retrace(stage: TaskStage, task: TaskSpec) -> Retracing:
    """Begin the replay of a conversation, in the steps of earlier ones where tools allow that."""
    if stage.domain.is_predictable:
        return Retracing(stage, _states_of(stage, task.content))
    stage.prepare()
    return Retracing(stage, KnownStates(room=0))


def replay_along(stage: TaskStage, task: TaskSpec, messages: Sequence[Tau2Message]) -> Retracing:
    """Replay a conversation to its end."""
    stage.check_mode(messages)
    retracing, rules = retrace(stage, task), stage.rules
    chosen = retracing.is_replayed if rules.mutating_only else None
    replay(retracing.answer, messages, chosen, strict=rules.strict)
    return retracing


def look_at_end(
    stage: TaskStage,
    task: TaskSpec,
    messages: Sequence[Tau2Message],
    look: Callable[[World], T],
) -> T:
    """Replay a conversation and return what ``look``, the same for all of a task, finds at its end.

    Where a conversation of the task has ended before in the same state, that is known already.
    """

    def look_when_settled(world: World) -> T:
        world.settle()
        return look(world)

    return replay_along(stage, task, messages).find("end", look_when_settled)
