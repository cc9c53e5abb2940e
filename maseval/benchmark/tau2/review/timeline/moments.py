"""A recorded conversation replayed message by message, with the world after each.

The replay is that of scoring: the same calls are made, in the same order and in the same world, so
the last state is the one that is scored. It does not stop where scoring would; what came out
otherwise is noted at its message.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from maseval.benchmark.tau2.formats.message import (
    Tau2Message,
    Tau2ToolCall,
    complete_call,
    tool_calls_of,
)
from maseval.benchmark.tau2.review.explain.snapshot import (
    FieldDifference,
    WorldSnapshot,
    differences,
)
from maseval.benchmark.tau2.world.replay import ReplayError, calls_with_answers, repeat_call
from maseval.benchmark.tau2.world.retracing import Retracing
from maseval.benchmark.tau2.world.world import World

Differences = tuple[FieldDifference, ...]


@dataclass(frozen=True)
class Mismatch:
    """An answer that is not the recorded one, or a message that cannot be replayed."""

    error: str
    expected: str | None = None
    found: str | None = None

    @classmethod
    def of(cls, error: ReplayError) -> "Mismatch":
        return cls(str(error), error.expected, error.found)


@dataclass(frozen=True)
class RepeatedCall:
    """A recorded call made again, and what it changed in the world.

    ``index`` is that of its answer, None if there is none. ``made`` is False for a call that the
    release's rules do not make again.
    """

    index: int | None
    call: Tau2ToolCall
    changed: Differences = ()
    mismatch: Mismatch | None = None
    made: bool = True


class WorldThen(NamedTuple):
    """A world at one moment, and how it differs from its start and from the gold state."""

    snapshot: WorldSnapshot
    from_start: Differences
    from_gold: Differences | None


@dataclass(frozen=True)
class Moment:
    """A message of the agent or the user with the answers to its calls, and the world after them.

    ``index`` is the message's, ``last`` that of the last answer. ``problem`` says why nothing
    after this message could be replayed.
    """

    index: int
    last: int
    role: str
    calls: tuple[RepeatedCall, ...]
    world: WorldThen
    problem: Mismatch | None = None

    @property
    def after(self) -> WorldSnapshot:
        return self.world.snapshot

    @property
    def from_start(self) -> Differences:
        return self.world.from_start

    @property
    def from_gold(self) -> Differences | None:
        return self.world.from_gold


class Replayed:
    """A world going through a conversation, compared with its start and with the gold state."""

    def __init__(self, retracing: Retracing, gold: WorldSnapshot | None) -> None:
        self._retracing = retracing
        self._gold = gold
        self._state = retracing.state
        self.now = retracing.find("timeline", self._look_at_start)[0]
        self.start = self.now.snapshot

    def moments(self, messages: Sequence[Tau2Message]) -> Iterator[Moment]:
        """Yield every message with its answers, in order."""
        answers, problem = _answers(messages)
        for index, message in enumerate(messages):
            if message["role"] != "tool":
                yield self._moment(index, messages, answers, problem)

    def _moment(
        self,
        index: int,
        messages: Sequence[Tau2Message],
        answers: Mapping[int, Tau2ToolCall],
        problem: ReplayError | None,
    ) -> Moment:
        last = _last_answer(messages, index)
        calls = []
        for number, recorded in enumerate(tool_calls_of(messages[index]) or (), index + 1):
            if number in answers:
                calls.append(self._repeat(number, answers[number], messages[number]))
            else:
                calls.append(RepeatedCall(None, complete_call(recorded), made=False))
        here = problem is not None and index <= (problem.index or 0) <= last + 1
        return Moment(
            index,
            last,
            messages[index]["role"],
            tuple(calls),
            self.now,
            Mismatch.of(problem) if problem is not None and here else None,
        )

    def _repeat(self, index: int, call: Tau2ToolCall, recorded: Tau2Message) -> RepeatedCall:
        if not self._retracing.is_replayed(call):
            return RepeatedCall(index, call, made=False)
        try:
            difference = repeat_call(self._retracing.answer, index, call, recorded)
        except ReplayError as error:  # an answer that is no readable text
            difference = error
        mismatch = None if difference is None else Mismatch.of(difference)
        return RepeatedCall(index, call, self._note_change(), mismatch)

    def _note_change(self) -> Differences:
        """Return what the last call changed; only then is everything compared again."""
        if self._retracing.state is self._state:
            return ()
        self._state = self._retracing.state
        self.now, changed = self._retracing.find("timeline", self._look)
        return changed

    def _look_at_start(self, world: World) -> tuple[WorldThen, Differences]:
        return self._compare(settled_snapshot(world), ()), ()

    def _look(self, world: World) -> tuple[WorldThen, Differences]:
        """Look at a state: what is before it in the tree of states is always the same."""
        before, now = self.now.snapshot, settled_snapshot(world)
        if now.state == before.state:
            return self.now, ()
        from_start = tuple(differences(self.start, now))
        return self._compare(now, from_start), tuple(differences(before, now))

    def _compare(self, now: WorldSnapshot, from_start: Differences) -> WorldThen:
        gold = None if self._gold is None else tuple(differences(self._gold, now))
        return WorldThen(now, from_start, gold)


def settled_snapshot(world: World) -> WorldSnapshot:
    """Return a world as it is with both sides synchronised; it is not synchronised itself by that.

    After a call that raised, scoring synchronises only with the next one.
    """
    if not world.is_settled:
        world = world.twin()
        world.settle()
    return WorldSnapshot(world)


def _answers(messages: Sequence[Tau2Message]) -> tuple[dict[int, Tau2ToolCall], ReplayError | None]:
    """The call that each tool message answers, up to where the conversation stops being one."""
    found = {}
    try:
        for index, call, _ in calls_with_answers(messages):
            found[index] = call
    except ReplayError as error:
        return found, error
    return found, None


def _last_answer(messages: Sequence[Tau2Message], index: int) -> int:
    """Return the index of the last tool message that follows a message, or its own."""
    last = index
    while last + 1 < len(messages) and messages[last + 1]["role"] == "tool":
        last += 1
    return last
