"""Telecom in tau2-bench v0.2.0: its other policy, and every task of its sets."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.domains.telecom import TELECOM
from maseval.benchmark.tau2.world.world import World
from tests.contract.replay import task_sets

pytestmark = [pytest.mark.contract, pytest.mark.data]

CALL_KEYS = ("name", "arguments", "requestor")


@pytest.fixture(scope="module")
def folder(tau2_data: Path) -> Path:
    return tau2_data / "domains" / "telecom"


@pytest.fixture(scope="module")
def new_world(folder: Path) -> Callable[[], World]:
    return lambda: World(TELECOM, folder)


@pytest.fixture(scope="module")
def tasks(folder: Path) -> dict[str, dict[str, Any]]:
    return task_sets(TELECOM, folder)


def started(new_world: Callable[[], World], task: dict[str, Any]) -> World:
    world, state = new_world(), task["initial_state"]
    data, actions = state.get("initialization_data"), state["initialization_actions"]
    world.set_state(data, actions, state.get("message_history") or [])
    return world


def test_the_reference_solution_of_every_base_task_fulfils_it(new_world, tasks):
    base = tasks["telecom"].values()
    assert len(base) == 114
    unmet = []
    for task in base:
        world = started(new_world, task)
        criteria = task["evaluation_criteria"]
        for action in criteria["actions"]:
            answer = world.respond({"id": "", **{key: action[key] for key in CALL_KEYS}})
            assert not answer["error"], answer["content"]
        unmet += [task["id"] for each in criteria["env_assertions"] if not world.check(each)]
    assert not unmet


@pytest.mark.slow
def test_every_task_of_the_full_set_can_be_started(new_world, tasks):
    full = tasks["telecom_full"].values()
    assert len(full) == 2285
    fresh = new_world().get_user_db_hash()
    for task in full:
        assert started(new_world, task).get_user_db_hash() != fresh
