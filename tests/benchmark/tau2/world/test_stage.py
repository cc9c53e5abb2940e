"""A task's start is worked out once, and every world that begins there is its own."""

import dataclasses
import threading
from typing import Any

import pytest

from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.domains.base import ToolType
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.world.setting import TaskStage
from maseval.benchmark.tau2.world.tasks import InitialState
from maseval.benchmark.tau2.world.world import World
from tests.benchmark.tau2.rooms import CaretakerTools


def place(domain: Domain, *actions: tuple[str, str, dict[str, str]], **kind: Any) -> TaskStage:
    calls = [
        {"env_type": side, "func_name": name, "arguments": arguments}
        for side, name, arguments in actions
    ]
    return TaskStage(domain, domain.data_dir, InitialState(initialization_actions=calls), **kind)


def call(world: World, name: str, requestor: str = "assistant", **arguments: str) -> str:
    message = {"id": "1", "name": name, "arguments": arguments, "requestor": requestor}
    return world.respond(message)["content"]


def test_worlds_that_begin_alike_live_apart(room):
    one, other = (place(room, ("user", "press_switch", {})).world() for _ in range(2))

    call(one, "paint", colour="red")
    call(one, "press_switch", "user")

    assert (one.tools.db.wall, one.user_tools.db.on) == ("red", False)
    assert (other.tools.db.wall, other.user_tools.db.on) == ("white", True)
    assert place(room, ("user", "press_switch", {})).world().state() == other.state()


def test_a_start_is_set_up_once_for_equal_places_and_anew_for_others(room):
    painted = []

    class Painter(CaretakerTools):
        def paint(self, colour, coats=1):
            painted.append(colour)
            return super().paint(colour, coats)

    domain = dataclasses.replace(room, toolkit=Painter)
    for colour in ("red", "red", "blue", "red"):
        world = place(domain, ("assistant", "paint", {"colour": colour})).world()
        assert world.tools.db.wall == colour

    assert painted == ["red", "blue"]


def test_an_edited_database_is_read_again(room):
    assert place(room).world().tools.db.wall == "white"

    (room.data_dir / "db.json").write_text('{"wall": "yellow"}')

    assert place(room).world().tools.db.wall == "yellow"


def test_a_toolkit_that_cannot_be_copied_is_set_up_for_every_world(room):
    class Locked(CaretakerTools):
        def __init__(self, db):
            super().__init__(db)
            self.lock = threading.Lock()

    domain = dataclasses.replace(room, toolkit=Locked)
    one, other = place(domain).world(), place(domain).world()
    call(one, "paint", colour="red")

    assert one.tools.lock is not other.tools.lock
    assert other.tools.db.wall == "white"


def test_a_start_that_fails_fails_every_time(room):
    for _ in range(2):
        with pytest.raises(ValueError, match="No black walls"):
            place(room, ("assistant", "paint", {"colour": "black"})).world()


def test_after_reading_nothing_is_synchronised_where_the_domain_says_so(room):
    synced = []

    def sync(tools, user_tools):
        synced.append(tools.db.wall)
        if tools.db.wall == "grey":
            raise ValueError("grey is no colour")

    domain = dataclasses.replace(room, sync=sync, sync_after={ToolType.WRITE})
    world = place(domain).world()
    synced.clear()

    assert "white" in call(world, "look")
    assert synced == []
    assert call(world, "paint", colour="grey") == "Error: grey is no colour"
    assert call(world, "look") == "Error: grey is no colour"
    assert call(world, "paint", colour="red") == "The wall is red."
    assert synced == ["grey", "grey", "red"]


@pytest.mark.data
def test_a_vpn_that_a_task_broke_stays_broken_in_every_copy(tau2_data):
    telecom = dataclasses.replace(
        domain_named("telecom"), data_dir=tau2_data / "domains" / "telecom"
    )
    one, other = (place(telecom, ("user", "break_vpn", {})).world() for _ in range(2))

    for tool in ("disconnect_vpn", "connect_vpn"):
        call(one, tool, "user")

    assert "PerformanceLevel.POOR" in call(one, "check_vpn_status", "user")
    one.user_tools.default_vpn.server_performance = "fair"
    assert "PerformanceLevel.POOR" in call(other, "check_vpn_status", "user")
    fresh = place(telecom).world()
    call(fresh, "connect_vpn", "user")
    assert "PerformanceLevel.EXCELLENT" in call(fresh, "check_vpn_status", "user")
