"""Timelines: a recorded conversation replayed, with the world after each of its messages.

The replay is that of scoring: the same calls are made, in the same order and in the same world, so
the last state is the one that is scored. It does not stop where scoring would; what came out
otherwise is noted at its message. Differences are those of records that were changed; the databases
themselves are not copied.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.domain import ABSENT
from maseval.benchmark.tau2.domains.releases import AnyVersion
from maseval.benchmark.tau2.formats.message import (
    AnsweredCall,
    Tau2Message,
    Tau2ToolCall,
    complete_call,
    tool_calls_of,
)
from maseval.benchmark.tau2.review.explain.snapshot import (
    FieldDifference,
    WorldSnapshot,
    differences,
    settle_twin,
)
from maseval.benchmark.tau2.scoring.case import AnyTask, Case, open_case
from maseval.benchmark.tau2.world.setting import Retracing, gold_state, retrace
from maseval.benchmark.tau2.world.tasks import RewardType
from maseval.benchmark.tau2.world.world import ReplayError, World, calls_with_answers, repeat_call
from maseval.data.folder import AnyPath

Differences = tuple[FieldDifference, ...]
_WorldThen = tuple[WorldSnapshot, Differences, Differences | None]
"""A world at one moment, and how it differs from its start and from the gold state."""


@dataclass(frozen=True)
class RepeatedCall:
    """A recorded call made again, and what it changed in the world.

    ``index`` is that of its answer, None if there is none, and ``mismatch`` says how the new
    answer differs from it. ``made`` is False for a call that the release's rules do not repeat.
    """

    index: int | None
    call: Tau2ToolCall
    changed: Differences = ()
    mismatch: ReplayError | None = None
    made: bool = True


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
    after: WorldSnapshot
    from_start: Differences
    from_gold: Differences | None
    problem: ReplayError | None = None


@dataclass(frozen=True)
class Timeline:
    """A conversation's messages, each with the world after it.

    ``gold_counts`` is True if the reward depends on the end state being the gold one; a task
    without criteria has no gold state.
    """

    start: WorldSnapshot
    gold: WorldSnapshot | None
    gold_counts: bool
    moments: tuple[Moment, ...]

    @property
    def end(self) -> WorldSnapshot:
        return self.moments[-1].after if self.moments else self.start

    def to_dict(self) -> dict[str, object]:
        """Return the JSON form: each state once, and for every message the number of its state."""
        states: list[dict[str, object]] = []
        numbers: dict[int, int] = {}
        messages = []
        for moment in self.moments:
            # Most messages change nothing, so a state is written once, however many messages show
            # it.
            if id(moment.after) not in numbers:
                numbers[id(moment.after)] = len(states)
                gold = moment.from_gold
                states.append(
                    {
                        "from_start": list(map(_difference, moment.from_start)),
                        "from_gold": None if gold is None else list(map(_difference, gold)),
                    }
                )
            messages.append({**_message(moment), "state": numbers[id(moment.after)]})
        return {
            "gold": self.gold is not None,
            "gold_counts": self.gold_counts,
            "messages": messages,
            "states": states,
        }


def timeline(
    simulation: Mapping[str, object],
    domain: str | Domain,
    task: AnyTask | None = None,
    *,
    solo: bool = False,
    data_dir: AnyPath | None = None,
    version: AnyVersion = None,
) -> Timeline:
    """Return the timeline of a simulation; the arguments are those of ``score_simulation``."""
    case = open_case(simulation, domain, task, solo=solo, data_dir=data_dir, version=version)
    return timeline_of(case)


def timeline_of(case: Case) -> Timeline:
    gold = None
    if case.task.evaluation_criteria is not None:
        reached = gold_state(case.setting)
        gold = WorldSnapshot(reached.world, reached.state)
    replayed = _Replay(retrace(case.stage, case.task), gold)
    moments = tuple(replayed.moments(case.recording.messages))
    return Timeline(replayed.start, gold, case.counts(RewardType.DB), moments)


class _Replay:
    def __init__(self, retracing: Retracing, gold: WorldSnapshot | None) -> None:
        self._retracing = retracing
        self._gold = gold
        self._state = retracing.state
        self.now = retracing.find("timeline", self._look_at_start)[0]
        self.start = self.now[0]

    def moments(self, messages: Sequence[Tau2Message]) -> Iterator[Moment]:
        answers, problem = _answers(messages)
        for index, message in enumerate(messages):
            if message["role"] != "tool":
                yield self._moment(index, messages, answers, problem)

    def _moment(
        self,
        index: int,
        messages: Sequence[Tau2Message],
        answers: Mapping[int, Sequence[AnsweredCall]],
        problem: ReplayError | None,
    ) -> Moment:
        following = takewhile(lambda each: each["role"] == "tool", messages[index + 1 :])
        last = index + len(list(following))
        calls: list[RepeatedCall] = []
        for number, recorded in enumerate(tool_calls_of(messages[index]) or (), index + 1):
            if number in answers:
                calls += [self._repeat(*each) for each in answers[number]]
            else:
                calls.append(RepeatedCall(None, complete_call(recorded), made=False))
        # A missing answer is noticed at the message behind the place where it should stand.
        here = problem is not None and index <= (problem.index or 0) <= last + 1
        role, stopped = messages[index]["role"], problem if here else None
        return Moment(index, last, role, tuple(calls), *self.now, problem=stopped)

    def _repeat(self, index: int, call: Tau2ToolCall, recorded: Tau2Message) -> RepeatedCall:
        if not self._retracing.is_replayed(call):
            return RepeatedCall(index, call, made=False)
        try:
            difference = repeat_call(self._retracing.answer, index, call, recorded)
        except ReplayError as error:  # an answer that is no readable text
            difference = error
        return RepeatedCall(index, call, self._note_change(), difference)

    # Only a call that changed something makes it necessary to compare everything again.
    def _note_change(self) -> Differences:
        # States are kept in a tree: the same object means that the call changed nothing.
        if self._retracing.state is self._state:
            return ()
        self._state = self._retracing.state
        self.now, changed = self._retracing.find("timeline", self._look)
        return changed

    def _look_at_start(self, world: World) -> tuple[_WorldThen, Differences]:
        now = WorldSnapshot(settle_twin(world))
        return (now, (), self._from_gold(now)), ()

    def _look(self, world: World) -> tuple[_WorldThen, Differences]:
        before, now = self.now[0], WorldSnapshot(settle_twin(world))
        if now.state == before.state:
            return self.now, ()
        then = now, tuple(differences(self.start, now)), self._from_gold(now)
        return then, tuple(differences(before, now))

    def _from_gold(self, now: WorldSnapshot) -> Differences | None:
        return None if self._gold is None else tuple(differences(self._gold, now))


def _answers(
    messages: Sequence[Tau2Message],
) -> tuple[dict[int, list[AnsweredCall]], ReplayError | None]:
    found: dict[int, list[AnsweredCall]] = {}
    try:
        for answered in calls_with_answers(messages):
            found.setdefault(answered[0], []).append(answered)
    except ReplayError as error:
        return found, error
    return found, None


def _message(moment: Moment) -> dict[str, object]:
    form: dict[str, object] = {
        "index": moment.index,
        "last": moment.last,
        "role": moment.role,
        "calls": [_call(each) for each in moment.calls],
    }
    return form if moment.problem is None else {**form, "problem": _mismatch(moment.problem)}


def _call(call: RepeatedCall) -> dict[str, object]:
    form: dict[str, object] = {
        "name": call.call["name"],
        "by": call.call["requestor"],
        "index": call.index,
        "made": call.made,
        "changed": [_difference(each) for each in call.changed],
    }
    return form if call.mismatch is None else {**form, "mismatch": _mismatch(call.mismatch)}


def _mismatch(error: ReplayError) -> dict[str, object]:
    if error.expected is None and error.found is None:
        return {"error": str(error)}
    return {"expected": error.expected, "found": error.found}


# A value that is absent is left out, as None is a value.
def _difference(difference: FieldDifference) -> dict[str, object]:
    values = {"was": difference.expected, "is": difference.found}
    known = {name: value for name, value in values.items() if value is not ABSENT}
    place = difference.place
    return {"side": place.side, "place": str(place), **known}
