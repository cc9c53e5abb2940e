"""Private copies of shared records, and copies of whole databases."""

import datetime as dt
from typing import Any

import pytest
from pydantic import Field

from maseval.benchmark.tau2.domains.base import DB
from maseval.benchmark.tau2.world.state.copying import Rows, copy_value, own
from maseval.benchmark.tau2.world.state.records import (
    Record,
    SharedRecordError,
    Table,
    is_shared,
)


class Lamp(Record):
    colour: str
    notes: list[Any] = Field(default_factory=list)
    seen: dt.date | None = None


class Room(Record):
    name: str
    lamp: Lamp | None = None
    spare: Lamp | None = None
    marks: list[Any] = Field(default_factory=list)


class House(DB):
    rooms: Rows[Room]
    lamps: Table[Lamp]
    owner: dict[str, Any]


def house() -> House:
    lamp = {"colour": "red", "notes": [{"by": "Ann"}], "seen": "2024-05-15"}
    rooms = [{"name": "hall", "lamp": lamp, "marks": [{"by": "Ann"}]}, {"name": "cellar"}]
    return House.model_validate({"rooms": rooms, "lamps": {"a": lamp}, "owner": {"ages": [40]}})


def test_a_shared_record_is_changed_only_in_a_copy_that_takes_its_place():
    mine = house().share_rows().rooms
    theirs = list(mine)

    hall = own(mine, mine[0])
    hall.marks[0]["by"] = "Ben"
    hall.name = "parlour"

    assert own(mine, mine[0]) is hall is mine[0]
    assert (theirs[0].name, theirs[0].marks) == ("hall", [{"by": "Ann"}])
    for lamp in (hall.lamp, theirs[0].lamp):  # one and the same
        with pytest.raises(SharedRecordError):
            lamp.notes.append("lost")
    assert mine[1] is theirs[1]


def test_one_thing_in_two_places_stays_one_in_a_copy():
    lamp = Lamp(colour="red")
    room = Room(name="hall", lamp=lamp, spare=lamp)

    twin = copy_value(room, {})
    twin.lamp.colour = "blue"

    assert twin.spare.colour == "blue"
    assert lamp.colour == "red"


def test_a_copy_of_a_shared_record_is_the_record_and_its_own_copy_is_private():
    (hall, _) = house().share_rows().rooms

    assert copy_value(hall, {}) is hall
    assert not is_shared(hall.model_copy(deep=True))


def test_what_was_stored_unchecked_is_copied_as_it_is():
    room = Room(name="hall")
    room.name = {"odd": (1, {2})}  # type: ignore[assignment]

    twin = copy_value(room, {})

    assert twin.name == {"odd": (1, {2})}
    assert twin.name is not room.name


def test_a_twin_does_not_see_what_changes_in_a_record_that_was_changed_before():
    original = house().share_rows()
    own(original.rooms, original.rooms[0]).name = "Attic"
    twin = original.twin({})

    own(original.rooms, original.rooms[0]).name = "Cellar"

    assert twin.rooms[0].name == "Attic"
    assert twin.rooms[1] is original.rooms[1]  # which nobody has changed
