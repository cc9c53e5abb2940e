"""Copies made by a pattern are equal to the original, and none of them sees another's changes."""

import threading
from typing import Any

import pytest
from pydantic import Field

from maseval.benchmark.tau2 import Tau2Environment, load_tasks
from maseval.benchmark.tau2.domains.base import DB, ToolKitBase
from maseval.benchmark.tau2.world.setting import NoPatternError, Pattern
from maseval.benchmark.tau2.world.state.copying import Rows, own
from maseval.benchmark.tau2.world.state.records import Record, Table


class Lamp(Record):
    colour: str
    watts: int = 40
    hours: int = 0
    notes: list[Any] = Field(default_factory=list)


class Room(Record):
    name: str
    lamp: Lamp | None = None
    spare: Lamp | None = None


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
        "rooms": [{"name": "attic", "lamp": lamp}],
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
    pattern, before = Pattern([original]), original.db.get_hash()
    (one,), (other,) = pattern.copies(), pattern.copies()
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
    (later,) = pattern.copies()
    assert (later.opened, later.db.get_hash()) == (0, before)


def test_one_thing_in_several_places_stays_one():
    (copy,) = Pattern([keeper()]).copies()

    assert copy.db.hall.lamp is copy.db.hall.spare is copy.favourite


def test_shared_records_stay_shared():
    original = keeper()
    (copy,) = Pattern([original]).copies()

    assert copy.db.rooms[0] is original.db.rooms[0]
    assert copy.db.rooms is not original.db.rooms


@pytest.mark.data
def test_telecom_is_copied_by_a_pattern_and_its_company_knows_its_own_phone(tau2_data):
    world = Tau2Environment(load_tasks("telecom", limit=1)[0].environment_data).world

    company, customer = Pattern((world.tools, world.user_tools)).copies()

    assert company.db.user_db is customer.db is not world.user_tools.db
    assert (company.get_db_hash(), customer.get_db_hash()) == (
        world.get_db_hash(),
        world.get_user_db_hash(),
    )


class OwnWay(Keeper):
    def twin(self, memo: dict[int, Any]) -> "OwnWay":
        twin = super().twin(memo)
        twin.opened = 7
        return twin


def test_a_toolkit_that_knows_better_how_it_is_copied_has_no_pattern():
    with pytest.raises(NoPatternError):
        Pattern([OwnWay(keeper().db)])


def loop() -> list[Any]:
    inside: list[Any] = []
    inside.append(inside)
    return inside


@pytest.mark.parametrize("value", [threading.Lock(), {1, 2}, loop()])
def test_what_only_deepcopy_can_copy_has_no_pattern(value):
    with pytest.raises(NoPatternError):
        Pattern([{"held": value}])
