"""Which set of changes is called the smallest, in a room where one call undoes three."""

import json

import pytest

from maseval.benchmark.tau2.domains.base import DB, ToolKitBase, ToolType, is_tool
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.review.explain import explain


class Room(DB):
    wall: str = "white"
    floor: str = "oak"
    door: str = "shut"


class RoomTools(ToolKitBase[Room]):
    @is_tool(ToolType.WRITE)
    def set_part(self, part: str, value: str) -> str:
        """Set one part of the room."""
        setattr(self.db, part, value)
        return "done"

    @is_tool(ToolType.WRITE)
    def wreck(self) -> str:
        """Set all parts of the room."""
        self.db.wall, self.db.floor, self.db.door = "black", "mud", "broken"
        return "done"


@pytest.fixture
def room(tmp_path):
    (tmp_path / "db.json").write_text("{}")
    return Domain(name="room", db=Room, toolkit=RoomTools, data_dir=tmp_path)


def sets(part, value):
    return {"name": "set_part", "arguments": {"part": part, "value": value}}


WRECK = {"name": "wreck", "arguments": {}}
RESTORED = (sets("wall", "white"), sets("floor", "oak"), sets("door", "shut"))


def task(*actions):
    numbered = [{"action_id": f"gold_{number}", **one} for number, one in enumerate(actions)]
    return {"id": "tidy", "evaluation_criteria": {"actions": numbered, "reward_basis": ["DB"]}}


def done(*calls):
    messages = []
    for number, call in enumerate(calls):
        asked = {"id": str(number), **call}
        messages.append({"role": "assistant", "content": None, "tool_calls": [asked]})
        messages.append({"role": "tool", "id": str(number), "content": "done"})
    return {"messages": messages, "termination_reason": "user_stop"}


def repair(room, simulation, gold, **options):
    return explain(simulation, domain=room, task=task(*gold), **options).repair


def shown(found):
    return [(change.kind, json.dumps(change.call["arguments"])) for change in found.changes]


def test_a_smaller_set_is_preferred_to_the_first_that_works(room):
    found = repair(room, done(WRECK), RESTORED)

    assert shown(found) == [("leave out", "{}")]
    assert found.smallest and found.note == ""


def test_a_set_of_two_is_found_where_no_single_change_helps(room):
    found = repair(room, done(WRECK, sets("wall", "red")), RESTORED)

    assert [(change.kind, change.message_index) for change in found.changes] == [
        ("leave out", 0),
        ("leave out", 2),
    ]
    assert found.smallest


def test_three_changes_are_the_smallest_set_where_fewer_do_not_help(room):
    gold = [sets("wall", "red"), sets("floor", "tiles"), sets("door", "open")]

    found = repair(room, done(), gold)

    assert [change.action_id for change in found.changes] == ["gold_0", "gold_1", "gold_2"]
    assert found.smallest and found.only_adds


def test_what_could_not_be_ruled_out_is_not_called_the_smallest(room):
    found = repair(room, done(WRECK), RESTORED, most_trials=1)

    assert not found.smallest
    assert "there may be a smaller set" in found.note


def test_calls_that_come_too_late_at_the_end_are_placed_instead_of_what_they_replace(room):
    gold = [sets("floor", "tiles"), WRECK, sets("wall", "blue")]
    played = [sets("floor", "tiles"), sets("door", "open"), sets("wall", "blue")]

    found = repair(room, done(*played), gold)

    assert [change.kind for change in found.changes] == ["leave out", "add"]
    assert found.placement == "instead"
