"""Problems of a domain's tasks, found before anybody runs them."""

import pytest

from maseval.benchmark.tau2.domains.base import ToolKitBase, ToolType, is_tool
from maseval.benchmark.tau2.review.audit import check_domain
from tests.benchmark.tau2.domains.kiosk import KioskDB, KioskTools, kiosk, task


def action(name="sell", requestor="assistant", **arguments):
    return {"action_id": "0", "name": name, "arguments": arguments, "requestor": requestor}


def function(name, env_type="assistant", **arguments):
    return {"env_type": env_type, "func_name": name, "arguments": arguments}


def test_a_sound_domain_has_no_problems(tmp_path):
    assert check_domain(kiosk(tmp_path)) == []


def test_faults_of_the_domain_itself_are_told_without_playing_its_tasks(tmp_path):
    assert check_domain(kiosk(tmp_path, name="Kiosk")) == [
        "the name 'Kiosk' must be lower-case letters, digits, '-' and '_', as it is typed on "
        "command lines and becomes part of file names"
    ]


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ([task(), task()], "2 tasks of 'base' have the id 'two'"),
        ([task("")], "'base' has 1 task without an id"),
        ([task(reward_basis=["LUCK"])], "task 'two', field evaluation_criteria.reward_basis.0"),
        ([task(actions=[action("steal")])], "Tool 'steal' not found"),
        (
            [task(actions=[action(requestor="user", count=2)])],
            "sell raises ValueError: User tools not",
        ),
        ([task(env_assertions=[function("is_open")])], "no attribute 'is_open' (tasks call"),
        ([task(env_assertions=[function("x", "user")])], "of a side that is there"),
        ([task(actions=[action(count=0)])], "'two': sell raises ValueError: cannot sell 0"),
        (
            [task(env_assertions=[function("has_sold", count=3)], reward_basis=["ENV_ASSERTION"])],
            "does not meet",
        ),
        ([task(env_assertions=[function("has_sold", number=3)])], "; TypeError: "),
        ([task(env_assertions=[function("sell", count=1)])], "returned <class 'str'> instead"),
    ],
)
def test_each_problem_is_told_with_the_task_it_is_in(tmp_path, tasks, expected):
    found = check_domain(kiosk(tmp_path, *tasks))

    assert any(expected in problem for problem in found), found


def test_a_file_that_holds_no_tasks_is_a_problem(tmp_path):
    domain = kiosk(tmp_path)
    (tmp_path / "tasks.json").write_text("{")

    (problem,) = check_domain(domain)

    assert "is not a JSON file" in problem


class Pocket(ToolKitBase[KioskDB]):
    @is_tool(ToolType.WRITE)
    def pay(self) -> str:
        """Pay for a ticket."""
        self.db.sold += 1
        return "paid"


def test_a_sync_that_makes_the_reference_state_unreachable_is_a_problem(tmp_path):
    def sync(desk: KioskTools, customer: Pocket) -> None:
        desk.db.sold = customer.db.sold

    two_sides = {
        "user_toolkit": Pocket,
        "user_db": KioskDB,
        "user_db_file": "db.json",
        "sync": sync,
    }
    paying = {"actions": [action("pay", "user")], "env_assertions": [function("has_sold", count=1)]}

    (problem,) = check_domain(kiosk(tmp_path, task(**paying), **two_sides))
    assert "leave it out of reward_basis" in problem

    asserted = task(**paying, reward_basis=["ENV_ASSERTION"])
    assert check_domain(kiosk(tmp_path, asserted, **two_sides)) == []
