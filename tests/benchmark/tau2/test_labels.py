"""Each fault inserted into a conversation that follows the reference solution gets its label."""

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_task, load_raw_tasks
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.review.explain.scored_case import score_case
from maseval.benchmark.tau2.review.labels import (
    Label,
    label,
    summarise_labels,
    summary_text,
)
from maseval.benchmark.tau2.review.policy import forbidden_steps, scenario_text
from maseval.benchmark.tau2.scoring.score import score_simulation
from tests.benchmark.tau2.staged import STOP, do, folder_of, gold, is_write, staged, to_be_said
from tests.benchmark.tau2.todo_list import COMPLETE, CREATE, said, task, todo_list

DOMAINS = ["airline", "retail", "telecom"]
pytestmark = [pytest.mark.data, pytest.mark.usefixtures("tau2_data")]


def writing_tasks(domain, step=1):
    """The tasks that fail without their last write, if the policy allows all they ask for."""
    for raw in load_raw_tasks(domain)[::step]:
        places = [n for n, action in enumerate(gold(raw)) if is_write(domain, action)]
        if not places:
            continue
        setting = score_case(staged(domain, raw), domain).case.setting
        if forbidden_steps(setting, scenario_text(raw)):
            continue
        rest = gold(raw)[: places[-1]] + gold(raw)[places[-1] + 1 :]
        if score_simulation(staged(domain, raw, rest), domain=domain)["reward"] == 0.0:
            yield raw, rest, gold(raw)[places[-1]]


def labelled(domain, simulation, **more):
    found = label(simulation, domain=domain, **more)
    assert found is not None
    return found.who, found.what


def all_labelled(expected, found):
    wrong = {task_id: name for task_id, name in found.items() if name != expected}
    assert len(found) > 5 and wrong == {}


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_conversation_by_the_book_has_no_label(domain):
    found = {
        raw["id"]: label(staged(domain, raw), domain=domain) for raw in load_raw_tasks(domain)[::4]
    }

    assert {task_id for task_id, name in found.items() if name} == set()


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_write_that_is_left_out_is_missing(domain):
    found = {
        raw["id"]: labelled(domain, staged(domain, raw, rest))
        for raw, rest, _ in writing_tasks(domain, 2)
    }

    all_labelled(("agent", "missing write"), found)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_write_that_is_passed_on_to_a_human_was_transferred_too_early(domain):
    transfer = do("transfer_to_human_agents", summary="I cannot help.")
    found = {
        raw["id"]: labelled(domain, staged(domain, raw, [*rest, transfer]))
        for raw, rest, _ in writing_tasks(domain, 3)
        if "transfer_to_human_agents" not in {action["name"] for action in gold(raw)}
    }

    all_labelled(("agent", "transferred too early"), found)


@pytest.mark.parametrize("domain", ["airline", "retail"])
def test_a_write_about_another_record_has_wrong_arguments(domain):
    found = {}
    for raw, rest, write in writing_tasks(domain, 2):
        wrong = {**write, "arguments": mistyped(write["arguments"])}
        found[raw["id"]] = labelled(domain, staged(domain, raw, [*rest, wrong]))

    all_labelled(("agent", "wrong arguments"), found)


def mistyped(arguments):
    """The same with the last digit of the first id wrong."""
    name, value = next(iter(arguments.items()))
    return {**arguments, name: f"{value}0"}


def test_a_certificate_over_the_wrong_amount_has_wrong_arguments():
    raw = {**load_raw_task("airline", "2"), "id": "without an erratum"}
    wrong = [
        {**action, "arguments": {**action["arguments"], "amount": 150}}
        if action["name"] == "send_certificate"
        else action
        for action in gold(raw)
    ]

    found = label(staged("airline", raw, wrong), domain="airline", task=raw)

    assert (found.who, found.what) == ("agent", "wrong arguments")
    assert "amount: 150 instead of 50" in found.evidence


@pytest.mark.parametrize(
    ("domain", "extra"),
    [
        ("airline", do("send_certificate", user_id="sara_doe_496", amount=50)),
        (
            "retail",
            do(
                "modify_user_address",
                user_id="yusuf_rossi_9620",
                **{"address1": "1 Way", "address2": "", "city": "X", "state": "Y"},
                **{"country": "USA", "zip": "00000"},
            ),
        ),
    ],
)
def test_a_write_that_nobody_asked_for_is_extra(domain, extra):
    users = domain_named(domain).db.load(folder(domain)).users
    known = extra["arguments"]["user_id"]
    user_id = known if known in users else next(iter(users))
    extra = {**extra, "arguments": {**extra["arguments"], "user_id": user_id}}
    found = {
        raw["id"]: labelled(domain, staged(domain, raw, [*gold(raw), extra]))
        for raw in load_raw_tasks(domain)[::4]
    }

    all_labelled(("agent", "extra write"), found)


def folder(domain):
    return folder_of(domain) / domain_named(domain).db_file


@pytest.mark.parametrize("domain", ["airline", "retail"])
def test_what_is_not_said_is_information_not_given(domain):
    tasks = [{**raw, "id": f"{raw['id']} without errata"} for raw in load_raw_tasks(domain)]
    found = {
        raw["id"]: labelled(domain, staged(domain, raw, said=()), task=raw)
        for raw in tasks
        if to_be_said(raw)
    }

    all_labelled(("agent", "information not given"), found)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_conversation_that_is_cut_off_ran_out_of_steps(domain):
    raw, rest, _ = next(writing_tasks(domain))
    simulation = staged(domain, raw, rest, termination_reason="max_steps")

    assert labelled(domain, simulation) == ("agent", "ran out of steps")


@pytest.mark.parametrize("domain", ["airline", "retail"])
def test_a_user_who_agrees_and_leaves_stopped_too_early(domain):
    found = {}
    for raw, rest, write in writing_tasks(domain, 2):
        about = f"{write['name'].replace('_', ' ')} for {next(iter(write['arguments'].values()))}"
        ending = (
            {"role": "assistant", "content": f"I will {about}. Do you confirm (yes/no)?"},
            {"role": "user", "content": "Yes, please go ahead. ###STOP###"},
        )
        found[raw["id"]] = labelled(domain, staged(domain, raw, rest, ending=ending))

    all_labelled(("user", "stopped before the confirmed action"), found)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_user_who_says_nothing_has_empty_turns(domain):
    silence = ({"role": "user", "content": " "}, {"role": "assistant", "content": "Hello?"}, STOP)
    found = {
        raw["id"]: labelled(domain, staged(domain, raw, rest, ending=silence))
        for raw, rest, _ in writing_tasks(domain, 3)
    }

    all_labelled(("user", "empty turns"), found)


@pytest.mark.parametrize("domain", ["airline", "retail"])
def test_an_id_that_the_user_made_up_is_an_invented_fact(domain):
    found = {}
    for raw, rest, write in writing_tasks(domain, 2):
        wrong = {**write, "arguments": mistyped(write["arguments"])}
        told = next(iter(wrong["arguments"].values()))
        before = ({"role": "user", "content": f"It is {told}."},)
        found[raw["id"]] = labelled(domain, staged(domain, raw, [*rest, wrong], before=before))

    all_labelled(("user", "invented facts"), found)


def test_a_text_with_a_comma_is_the_fault_of_the_task(tmp_path):
    raw = task(CREATE, communicate_info=["1,628"])
    domain = todo_list(tmp_path, raw)

    assert labelled(domain, said(domain, CREATE, "It is 1,628."), task=raw)[0] == "task"


def test_an_assertion_that_the_gold_does_not_meet_is_the_fault_of_the_task(tmp_path):
    check = {
        "env_type": "assistant",
        "func_name": "assert_task_status",
        "arguments": {"task_id": "task_1", "expected_status": "lost"},
    }
    raw = task(COMPLETE, env_assertions=[check], reward_basis=["ENV_ASSERTION"])
    domain = todo_list(tmp_path, raw)

    assert labelled(domain, said(domain, COMPLETE), task=raw) == ("task", "gold cannot be reached")


def test_a_gold_action_that_raises_is_the_fault_of_the_task(tmp_path):
    raw = task(
        {"name": "create_task", "arguments": {"user_id": "user_1", "name": "Meeting"}}, COMPLETE
    )
    domain = todo_list(tmp_path, raw)

    found = label(said(domain, CREATE, COMPLETE), domain=domain, task=raw)

    assert (found.who, found.what) == ("task", "gold raises")
    assert "unexpected keyword" in found.evidence[0]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"messages": []}, "no conversation"),
        ({"termination_reason": "task_timeout"}, "ended from outside"),
        ({"termination_reason": None}, "ended from outside"),
    ],
)
def test_what_is_not_a_whole_conversation_is_infrastructure(tmp_path, changes, what):
    domain = todo_list(tmp_path, task(CREATE))

    found = labelled(domain, said(domain, "Hi.", **changes))

    assert found == ("infrastructure", what)


def test_an_answer_that_no_tool_gives_is_infrastructure(tmp_path):
    domain = todo_list(tmp_path, task(CREATE))
    simulation = said(domain, CREATE)
    simulation["messages"][1]["content"] = "{}"

    assert labelled(domain, simulation) == ("infrastructure", "not replayable")


def test_labels_are_counted_by_who_failed_and_how():
    user, agent = Label("user", "empty turns", "r"), Label("agent", "extra write", "r")
    summary = summarise_labels([None, user, agent, None])

    assert (summary["simulations"], summary["passed"], summary["failed"]) == (4, 2, 2)
    assert summary["by_who"] == {
        "agent": 1,
        "user": 1,
        "task": 0,
        "infrastructure": 0,
        "unclear": 0,
    }
    lines = ["4 simulations, 2 passed, 2 failed", "1  user: empty turns", "1  agent: extra write"]
    assert [line.strip() for line in summary_text(summary).splitlines()] == lines
