"""Cases to score: the task and the data that belong to a recorded conversation."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.data_loader import ensure_data_exists, load_tasks
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.scoring.case import KnownTask, open_case
from maseval.benchmark.tau2.scoring.score import check_environment, score, score_simulation
from maseval.benchmark.tau2.world.world import World
from tests.benchmark.tau2.rooms import action, room_task


@pytest.fixture
def own_folder(tmp_path: Path) -> Path:
    """A copy of the data of retail in a folder of its own."""
    folder = tmp_path / "own"
    shutil.copytree(
        ensure_data_exists(domain="retail") / "domains" / "retail", folder / "domains" / "retail"
    )
    return folder


def test_a_task_is_scored_with_the_data_folder_it_was_loaded_from(own_folder):
    task = load_tasks("retail", limit=1)[0]
    task.environment_data["data_dir"] = str(own_folder)
    silent = {"task_id": task.id, "termination_reason": "user_stop", "messages": []}

    own = open_case(silent, "retail", task)
    given = open_case(silent, "retail", task, data_dir=ensure_data_exists())

    assert own.setting.folder == own_folder / "domains" / "retail"
    assert given.setting.folder != own.setting.folder


def test_published_files_are_hashed_before_their_first_use_and_then_known(own_folder):
    silent = {"task_id": "0", "termination_reason": "user_stop", "messages": []}

    def state():
        return open_case(silent, "retail", data_dir=own_folder).replay().state()

    before = state()
    for name in ("db.json", "tasks.json"):
        (own_folder / "domains" / "retail" / name).write_text("edited")

    assert state() == before


@pytest.mark.parametrize("other", [True, 1.0, "1", 2])
def test_tasks_of_equal_content_are_read_once_and_no_others(other):
    def task(value):
        action = {"action_id": "a", "name": "call", "arguments": {"x": value}}
        return {"id": "t", "evaluation_criteria": {"actions": [action]}}

    first = KnownTask.of(task(1)).spec
    changed = task(1)
    changed["evaluation_criteria"]["actions"][0]["arguments"]["x"] = other
    (action,) = KnownTask.of(changed).spec.actions

    assert KnownTask.of(task(1)).spec is first
    assert type(action.arguments["x"]) is type(other)
    assert (action.arguments["x"], first.actions[0].arguments) == (other, {"x": 1})


RED = action("paint", colour="red")
BLUE = action("paint", colour="blue")
SWITCH = action("press_switch", "user")


def played(room: Domain, *actions: dict[str, Any]) -> dict[str, Any]:
    world, messages = World(room, room.data_dir), []
    for number, each in enumerate(actions):
        call = {"id": str(number), **each}
        messages.append({"role": each["requestor"], "content": None, "tool_calls": [call]})
        messages.append(dict(world.respond(call)))
    return {"messages": messages, "termination_reason": "user_stop"}


@pytest.mark.parametrize(
    ("actions", "company", "customer"),
    [
        ([RED, SWITCH], True, True),
        ([SWITCH, BLUE, RED], True, True),
        ([RED], True, False),
        ([SWITCH], False, True),
        ([BLUE], False, False),
        ([RED, SWITCH, SWITCH], True, False),
    ],
)
def test_both_databases_must_end_as_the_reference_solution_leaves_them(
    room, actions, company, customer
):
    task = room_task(room, RED, SWITCH, reward_basis=["DB"])
    simulation = played(room, *actions)

    verdict = score_simulation(simulation, domain=room, task=task)
    case = open_case(simulation, room, task)

    met = company and customer
    assert verdict["db_check"] == {"db_match": met, "db_reward": float(met)}
    assert verdict["reward"] == float(met)
    assert check_environment(case, case.criteria).match == (company, customer)
    assert score(case).match == (company, customer)
