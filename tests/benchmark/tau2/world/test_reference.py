"""The two ways in which a reference solution is carried out."""

import json
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.world.setting import (
    Setting,
    gold_state,
    shortfall,
    world_after_reference,
)
from maseval.benchmark.tau2.world.tasks import RewardType, TaskSpec
from tests.benchmark.tau2.rooms import CaretakerTools, LampDB, RoomDB, TenantTools, action

RED = action("paint", colour="red")
BLACK = action("paint", colour="black")
SWITCH = action("press_switch", "user")


def sync(desk: CaretakerTools, tenant: TenantTools) -> None:
    """The lamp is as bright as the wall has coats."""
    if tenant.db.level != desk.db.coats:
        tenant.db.level = desk.db.coats


@pytest.fixture
def coupled(tmp_path: Path) -> Domain:
    (tmp_path / "db.json").write_text("{}")
    (tmp_path / "user_db.json").write_text("{}")
    return Domain(
        name="coupled",
        db=RoomDB,
        toolkit=CaretakerTools,
        user_db=LampDB,
        user_db_file="user_db.json",
        user_toolkit=TenantTools,
        sync=sync,
        data_dir=tmp_path,
    )


def setting(
    domain: Domain, *actions: dict[str, Any], solo: bool = False, **criteria: Any
) -> Setting:
    numbered = [{"action_id": f"gold_{number}", **one} for number, one in enumerate(actions)]
    form = {"evaluation_criteria": {"actions": numbered, **criteria}}
    return Setting(domain, domain.data_dir, TaskSpec.of(form), solo)


def wall_is(colour: str) -> dict[str, Any]:
    return {"env_type": "assistant", "func_name": "wall_is", "arguments": {"colour": colour}}


def test_the_evaluators_way_synchronises_nothing_and_passes_over_what_raises(coupled):
    gold = gold_state(setting(coupled, BLACK, action("paint", colour="red", coats=2), SWITCH))

    assert [(fault.action_id, fault.error_type, fault.error) for fault in gold.errors] == [
        ("gold_0", "ValueError", "No black walls")
    ]
    assert json.loads(gold.state.company["wall"]) == "red"
    assert json.loads(gold.state.customer["level"]) == 1  # as before the two coats


def test_a_runs_way_synchronises_after_each_call(coupled):
    world = world_after_reference(
        setting(coupled, BLACK, action("paint", colour="red", coats=2), SWITCH)
    )

    assert (world.tools.db.wall, world.user_tools.db.level) == ("red", 2)
    assert world.user_tools.db.on


def test_both_sides_act_for_themselves_whoever_played_the_conversation(coupled):
    assert world_after_reference(setting(coupled, SWITCH, solo=True)).user_tools.db.on
    assert not gold_state(setting(coupled, SWITCH, solo=True)).errors


def test_what_is_reached_in_both_ways_has_no_shortfall(coupled):
    met = shortfall(setting(coupled, RED, env_assertions=[wall_is("red")]))

    assert met == (False, (), None)
    assert met.kinds == ()


def test_a_state_that_only_the_evaluator_reaches_is_a_shortfall(coupled):
    missed = shortfall(setting(coupled, action("paint", colour="red", coats=2)))

    assert missed.kinds == (RewardType.DB,)


def test_assertions_that_the_reference_solution_does_not_meet_are_named(coupled):
    missed = shortfall(setting(coupled, RED, env_assertions=[wall_is("blue"), wall_is("red")]))

    assert [each.arguments for each in missed.assertions] == [{"colour": "blue"}]
    assert missed.kinds == (RewardType.ENV_ASSERTION,)


def test_an_assertion_that_raises_is_a_shortfall_too(coupled):
    broken = {**wall_is("red"), "arguments": {}}

    missed = shortfall(setting(coupled, RED, env_assertions=[broken]))

    assert missed.error is not None and missed.error.startswith("TypeError: ")
    assert missed.kinds == (RewardType.ENV_ASSERTION,)


def test_a_task_that_compares_no_state_misses_nothing(coupled):
    nothing = Setting(coupled, coupled.data_dir, TaskSpec.of({"evaluation_criteria": {}}))

    assert shortfall(nothing).kinds == ()


def test_an_edited_database_has_a_gold_state_of_its_own(coupled):
    before = gold_state(setting(coupled, RED)).state
    (coupled.data_dir / "db.json").write_text('{"coats": 1, "wall": "pink"}')

    assert gold_state(setting(coupled)).state.company["wall"] == '"pink"'
    assert before.company["wall"] == '"red"'


@pytest.mark.data
@pytest.mark.parametrize("opened_before", [False, True])
def test_a_reference_never_makes_up_an_id_of_a_conversation(tau2_data, opened_before):
    amount = {"arguments": {"customer_id": "C1003", "line_id": "L1009", "gb_amount": 1}}
    started = {"env_type": "assistant", "func_name": "refuel_data", **amount}
    form = {
        "initial_state": {"initialization_actions": [started] * opened_before},
        "evaluation_criteria": {"actions": [{"action_id": "a", "name": "refuel_data", **amount}]},
    }
    telecom = domain_named("telecom")
    chosen = Setting(telecom, tau2_data / "domains" / "telecom", TaskSpec.of(form))

    ids = {bill.bill_id for bill in gold_state(chosen).world.tools.db.bills}
    played = {bill.bill_id for bill in world_after_reference(chosen).tools.db.bills}

    assert ids - played == {"R00000001"}
    assert played - ids == {"B00000001"}
