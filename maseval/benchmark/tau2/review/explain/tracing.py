"""Wrong values of an end state, traced to the calls that wrote them, and the point of no return.

The recorded conversation and the reference solution are both played call by call, and the state
after each change is kept. Where a conversation leaves every path to the gold state has three
possible answers, and each can be defended:

* a call left a value that no tool can make right again, as the domain's ``permanence`` says: the
  path ends with that call;
* the missing calls, made after the last message, lead to the gold state when they are really
  played: then the path was open until the conversation ended;
* neither: undecided. Some sequence of calls nobody has tried may lead there.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.domain import PermanenceRule
from maseval.benchmark.tau2.formats.message import Tau2Message, Tau2ToolCall
from maseval.benchmark.tau2.review.explain.snapshot import (
    FieldPath,
    FieldPlace,
    WorldSnapshot,
    differences,
    differing_records,
    settle_twin,
)
from maseval.benchmark.tau2.scoring.case import Case
from maseval.benchmark.tau2.world.setting import (
    TASKS,
    GoldKey,
    Retracing,
    Setting,
    call_as_evaluator,
    evaluator_world,
    gold_key,
    gold_state,
    replay_along,
    retrace,
)
from maseval.benchmark.tau2.world.state.copying import once
from maseval.benchmark.tau2.world.tasks import Action
from maseval.benchmark.tau2.world.world import World, calls_with_answers


class CallAt(NamedTuple):
    """A recorded call, and the index of the message that holds it, or of the action in a gold."""

    message_index: int
    call: Tau2ToolCall


class WorldHistory(NamedTuple):
    """The states of a world from its start to its end.

    ``steps`` are the calls that changed it, each with the world after it; ``failures`` counts the
    writes that raised.
    """

    start: WorldSnapshot
    steps: Sequence[tuple[CallAt, WorldSnapshot]]
    end: WorldSnapshot
    failures: int

    def before(self, number: int) -> WorldSnapshot:
        return self.steps[number - 1][1] if number else self.start


def recorded_calls(messages: Sequence[Tau2Message]) -> Iterator[CallAt]:
    for index, call, _ in calls_with_answers(messages):
        # Answers to a message's earlier calls may stand between the message and this answer.
        position = index - 1
        while messages[position]["role"] == "tool":
            position -= 1
        yield CallAt(position, call)


def conversation_history(case: Case) -> WorldHistory:
    """Play a conversation again, whose replay is known to come out as recorded."""
    stage, task, calls = case.stage, case.task, list(recorded_calls(case.messages))
    writes = [each for each in calls if case.setting.may_write(each.call)]
    end = replay_along(stage, task, case.messages).find(
        "state", lambda world: settle_twin(world).state()
    )
    history = _play(retrace(stage, task), writes)
    if history.end.state != end:
        # A tool that is declared as reading has written: then every call is played.
        history = _play(retrace(stage, task), calls)
    return history


def _play(retracing: Retracing, calls: Iterable[CallAt]) -> WorldHistory:
    def make(call: Tau2ToolCall) -> tuple[bool, WorldSnapshot]:
        return retracing.answer(call)[1], retracing.find("snapshot", WorldSnapshot)

    return _history(retracing.find("snapshot", WorldSnapshot), calls, make)


def gold_history(setting: Setting) -> WorldHistory:
    """Carry out the reference solution in the evaluator's way."""
    return _gold_history(gold_key(setting, f"{setting.solo} {setting.task.gold_key}"))


@once(maxsize=TASKS)
def _gold_history(key: GoldKey) -> WorldHistory:
    setting = key.setting
    calls = [CallAt(number, each.call()) for number, each in enumerate(setting.task.actions)]
    writes = [each for each in calls if setting.may_write(each.call)]
    history = _play_as_evaluator(evaluator_world(setting), writes)
    if history.end.state != gold_state(setting).state:
        # A tool that is declared as reading writes.
        history = _play_as_evaluator(evaluator_world(setting), calls)
    return history


def _play_as_evaluator(world: World, calls: Iterable[CallAt]) -> WorldHistory:
    def make(call: Tau2ToolCall) -> tuple[bool, WorldSnapshot]:
        return call_as_evaluator(world, call) is not None, WorldSnapshot(world)

    return _history(WorldSnapshot(world), calls, make)


def _history(
    start: WorldSnapshot,
    calls: Iterable[CallAt],
    make: Callable[[Tau2ToolCall], tuple[bool, WorldSnapshot]],
) -> WorldHistory:
    last, steps, failures = start, [], 0
    for each in calls:
        failed, after = make(each.call)
        failures += failed
        if after.state != last.state:
            steps.append((each, after))
            last = after
    return WorldHistory(start, steps, last, failures)


@dataclass(frozen=True)
class WrongField:
    """A value of the end state that is not the gold one.

    ``written_by`` is the recorded call that left it so, None if no call touched it.
    ``gold_action`` is the action of the reference solution that writes the expected value, None
    if the reference solution leaves it as it was.
    """

    place: FieldPlace
    expected: object
    found: object
    written_by: CallAt | None = None
    gold_action: Action | None = None


def wrong_fields(
    played: WorldHistory, gold: WorldHistory, actions: Sequence[Action]
) -> list[WrongField]:
    """Return every field in which a conversation ended elsewhere than the reference solution."""
    found = []
    for place, expected, value in differences(gold.end, played.end):
        should = _last_writer(gold, place)
        action = actions[should.message_index] if should else None
        found.append(WrongField(place, expected, value, _last_writer(played, place), action))
    return found


def _last_writer(history: WorldHistory, place: FieldPlace) -> CallAt | None:
    final = history.end.value(place)
    # From the end: the last change decides, whatever the value was in between.
    for number in range(len(history.steps) - 1, -1, -1):
        if history.before(number).value(place) != final:
            return history.steps[number][0]
    return None


def needed_actions(
    played: WorldHistory, gold: WorldHistory, wrong: Sequence[WrongField], actions: Sequence[Action]
) -> list[set[str]]:
    """Return the actions that can touch each wrong record that no recorded call touched.

    No other change could make such a record right, unless a call fails in one of the two histories
    and might not after the change; then nothing is said.
    """
    if played.failures or gold.failures:
        return []
    changed, writers = _writers_by_record(played), _writers_by_record(gold)
    records = dict.fromkeys(each.place.whole for each in wrong)
    return [
        {actions[position].action_id for position in writers.get(record, ())}
        for record in records
        if record not in changed
    ]


def _writers_by_record(history: WorldHistory) -> dict[FieldPlace, set[int]]:
    touched: dict[FieldPlace, set[int]] = {}
    for number, (made, after) in enumerate(history.steps):
        for record in differing_records(history.before(number), after):
            touched.setdefault(record, set()).add(made.message_index)
    return touched


@dataclass(frozen=True)
class Divergence:
    """The first message after which the gold state was out of reach.

    ``decided`` is False if that could not be found out; ``reason`` says why in every case.
    ``message_index`` is None if undecided, or if the gold state was out of reach from the start.
    """

    decided: bool
    reason: str
    message_index: int | None = None
    call: CallAt | None = None
    place: FieldPlace | None = None


def divergence(
    domain: Domain,
    histories: tuple[WorldHistory, WorldHistory] | None,
    last_message: int,
    *,
    open_to_the_end: bool,
) -> Divergence:
    """Find the point of no return of a conversation that did not end as it should.

    ``histories`` are those of the conversation and the gold, None if the gold state was reached or
    does not count.
    """
    lost = None if histories is None else _first_loss(domain.permanence, *histories)
    if lost is not None:
        return lost
    if open_to_the_end:
        return Divergence(
            True,
            "the missing calls could have been made until the conversation ended",
            last_message,
        )
    if histories is None:
        return Divergence(False, "assertions can be met by more than one end state")
    if not domain.permanence:
        return Divergence(False, f"{domain.name} has no rules about what is permanent")
    return Divergence(False, "no wrong value is known to be permanent")


def _first_loss(
    rules: Sequence[PermanenceRule], played: WorldHistory, gold: WorldHistory
) -> Divergence | None:
    # If the gold state is out of reach from the start, no call is to blame.
    if lost := next(losses(rules, played.start, gold.end), None):
        return Divergence(True, f"from the start: {lost[1]}", place=lost[0])
    for made, after in played.steps:
        if lost := next(losses(rules, after, gold.end), None):
            return Divergence(True, lost[1], made.message_index, made, lost[0])
    return None


def losses(
    rules: Sequence[PermanenceRule], now: WorldSnapshot, gold: WorldSnapshot
) -> Iterator[tuple[FieldPlace, str]]:
    """Yield each value that can no longer become the gold one, with the reason."""
    ruled = (
        (place, rule)
        for record in differing_records(gold, now)
        for rule in rules
        if rule.table == record.table
        for place in _places(rule, record, now, gold)
    )
    for place, rule in ruled:
        if rule.unreachable(now.value(place), gold.value(place)):
            yield place, rule.reason


def _places(
    rule: PermanenceRule, record: FieldPlace, now: WorldSnapshot, gold: WorldSnapshot
) -> Iterator[FieldPlace]:
    paths: list[FieldPath] = [()]
    for step in rule.path:
        paths = [(*path, key) for path in paths for key in _keys(step, record, path, now, gold)]
    return (record._replace(path=path) for path in paths)


def _keys(
    step: str | int, record: FieldPlace, path: FieldPath, now: WorldSnapshot, gold: WorldSnapshot
) -> list[str | int]:
    if step != "*":
        return [step]
    values = [each.value(record._replace(path=path)) for each in (now, gold)]
    return list(dict.fromkeys(key for each in values if isinstance(each, dict) for key in each))
