"""Who wrote what: each wrong value with the call that wrote it, and the action that should have."""

from collections.abc import Sequence
from dataclasses import dataclass

from maseval.benchmark.tau2.explain.course import Course, WorldStep
from maseval.benchmark.tau2.explain.snapshot import (
    FieldDifference,
    FieldPlace,
    differences,
    differing_records,
)
from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.world.tasks import Action


@dataclass(frozen=True)
class CallAt:
    """A recorded call, and the index of the message that holds it."""

    message_index: int
    call: Tau2ToolCall


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


def wrong_fields(played: Course, gold: Course, actions: Sequence[Action]) -> list[WrongField]:
    """Every field in which a conversation ended elsewhere than the reference solution."""
    return [
        _traced(difference, played, gold, actions)
        for difference in differences(gold.end, played.end)
    ]


def _traced(
    difference: FieldDifference,
    played: Course,
    gold: Course,
    actions: Sequence[Action],
) -> WrongField:
    place = difference.place
    writer = last_writer(played, place)
    should = last_writer(gold, place)
    return WrongField(
        place,
        difference.expected,
        difference.found,
        CallAt(writer.position, writer.call) if writer else None,
        actions[should.position] if should else None,
    )


def last_writer(course: Course, place: FieldPlace) -> WorldStep | None:
    """The step after which a value stayed as it is in the end."""
    final = course.end.value(place)
    for number in range(len(course.steps) - 1, -1, -1):
        if course.before(number).value(place) != final:
            return course.steps[number]
    return None


def needed_actions(
    played: Course, gold: Course, wrong: Sequence[WrongField], actions: Sequence[Action]
) -> list[set[str]]:
    """For each wrong record that no recorded call touched: the actions that can touch it.

    No other change could make such a record right, unless a call fails in one of the two courses
    and might not after the change; then nothing is said.
    """
    if played.failures or gold.failures:
        return []
    changed = _touched(played)
    writers = _touched(gold)
    records = dict.fromkeys(each.place.whole for each in wrong)
    return [
        {actions[position].action_id for position in writers.get(record, ())}
        for record in records
        if record not in changed
    ]


def _touched(course: Course) -> dict[FieldPlace, set[int]]:
    """The positions of the steps that changed each record."""
    touched: dict[FieldPlace, set[int]] = {}
    for number, step in enumerate(course.steps):
        for record in differing_records(course.before(number), step.after):
            touched.setdefault(record, set()).add(step.position)
    return touched
