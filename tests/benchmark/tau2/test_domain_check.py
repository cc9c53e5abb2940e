"""Problems of a domain's tasks, found before anybody runs them."""

import json
from typing import Any, ClassVar

import pytest

from maseval.benchmark.tau2.domains.base import ToolKitBase, ToolType, is_tool
from maseval.benchmark.tau2.review.audit import audit, check_domain
from tests.benchmark.tau2.domains.kiosk import KioskDB, KioskTools, kiosk, task


def action(name: str = "sell", requestor: str = "assistant", **arguments: int) -> dict[str, Any]:
    return {"action_id": "0", "name": name, "arguments": arguments, "requestor": requestor}


def function(name: str, env_type: str = "assistant", **arguments: int) -> dict[str, Any]:
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
        ([task(), task()], "task 'two': 2 tasks have the id 'two'"),
        ([task("")], "1 task without an id"),
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


class ForgetfulTools(KioskTools):
    counts: ClassVar[list[int]] = []  # the fault: one list for all worlds

    @is_tool(ToolType.WRITE)
    def sell(self, count: int) -> str:
        """Sell tickets.

        Args:
            count: How many.
        """
        self.counts.append(count)
        self.db.sold = sum(self.counts)
        return "sold"


def test_a_tool_that_does_something_else_each_time_lets_no_solution_pass(tmp_path):
    (found,) = check_domain(kiosk(tmp_path, task(env_assertions=[]), toolkit=ForgetfulTools))

    assert "carried out call by call, the reference solution fails at DB" in found


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


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in task().items() if key != name}


@pytest.mark.parametrize(
    ("raw", "severity", "words"),
    [
        (without("user_scenario"), "error", "told 'None'"),
        ({**task(), "user_scenario": {"instructions": None}}, "error", "is told nothing"),
        ({**task(), "user_scenario": {"instructions": " "}}, "error", "is told nothing"),
        (
            {**task(), "user_scenario": {"instructions": "Say ###STOP### now"}},
            "error",
            "which ends",
        ),
        ({**task(), "user_scenario": {"instrucions": "Buy"}}, "warning", "mean 'instructions'?"),
        (
            {**task(), "user_scenario": {"instructions": {"known_info": "You are Ann."}}},
            "warning",
            "no reason_for_call",
        ),
        (
            {**task(), "user_scenario": {"instructions": {"reason_for_call": 7}}},
            "error",
            "reason_for_call is 7, not a text",
        ),
        (
            {**task(), "user_scenario": {"instructions": {"reason_for_call": "x", "domain": "y"}}},
            "warning",
            "name the domain 'y'",
        ),
        ({**task(), "id": 7}, "warning", "its id is 7, not a text"),
        ({**task(), "id": "two "}, "warning", "white space"),
        ({**task(), "evaluation_criterea": {}}, "warning", "mean 'evaluation_criteria'?"),
        (task(reward_basics=["DB"]), "warning", "mean 'reward_basis'?"),
        (task(reward_basis=[]), "error", "so every agent passes"),
        (task(reward_basis=["DB", "NL_ASSERTION"]), "warning", "but nl_assertions is empty"),
        (task(communicate_info=["sold"], reward_basis=["DB"]), "warning", "no COMMUNICATE"),
        (task(communicate_info=[""]), "error", "has an empty text"),
        (task(communicate_info=["sold", "sold"]), "warning", "'sold' 2 times"),
        (task(actions=[action(count=1), action(count=1)]), "error", "have the action_id '0'"),
        (task(actions=[action()]), "error", "calls sell without count"),
        (task(actions=[action("steal")]), "error", "which the agent does not have"),
        (task(actions=[{**action(count=2), "argument": 1}]), "warning", "mean 'arguments'?"),
        (task(actions=[{**action(count=2), "compare_args": ["n"]}]), "error", "compares 'n'"),
        ({**task(), "initial_state": {"initialisation_data": {}}}, "warning", "initialization"),
    ],
)
def test_the_audit_names_what_is_malformed(tmp_path, raw, severity, words):
    found = audit(kiosk(tmp_path, raw))

    malformed = [each for each in found if each.kind == "task is malformed"]
    assert any(each.severity == severity and words in each.text for each in malformed), found


def test_the_audit_knows_what_check_domain_knows(tmp_path):
    domain = kiosk(tmp_path, task(), task())

    assert any("2 tasks have the id 'two'" in each.text for each in audit(domain))
    assert [e for e in audit(kiosk(tmp_path)) if e.kind == "task is malformed"] == []


def test_tasks_in_another_file_are_played_by_both(tmp_path):
    domain = kiosk(tmp_path, task_files={"base": "tasks.json", "more": "more.json"})
    (tmp_path / "more.json").write_text(json.dumps([task("none", actions=[action(count=0)])]))

    assert check_domain(domain) == ["task 'none': sell raises ValueError: cannot sell 0 tickets"]
    (found,) = [each for each in audit(domain) if each.severity == "error"]
    assert (found.task_id, found.kind) == ("none", "gold raises")
