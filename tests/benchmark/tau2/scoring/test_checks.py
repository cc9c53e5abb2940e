"""Each check by itself, in a room that two people share."""

import pytest

from maseval.benchmark.tau2.conversation.recording import read_recording
from maseval.benchmark.tau2.scoring.case import case_of
from maseval.benchmark.tau2.scoring.score import check_environment, score, score_simulation
from maseval.benchmark.tau2.world.world import World
from tests.benchmark.tau2.rooms import action, room_domain, room_task

RED = action("paint", colour="red")
BLUE = action("paint", colour="blue")
SWITCH = action("press_switch", "user")


@pytest.fixture
def room(tmp_path):
    return room_domain(tmp_path)


def played(room, *actions):
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
    case = case_of(read_recording(simulation), room, task)

    met = company and customer
    assert verdict["db_check"] == {"db_match": met, "db_reward": float(met)}
    assert verdict["reward"] == float(met)
    assert check_environment(case, case.criteria).match == (company, customer)
    assert score(case).match == (company, customer)
