"""The cause of a failure: each step on a conversation made up for it, and the traps beside it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_task, load_raw_tasks
from maseval.benchmark.tau2.review.causes import beside_policy, find_cause
from maseval.benchmark.tau2.review.causes.steps import NOT_DECIDED
from maseval.benchmark.tau2.world.world import World
from maseval.core.finding import Finding
from tests.benchmark.tau2.staged import do, gold, staged
from tests.benchmark.tau2.todo_list import COMPLETE, CREATE, task, todo_list

TRANSFER = do("transfer_to_human_agents", summary="I give up.")
PARTY = do("create_task", user_id="user_1", title="Party")
OFFER = "I can update task_1 to completed. Do you confirm?"


def agent(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


BYE = user("Thank you. ###STOP###")
UNDECIDED = f"unclear: {NOT_DECIDED}"


def wish(text: str, *actions: dict[str, Any], **criteria: Any) -> dict[str, Any]:
    return {**task(*actions, **criteria), "user_scenario": {"instructions": text}}


@pytest.fixture
def cause(tmp_path: Path) -> Callable[..., Any]:
    """Find the cause of a failure, in a conversation of these turns."""

    def find(raw, *turns, ending="user_stop", solo=False):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        domain = todo_list(folder, raw)
        world, messages = World(domain, domain.data_dir), []
        for number, turn in enumerate(turns):
            if "role" in turn:
                messages.append(dict(turn))
                continue
            call = {"id": f"call_{number}", "requestor": "assistant", **turn}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append(dict(world.respond(call)))
        simulation = {"task_id": "a_task", "messages": messages, "termination_reason": ending}
        found = find_cause(simulation, domain=domain, task=raw, solo=solo)
        assert found is not None and found.source == "cause"
        return found

    return find


# -- no verdict


def test_what_is_not_a_whole_conversation_is_infrastructure(cause):
    raw = wish("Have task_1 completed.", COMPLETE)

    assert cause(raw).name == "infrastructure: no conversation"
    for ending in ("task_timeout", None):
        found = cause(raw, user("Hi."), BYE, ending=ending)
        assert found.name == "infrastructure: ended from outside"
    forged = {"role": "tool", "id": "1", "requestor": "assistant", "content": "{}"}
    call = {"id": "1", "requestor": "assistant", **CREATE}
    spoken = {"role": "assistant", "content": None, "tool_calls": [call]}
    found = cause(raw, user("Hi."), spoken, forged, BYE)
    assert (found.name, found.grade) == ("infrastructure: not replayable", "proven")


# -- what is recomputed


@pytest.mark.data
def test_a_write_that_the_policy_forbids_is_the_agents(tau2_data):
    raw = load_raw_task("airline", "1")
    forbidden = do("cancel_reservation", reservation_id="Q69X3R")

    found = find_cause(staged("airline", raw, [*gold(raw), forbidden]), domain="airline")

    assert (found.name, found.grade) == ("agent: forbidden write", "proven")
    assert "[airline." in found.evidence[0] and found.message is not None


@pytest.mark.data
def test_the_gold_is_never_a_forbidden_write(tau2_data):
    for raw in load_raw_tasks("airline")[::7]:
        simulation = staged("airline", raw, [*gold(raw)][:-1])
        found = find_cause(simulation, domain="airline")
        assert found is None or found.kind != "forbidden write", raw["id"]


@pytest.mark.data
def test_a_payment_method_that_does_not_exist_is_the_agents(tau2_data):
    raw = load_raw_task("airline", "44")
    wrong = with_arguments(gold(raw), payment_id="credit_card_0000001")

    found = find_cause(staged("airline", raw, wrong), domain="airline", task=raw)

    assert found.who == "agent" and found.kind == "invented value"
    assert "'credit_card_0000001', which the tool refused" in found.text


# -- the task


def with_arguments(actions: list[dict[str, Any]], **changed: Any) -> list[dict[str, Any]]:
    """The actions with other values for the arguments that they have."""
    return [
        {**each, "arguments": {k: changed.get(k, v) for k, v in each["arguments"].items()}}
        for each in actions
    ]


@pytest.mark.data
def test_another_right_end_is_the_tasks(tau2_data):
    raw = load_raw_task("airline", "33")  # two bags of a gold member, for which the gold charges
    free = with_arguments(gold(raw), nonfree_baggages=0)

    found = find_cause(staged("airline", raw, free), domain="airline")

    assert found.name == "task: right in another way"


@pytest.mark.data
def test_the_task_stands_first_where_the_corrected_one_passes(tau2_data):
    raw = load_raw_task("airline", "2")
    reads = [each for each in gold(raw) if each["name"] != "send_certificate"]
    refused = (agent("I cannot send a certificate: the policy does not allow it."), BYE)
    silent = staged("airline", raw, [*reads, TRANSFER])

    told = find_cause(staged("airline", raw, reads, ending=refused), domain="airline")
    passed_on = find_cause(silent, domain="airline")

    unread = staged("airline", raw, [TRANSFER])
    assert (told.name, told.grade) == ("task: right in another way", "proven")
    assert (passed_on.name, passed_on.grade) == ("task: right in another way", "proven")
    found = find_cause(unread, domain="airline")
    assert (found.name, found.grade) == (UNDECIDED, "undecided")
    assert any("send_certificate" in each for each in found.evidence)


def test_what_nobody_can_reach_is_the_tasks(cause):
    raises = {"name": "create_task", "arguments": {"user_id": "user_1", "name": "Meeting"}}
    check = {
        "env_type": "assistant",
        "func_name": "assert_task_status",
        "arguments": {"task_id": "task_1", "expected_status": "lost"},
    }
    lost = task(COMPLETE, env_assertions=[check], reward_basis=["ENV_ASSERTION"])
    comma = task(CREATE, communicate_info=["1,628"])

    for raw, calls in (
        (task(raises, COMPLETE), (CREATE, COMPLETE)),
        (lost, (COMPLETE,)),
        (comma, (CREATE, agent("It is 1,628."))),
    ):
        found = cause(raw, user("Please."), *calls, BYE)
        assert (found.name, found.grade) == ("task: unsound", "proven")


@pytest.mark.data
@pytest.mark.parametrize(
    ("domain", "task_id", "changed"),
    [
        ("retail", "100", {"payment_method_id": "paypal_3650980"}),
        ("retail", "38", {"reason": "ordered by mistake"}),
    ],
)
def test_a_choice_that_the_task_leaves_open_is_the_tasks(tau2_data, domain, task_id, changed):
    raw = load_raw_task(domain, task_id)
    raw = {**raw, "id": "without errata", "user_scenario": {"instructions": "Change it."}}
    other = with_arguments(gold(raw), **changed)

    found = find_cause(staged(domain, raw, other), domain=domain, task=raw)
    asked = {
        **raw,
        "user_scenario": {"instructions": "Pay by credit card; it is no longer needed."},
    }
    against = find_cause(staged(domain, raw, other), domain=domain, task=asked)

    assert found.name == UNDECIDED and found.text.endswith("does not say which")
    assert against.name == UNDECIDED and "does not say which" not in against.text


# -- the user


def test_an_id_that_the_user_made_up_is_the_users(cause):
    raw = wish("Have a Meeting put on the list.", CREATE)
    opening = user("Create a Meeting called X-4711-B.")
    written = do("create_task", user_id="user_1", title="X-4711-B")

    assert cause(raw, opening, written, BYE).name == "user: invented fact"
    asked = agent("Is it X-4711-B?"), user("Yes, X-4711-B.")
    assert cause(raw, user("Create one."), *asked, written, BYE).name == UNDECIDED


def test_records_do_not_decide_whose_id_it_is_that_no_tool_knows(cause):
    raw = wish("Have your task completed.", COMPLETE)
    tried = do("update_task_status", task_id="task_4711", status="completed")

    found = cause(raw, user("Complete task_4711."), tried, agent("It is not there."), BYE)

    assert (found.name, found.message) == (UNDECIDED, 1)
    assert "the tool refused" in found.text


# -- limits, and what stays open


def test_a_limit_is_the_agents_if_it_went_in_circles(cause):
    raw, read = wish("Have task_1 completed.", COMPLETE), do("get_users")
    begun = user("Complete task_1."), read

    def cut_off(*turns):
        return cause(raw, *turns, ending="max_steps").name

    assert cut_off(*begun) == UNDECIDED
    assert cut_off(*begun, *[read] * 4) == "agent: went in circles"


def test_a_cause_never_clears_the_agent_of_what_the_policy_finds():
    task, user = (Finding("cause", who, "x", "x", "x") for who in ("task", "user"))
    broke = Finding("policy", "agent", "broke the policy", "airline.cancel", "It cancels.")
    manner = replace(broke, weight="manner")

    assert beside_policy(task, [broke]).parties == "task and agent"
    assert beside_policy(user, [broke]).parties == "user and agent"
    assert "It cancels." in beside_policy(task, [broke]).evidence[0]
    for cause in (task, replace(task, who="agent"), replace(task, who="infrastructure")):
        assert beside_policy(cause, [manner]) is cause
    assert beside_policy(replace(task, who="agent"), [broke]).also is None


# -- the agent, and what is not decided


def test_a_transfer_with_work_left_is_the_agents(cause):
    raw = wish("Have task_1 completed.", COMPLETE)

    found = cause(raw, user("Complete it."), TRANSFER, user("###TRANSFER###"))

    assert (found.name, found.grade) == ("agent: transferred too early", "proven")
    assert found.evidence == ('missing: update_task_status(task_id="task_1", status="completed")',)


def test_of_the_rest_the_decisive_fact_is_named_and_nobody_blamed(cause):
    raw = wish("Have a Meeting put on the list.", CREATE)
    wanted, told = (
        user("Create a meeting."),
        wish("Ask.", CREATE, communicate_info=["four"]),
    )
    refused = do("update_task_status", task_id="task_9", status="completed")
    both = do("get_users"), CREATE, COMPLETE
    left = agent(OFFER), user("Yes, please. ###STOP###")
    german = user("Bitte leg die Aufgabe an."), agent("Gern."), BYE

    for found, text in (
        (cause(raw, wanted, PARTY, BYE), 'has title "Party", not "Meeting"'),
        (cause(raw, wanted, *both, BYE), "was not wanted"),
        (cause(raw, wanted, agent("I cannot create it."), BYE), "was not made"),
        (cause(wish("task_9", COMPLETE), user("task_9"), refused, BYE), "the tool refused"),
        (cause(told, wanted, CREATE, BYE), "never said 'four'"),
        (cause(wish("Have task_1 completed.", COMPLETE), *left), "was not made"),
        (cause(raw, *german), "was not made"),
    ):
        assert (found.name, found.grade) == (UNDECIDED, "undecided")
        assert text in found.text


@pytest.mark.data
@pytest.mark.parametrize("domain", ["airline", "retail", "telecom"])
def test_a_conversation_by_the_book_has_no_cause(domain, tau2_data):
    found = {raw["id"]: staged(domain, raw) for raw in load_raw_tasks(domain)[::6]}

    assert {name for name, each in found.items() if find_cause(each, domain=domain)} == set()
