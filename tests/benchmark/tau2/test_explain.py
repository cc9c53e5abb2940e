from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_task, load_raw_tasks
from maseval.benchmark.tau2.domains.domain import Domain, PermanenceRule, once_set
from maseval.benchmark.tau2.review.explain import ABSENT, explain
from maseval.benchmark.tau2.review.explain.explanation import Explanation
from maseval.benchmark.tau2.review.explain.repair import CallChange
from maseval.benchmark.tau2.scoring.score import score_simulation
from tests.benchmark.tau2.staged import do, gold, is_write, staged
from tests.benchmark.tau2.todo_list import COMPLETE, CREATE, said, task, todo_list
from tests.benchmark.tau2.todo_list import do as act


@pytest.fixture
def todo(tmp_path: Path) -> Domain:
    return todo_list(tmp_path, task(CREATE, COMPLETE))


def gates(explanation: Explanation) -> dict[str, Any]:
    return {check.kind: (check.gates, check.passed) for check in explanation.checks}


def shown(changes: tuple[CallChange, ...]) -> list[tuple[str, str]]:
    return [(change.kind, change.call["name"]) for change in changes]


def test_a_passed_simulation_tells_which_checks_count_and_which_call_it_rests_on(todo):
    found = explain(said(todo, CREATE, COMPLETE, "Done."), domain=todo)

    assert found.passed and found.reward == 1.0
    assert gates(found)["DB"] == (True, True)
    assert gates(found)["ACTION"] == (False, True)
    assert found.failed_gates == () and found.wrong_fields == ()
    assert shown(found.repair.changes) == [("leave out", "create_task")]


def test_a_missing_write_is_told_with_the_gold_action_that_makes_it(todo):
    found = explain(said(todo, CREATE, "Done."), domain=todo)

    (field,) = found.wrong_fields
    assert str(field.place) == "tasks[task_1].status"
    assert (field.expected, field.found) == ("completed", "pending")
    assert field.written_by is None
    assert field.gold_action.name == "update_task_status"
    assert shown(found.repair.changes) == [("add", "update_task_status")]
    assert found.repair.smallest


def test_a_wrong_value_is_told_with_the_call_that_wrote_it(todo):
    wrong = act("create_task", user_id="user_1", title="Meting")
    found = explain(said(todo, "Hi.", wrong, COMPLETE), domain=todo)

    (field,) = found.wrong_fields
    assert str(field.place) == "tasks[task_2].title"
    assert (field.expected, field.found) == ("Meeting", "Meting")
    assert field.written_by.message_index == 1
    assert field.written_by.call["arguments"]["title"] == "Meting"
    assert field.gold_action.arguments["title"] == "Meeting"
    assert shown(found.repair.changes) == [("leave out", "create_task"), ("add", "create_task")]


def test_a_record_that_should_not_be_there_is_absent_in_the_expected_state(tmp_path):
    domain = todo_list(tmp_path, task(COMPLETE))
    found = explain(said(domain, COMPLETE, CREATE), domain=domain)

    places = {str(field.place): field for field in found.wrong_fields}
    assert places["tasks[task_2]"].expected is ABSENT
    assert places["users[user_1].tasks[1]"].found == "task_2"
    assert "expected" not in found.to_dict()["wrong_fields"][0]
    assert shown(found.repair.changes) == [("leave out", "create_task")]


def test_the_point_of_no_return_is_decided_by_what_the_domain_calls_permanent(todo):
    stays_said = PermanenceRule("tasks", ("title",), once_set, "a title is never changed")
    wrong = act("create_task", user_id="user_1", title="Meting")
    without, found = (
        explain(said(domain, "Hi.", wrong, COMPLETE), domain=domain).divergence
        for domain in (todo, replace(todo, permanence=[stays_said]))
    )

    assert not without.decided and "mock" in without.reason
    assert found.decided and found.message_index == 1
    assert found.reason == "a title is never changed"
    assert str(found.place) == "tasks[task_2].title"


def test_what_could_still_be_done_at_the_end_was_open_until_then(todo):
    simulation = said(todo, "Hi.", "Bye.")

    found = explain(simulation, domain=todo).divergence

    assert found.decided and found.message_index == 1


def test_information_that_was_not_given_is_set_beside_the_nearest_number(tmp_path):
    domain = todo_list(tmp_path, task(communicate_info=["1628"]))
    found = explain(said(domain, "It costs $1,600. Or $7."), domain=domain)

    assert found.to_be_said == ("1628",)
    (unsaid,) = found.unsaid
    assert (unsaid.message_index, unsaid.closest) == (0, "It costs $1,600.")
    assert found.repair is None


@pytest.mark.parametrize(
    "sentence",
    [
        "You fly on 1628-05-20.",
        "You fly at 16:28.",
        "Your booking is A1628 and your card gift_card_1628.",
        "You have 7 bags.",
    ],
)
def test_a_date_an_id_or_a_far_number_is_no_evidence_for_an_amount(tmp_path, sentence):
    domain = todo_list(tmp_path, task(communicate_info=["1627"]))
    found = explain(said(domain, sentence), domain=domain)

    assert [each.closest for each in found.unsaid] == [None]


def test_fields_of_one_call_stand_together_in_their_own_letters(todo):
    text = explain(said(todo, "Bye."), domain=todo).text()
    curly = act("create_task", user_id="user_1", title="Ada\u2019s \u00e9tude")
    other = explain(said(todo, COMPLETE, curly), domain=todo).text()

    assert text.count("gold action 0 would have written them") == 1
    assert text.count("gold action 1 would have written it") == 1
    assert "Ada\u2019s \u00e9tude" in other and "\\u2019" not in other


def test_a_failed_assertion_tells_the_values_that_it_looked_at(tmp_path):
    check = {
        "env_type": "assistant",
        "func_name": "assert_task_status",
        "arguments": {"task_id": "task_1", "expected_status": "completed"},
    }
    criteria = {"env_assertions": [check], "reward_basis": ["ENV_ASSERTION"]}
    domain = todo_list(tmp_path, task(COMPLETE, **criteria))

    found = explain(said(domain, "Done."), domain=domain)

    (evidence,) = found.assertions
    assert not evidence.met
    assert "pending" in evidence.looked_at.values()
    assert shown(found.repair.changes) == [("add", "update_task_status")]
    assert not found.state_gates and found.wrong_fields == ()


def test_a_simulation_that_was_cut_off_is_not_looked_at(todo):
    found = explain(said(todo, CREATE, termination_reason="max_steps"), domain=todo)

    assert found.cut_off == "max_steps"
    assert all(check.passed is None for check in found.checks)


def test_an_answer_that_no_tool_gives_is_told_with_its_first_difference(todo):
    simulation = said(todo, CREATE, COMPLETE)
    answer = simulation["messages"][1]
    answer["content"] = answer["content"].replace("Meeting", "Beating")

    fault = explain(simulation, domain=todo).replay_fault

    assert fault.message_index == 1 and fault.call["name"] == "create_task"
    assert "Beating" in fault.meaning and "Meeting" in fault.meaning


def test_a_task_without_criteria_passes_without_reasons(todo):
    raw = {**task(CREATE), "evaluation_criteria": None}

    found = explain(said(todo, "Hi."), domain=todo, task=raw)

    assert found.passed and "no criteria" in found.summary


def test_a_reading_tool_that_writes_is_traced_all_the_same(todo, monkeypatch):
    tools = dict(todo.toolkit._tool_types)
    tools["create_task"] = tools["get_users"]
    monkeypatch.setattr(todo.toolkit, "_tool_types", tools)

    found = explain(said(todo, CREATE, CREATE, COMPLETE), domain=todo)

    assert {field.written_by.message_index for field in found.wrong_fields} == {2}


@pytest.mark.data
def test_a_cancelled_order_is_the_point_of_no_return(tau2_data):
    raw = load_raw_task("retail", "0")
    cancel = do("cancel_pending_order", order_id="#W5918442", reason="no longer needed")

    found = explain(staged("retail", raw, [cancel, *gold(raw)]), domain="retail")

    assert found.divergence.message_index == 2
    assert found.divergence.call.call["name"] == "cancel_pending_order"
    assert shown(found.repair.changes) == [("leave out", "cancel_pending_order")]


@pytest.mark.data
def test_in_telecom_the_assertions_decide_and_the_database_does_not(tau2_data):
    raw = next(t for t in load_raw_tasks("telecom") if "airplane_mode_on|data_mode" in t["id"])
    left_out = [action for action in gold(raw) if action["name"] != "toggle_data"]

    found = explain(staged("telecom", raw, left_out), domain="telecom")

    assert gates(found)["ENV_ASSERTION"] == (True, False)
    assert gates(found)["DB"][0] is False and found.wrong_fields == ()
    assert shown(found.repair.changes) == [("add", "toggle_data")]
    looked_at = {name for each in found.assertions for name in each.looked_at}
    assert "device.data_enabled" in looked_at


@pytest.mark.data
@pytest.mark.parametrize("domain", ["airline", "retail"])
def test_each_gold_write_that_is_left_out_is_what_flips_the_verdict(domain, tau2_data):
    for raw in load_raw_tasks(domain)[::3]:
        for number, action in enumerate(gold(raw)):
            rest = gold(raw)[:number] + gold(raw)[number + 1 :]
            simulation = staged(domain, raw, rest)
            if (
                not is_write(domain, action)
                or score_simulation(simulation, domain=domain)["reward"]
            ):
                continue

            found = explain(simulation, domain=domain)

            assert found.repair.changes is not None, raw["id"]
            assert len(found.repair.changes) == 1, raw["id"]
