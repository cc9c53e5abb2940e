"""Copies of records, databases and toolkits are equal to the original and live on their own."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import Field

from maseval.benchmark.tau2 import Tau2Environment, load_tasks
from maseval.benchmark.tau2.domains.base import DB, ToolKitBase
from maseval.benchmark.tau2.world.state.copying import Rows, copy_value, once, own
from maseval.benchmark.tau2.world.state.records import Record, SharedRecordError, Table, is_shared


class Lamp(Record):
    colour: str
    watts: int = 40
    hours: int = 0
    notes: list[Any] = Field(default_factory=list)


class Room(Record):
    name: str
    lamp: Lamp | None = None
    spare: Lamp | None = None
    marks: list[Any] = Field(default_factory=list)


class House(DB):
    rooms: Rows[Room]
    lamps: Table[Lamp]
    hall: Room
    owner: dict[str, Any]


class Keeper(ToolKitBase[House]):
    def __init__(self, db: House) -> None:
        super().__init__(db)
        self.opened = 0
        self.favourite = db.hall.lamp


def keeper() -> Keeper:
    lamp = {"colour": "red", "notes": [{"by": "Ann"}]}
    content = {
        "rooms": [{"name": "attic", "lamp": lamp, "marks": [{"by": "Ann"}]}, {"name": "loft"}],
        "lamps": {"a": lamp},
        "hall": {"name": "hall", "lamp": lamp},
        "owner": {"ages": [40]},
    }
    kept = Keeper(House.model_validate(content).share_rows())
    kept.db.hall.spare = kept.db.hall.lamp
    kept.db.hall.lamp.put(colour="blue")
    return kept


def test_copies_have_the_state_of_the_original_and_lives_of_their_own():
    original = keeper()
    before = original.db.get_hash()
    one, other = original.twin({}), original.twin({})
    assert one.db.get_hash() == other.db.get_hash() == before

    one.opened += 1
    one.db.hall.lamp.notes[0]["by"] = "Ben"
    one.db.hall.name = "parlour"
    one.db.hall.lamp.watts = 60
    one.db.hall.lamp.put(hours=1)
    one.db.lamps["a"].colour = "green"
    one.db.owner["ages"].append(41)
    one.db.rooms.append(Room(name="cellar"))
    own(one.db.rooms, one.db.rooms[0]).name = "loft"

    assert other.db.get_hash() == original.db.get_hash() == before != one.db.get_hash()
    assert other.db.hall.model_fields_set == original.db.hall.model_fields_set
    assert other.db.hall.lamp.model_fields_set == {"colour", "notes"}
    assert one.db.hall.lamp.model_fields_set == {"colour", "notes", "watts", "hours"}


def test_one_thing_in_several_places_stays_one():
    copy = keeper().twin({})

    assert copy.db.hall.lamp is copy.db.hall.spare is copy.favourite


def test_shared_records_stay_shared():
    original = keeper()
    copy = original.twin({})

    assert copy.db.rooms[0] is original.db.rooms[0]
    assert copy.db.rooms is not original.db.rooms


@pytest.mark.data
def test_the_copy_of_a_telecom_company_knows_its_own_phone(tau2_data):
    world = Tau2Environment(load_tasks("telecom", limit=1)[0].environment_data).world

    twin = world.twin()

    assert twin.tools.db.user_db is twin.user_tools.db is not world.user_tools.db
    assert twin.same_state(world)


def test_a_shared_record_is_changed_only_in_a_copy_that_takes_its_place():
    mine = keeper().db.rooms
    theirs = list(mine)

    attic = own(mine, mine[0])
    attic.marks[0]["by"] = "Ben"
    attic.name = "parlour"

    assert own(mine, mine[0]) is attic is mine[0]
    assert (theirs[0].name, theirs[0].marks) == ("attic", [{"by": "Ann"}])
    for lamp in (attic.lamp, theirs[0].lamp):  # one and the same
        with pytest.raises(SharedRecordError):
            lamp.notes.append("lost")
    assert mine[1] is theirs[1] is copy_value(mine[1], {})
    assert not is_shared(mine[1].model_copy(deep=True))


def test_what_was_stored_unchecked_is_copied_as_it_is():
    room = Room(name="hall")
    room.name = {"odd": (1, {2})}

    twin = copy_value(room, {})

    assert twin.name == {"odd": (1, {2})}
    assert twin.name is not room.name


def test_a_twin_does_not_see_what_changes_in_a_record_that_was_changed_before():
    original = keeper().db
    own(original.rooms, original.rooms[0]).name = "Attic"
    twin = original.twin({})

    own(original.rooms, original.rooms[0]).name = "Cellar"

    assert twin.rooms[0].name == "Attic"
    assert twin.rooms[1] is original.rooms[1]  # which nobody has changed


def test_threads_that_ask_at_the_same_time_get_one_answer():
    worked_on, everybody = [], threading.Barrier(8)

    @once(maxsize=4)
    def square(number):
        worked_on.append(number)
        threading.Event().wait(0.05)
        return number * number

    def ask(number):
        everybody.wait()
        return square(number)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, [3, 4] * 4)) == [9, 16] * 4
    assert sorted(worked_on) == [3, 4]


def test_a_failure_is_not_remembered():
    attempts = []

    @once(maxsize=4)
    def fail():
        attempts.append(1)
        raise OSError("not yet")

    for _ in range(2):
        with pytest.raises(OSError, match="not yet"):
            fail()
    assert len(attempts) == 2
