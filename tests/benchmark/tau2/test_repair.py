"""Which set of changes is called the smallest, in a room where one call undoes three."""

from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.domains.base import DB, ToolKitBase, ToolType, is_tool
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.review.explain import explain
from maseval.benchmark.tau2.review.explain import repair as repair_module
from maseval.benchmark.tau2.review.explain.repair import Repair


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
def room(tmp_path: Path) -> Domain:
    (tmp_path / "db.json").write_text("{}")
    return Domain(name="room", db=Room, toolkit=RoomTools, data_dir=tmp_path)


def sets(part: str, value: str) -> dict[str, Any]:
    return {"name": "set_part", "arguments": {"part": part, "value": value}}


WRECK = {"name": "wreck", "arguments": {}}
RESTORED = (sets("wall", "white"), sets("floor", "oak"), sets("door", "shut"))


def task(*actions: dict[str, Any]) -> dict[str, Any]:
    numbered = [{"action_id": f"gold_{number}", **one} for number, one in enumerate(actions)]
    return {"id": "tidy", "evaluation_criteria": {"actions": numbered, "reward_basis": ["DB"]}}


def done(*calls: dict[str, Any]) -> dict[str, Any]:
    messages = []
    for number, call in enumerate(calls):
        asked = {"id": str(number), **call}
        messages.append({"role": "assistant", "content": None, "tool_calls": [asked]})
        messages.append({"role": "tool", "id": str(number), "content": "done"})
    return {"messages": messages, "termination_reason": "user_stop"}


def repair(
    room: Domain,
    simulation: dict[str, Any],
    gold: list[dict[str, Any]] | tuple[dict[str, Any], dict[str, Any], dict[str, Any]],
) -> Repair:
    return explain(simulation, domain=room, task=task(*gold)).repair


REFURBISHED = [sets("wall", "red"), sets("floor", "tiles"), sets("door", "open")]


@pytest.mark.parametrize(
    ("made", "gold", "changes"),
    [
        ([WRECK], RESTORED, [("leave out", 0)]),  # and not all three of the gold
        ([WRECK, sets("wall", "red")], RESTORED, [("leave out", 0), ("leave out", 2)]),
        ([], REFURBISHED, [("add", f"gold_{number}") for number in range(3)]),
    ],
)
def test_the_smallest_set_of_changes_is_found(room, made, gold, changes):
    found = repair(room, done(*made), gold)

    places = [each.action_id or each.message_index for each in found.changes]
    assert [*zip((each.kind for each in found.changes), places, strict=True)] == changes
    assert found.smallest and found.note == ""
    assert found.only_adds == (not made)


def test_what_could_not_be_ruled_out_is_not_called_the_smallest(room, monkeypatch):
    monkeypatch.setattr(repair_module, "MOST_TRIALS", 1)
    found = repair(room, done(WRECK), RESTORED)

    assert not found.smallest
    assert "there may be a smaller set" in found.note


def test_calls_that_come_too_late_at_the_end_are_placed_instead_of_what_they_replace(room):
    gold = [sets("floor", "tiles"), WRECK, sets("wall", "blue")]
    played = [sets("floor", "tiles"), sets("door", "open"), sets("wall", "blue")]

    found = repair(room, done(*played), gold)

    assert [change.kind for change in found.changes] == ["leave out", "add"]
    assert found.placement == "instead"
