"""Each rule on a small conversation made up for it: who spoke, what was done, who is to blame."""

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_task, load_raw_tasks
from maseval.benchmark.tau2.trust.labels import label
from maseval.benchmark.tau2.world.world import World
from tests.benchmark.tau2.staged import do, gold, staged
from tests.benchmark.tau2.todo_list import COMPLETE, CREATE, task, todo_list

TRANSFER = do("transfer_to_human_agents", summary="I give up.")
OFFER = "I can update task_1 to completed. Do you confirm?"


def agent(text):
    return {"role": "assistant", "content": text}


def user(text):
    return {"role": "user", "content": text}


def wish(text, *actions, **criteria):
    return {**task(*actions, **criteria), "user_scenario": {"instructions": text}}


def blamed(folder, raw, *turns):
    """Who failed, and how, in a conversation of these turns."""
    domain = todo_list(folder, raw)
    world, messages = World(domain, domain.data_dir), []
    for number, turn in enumerate(turns):
        if "role" in turn:
            messages.append(dict(turn))
            continue
        call = {"id": f"call_{number}", "requestor": "assistant", **turn}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append(dict(world.respond(call)))
    simulation = {"task_id": "a_task", "messages": messages, "termination_reason": "user_stop"}
    found = label(simulation, domain=domain, task=raw)
    return found.who, found.what


@pytest.mark.parametrize(
    "answer",
    [
        "Yes. ###STOP###",
        "Thank you for summarizing all that so well. Yes, please proceed ###STOP###",
        "Everything looks right, so please go ahead, with no further changes. ###STOP###",
        "###STOP###",
    ],
)
def test_a_user_may_agree_anywhere_in_the_message_it_leaves_with(tmp_path, answer):
    raw = wish("Have task_1 completed.", COMPLETE)

    found = blamed(tmp_path, raw, user("Complete task_1."), agent(OFFER), user(answer))

    assert found == ("user", "stopped before the confirmed action")


def test_one_matching_value_is_not_yet_what_is_missing(tmp_path):
    raw = wish("Have a Meeting put on the list.", CREATE)
    asked = agent("I will print the list of Meeting rooms. Do you confirm?")

    found = blamed(tmp_path, raw, user("Create a task."), asked, user("Yes. ###STOP###"))

    assert found == ("user", "left too early")


@pytest.mark.parametrize(
    ("last_words", "answer"),
    [
        ("Could you please tell me the title?", "###STOP###"),
        ("Which of the two would you like?", "The second one. ###STOP###"),
        ("Let me check the list first.", "###STOP###"),
    ],
)
def test_a_user_who_is_asked_or_is_to_wait_left_too_early(tmp_path, last_words, answer):
    raw = wish("Have a Meeting put on the list.", CREATE)

    found = blamed(tmp_path, raw, user("Create a task."), agent(last_words), user(answer))

    assert found == ("user", "left too early")


@pytest.mark.parametrize(
    ("last_words", "answer"),
    [
        ("All is done. Is there anything else I can help you with?", "No, thank you. ###STOP###"),
        ("I cannot do that. Would you like something else?", "###STOP###"),
    ],
)
def test_a_user_who_is_sent_away_did_not_leave_too_early(tmp_path, last_words, answer):
    raw = wish("Have a Meeting put on the list.", CREATE)

    found = blamed(tmp_path, raw, user("Create a task."), agent(last_words), user(answer))

    assert found[0] == "agent"


def test_a_transfer_that_the_task_does_not_need_is_too_early(tmp_path):
    raw = wish("Have task_1 completed.", COMPLETE)

    found = blamed(tmp_path, raw, user("Complete it."), TRANSFER, user("###TRANSFER###"))

    assert found == ("agent", "transferred too early")


def test_a_transfer_that_is_only_offered_and_accepted_counts(tmp_path):
    raw = wish("Have task_1 completed.", COMPLETE)
    offered = agent("Would you like me to transfer you to a human agent?")

    found = blamed(tmp_path, raw, user("Hi."), offered, user("Yes. ###TRANSFER###"))

    assert found == ("agent", "transferred too early")


def test_a_refusal_of_something_else_is_not_a_refusal_of_what_is_missing(tmp_path):
    raw = wish("Have task_1 completed.", COMPLETE)
    spoken = user("Please update my task."), agent("I cannot print pictures."), user("###STOP###")
    refused = user("Please update my task."), agent("I cannot update task_1."), user("###STOP###")

    (tmp_path / "one").mkdir()
    assert blamed(tmp_path / "one", raw, *spoken) == ("agent", "missing write")
    assert blamed(tmp_path, raw, *refused) == ("agent", "refused wrongly")


def test_a_conversation_that_the_task_does_not_cover_is_unclear(tmp_path):
    raw = wish("Have task_1 completed.", COMPLETE)
    asked = agent("What is your shoe size?")

    found = blamed(tmp_path, raw, user("Update my task."), asked, user("###OUT-OF-SCOPE###"))

    assert found == ("unclear", "out of scope")


def test_what_was_offered_and_turned_down_is_unclear(tmp_path):
    raw = wish("Have task_1 completed.", COMPLETE)
    refused = user("No, I don't want that."), agent("Fine."), user("###STOP###")

    found = blamed(tmp_path, raw, user("Update my task."), agent(OFFER), *refused)

    assert found == ("unclear", "turned down by the user")


def test_a_user_who_should_have_changed_its_mind_did_not_follow_its_task(tmp_path):
    raw = wish("Have a Meeting put in. If the agent asks for confirmation, drop it.", COMPLETE)
    asked = agent("I will create the task Meeting. Do you confirm?")
    spoken = user("Create a task."), asked, user("Yes, please."), CREATE, user("###STOP###")

    assert blamed(tmp_path, raw, *spoken) == ("user", "instructions not followed")


@pytest.mark.parametrize(
    ("scenario", "who"),
    [("You want the title to be Meeting.", "user"), ("You want a new entry.", "task")],
)
def test_a_value_that_the_user_named_is_not_the_agents(tmp_path, scenario, who):
    raw = wish(scenario, CREATE)
    other = do("create_task", user_id="user_1", title="Party")

    found = blamed(tmp_path, raw, user("Create a task called Party."), other, user("###STOP###"))

    assert found[0] == who


def test_of_two_ids_on_offer_the_user_may_have_taken_the_wrong_one(tmp_path):
    raw = wish("You want a slot.", do("create_task", user_id="user_1", title="SLOT1001"))
    offer, taken = agent("There are SLOT1001 and SLOT1002."), user("SLOT1002, please.")
    made = do("create_task", user_id="user_1", title="SLOT1002")

    found = blamed(tmp_path, raw, user("Hi."), offer, taken, made, user("###STOP###"))

    assert found == ("unclear", "chosen by the user")


def test_the_right_value_turned_down_for_one_the_task_does_not_have_is_invented(tmp_path):
    raw = wish("You want the colour of your bag.", do("create_task", user_id="user_1", title="red"))
    spoken = agent("Your bag is red. Shall I put that in?"), user("It is not red, I want black.")
    made = do("create_task", user_id="user_1", title="black")

    found = blamed(tmp_path, raw, user("Hi."), *spoken, made, user("###STOP###"))

    assert found == ("user", "invented facts")


def test_what_both_agreed_on_beyond_the_task_is_unclear(tmp_path):
    raw = wish("Have task_1 completed.", COMPLETE)
    asked = agent("Shall I also put in a new one, Meeting?")
    spoken = user("Update task_1."), COMPLETE, asked, user("Yes, please."), CREATE

    found = blamed(tmp_path, raw, *spoken, user("###STOP###"))

    assert found == ("unclear", "agreed beyond the task")


@pytest.mark.data
@pytest.mark.usefixtures("tau2_data")
class TestWithTheDomains:
    """What needs payments, bookings or a phone."""

    def test_a_way_to_pay_that_the_task_leaves_open_is_the_fault_of_the_task(self):
        raw = load_raw_task("retail", "100")
        first, *rest = gold(raw)
        paid = {**first["arguments"], "payment_method_id": "paypal_3650980"}

        found = label(staged("retail", raw, [{**first, "arguments": paid}, *rest]), domain="retail")

        assert (found.who, found.what) == ("task", "choice left open")

    def test_a_step_that_the_policy_forbids_is_not_missed_by_the_agent(self):
        flown, partly = load_raw_task("airline", "9"), load_raw_task("airline", "37")
        transfer = [do("transfer_to_human_agents", summary="It has been flown.")]

        found = [
            label(staged("airline", raw, transfer), domain="airline") for raw in (flown, partly)
        ]

        assert [each.who for each in found] == ["task", "unclear"]
        assert "already been flown" in found[0].evidence[0]

    def test_one_step_in_place_of_two_with_the_same_sum_is_unclear(self):
        raw = load_raw_task("airline", "32")

        found = label(staged("airline", raw, gold(raw)[-1:]), domain="airline")

        assert (found.who, found.what) == ("unclear", "same outcome by other steps")

    def test_an_id_that_does_not_exist_and_comes_from_the_user_may_lead_astray(self):
        raw = load_raw_task("airline", "32")
        told = ({"role": "user", "content": "My booking is ZZZ999."},)
        looked = [do("get_reservation_details", reservation_id="ZZZ999")]

        found = label(staged("airline", raw, looked, before=told), domain="airline")

        assert (found.who, found.what) == ("unclear", "led astray by the user")

    def test_a_user_who_never_touches_its_phone_never_acted(self):
        raw = next(
            raw
            for raw in load_raw_tasks("telecom")
            if {action["requestor"] for action in gold(raw)} == {"user"}
        )
        asked = [agent("Could you please check the status bar?"), user("I am afraid to.")] * 6

        found = label(staged("telecom", raw, [], before=asked), domain="telecom")

        assert (found.who, found.what) == ("user", "never acted")
