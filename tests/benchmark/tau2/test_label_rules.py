"""Each rule on a small conversation made up for it: who spoke, what was done, who is to blame."""

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_task, load_raw_tasks
from maseval.benchmark.tau2.review.labels import label
from maseval.benchmark.tau2.world.world import World
from tests.benchmark.tau2.compliance.gold_talk import play
from tests.benchmark.tau2.injected.faults import with_call
from tests.benchmark.tau2.injected.scenes import conversation
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
        "That works for me. ###TRANSFER###",
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
        ("I will create the task Meeting. Do you confirm?", "###STOP###"),
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
        ("I cannot create a task. Do you want me to print the list?", "Yes. ###STOP###"),
        ("I am unable to create it. Please tell me how you'd like to proceed.", "Fine. ###STOP###"),
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


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ((), ("agent", "missing write")),
        ((agent(OFFER), user("What would that change?")), ("unclear", "out of scope")),
    ],
)
def test_a_conversation_that_the_task_does_not_cover_is_unclear_at_last(tmp_path, before, expected):
    raw = wish("Have task_1 completed.", COMPLETE)
    asked = agent("What is your shoe size?"), user("###OUT-OF-SCOPE###")

    assert blamed(tmp_path, raw, user("Update my task."), *before, *asked) == expected


@pytest.mark.parametrize(
    ("scenario", "offer", "answer", "expected"),
    [
        ("", OFFER, "No, I don't want that.", ("user", "turned down by the user")),
        (
            "Pay at most $5.",
            OFFER,
            "No, that costs too much.",
            ("unclear", "turned down by the user"),
        ),
        (
            "",
            "I can update task_9. Do you confirm?",
            "No, don't do that.",
            ("agent", "missing write"),
        ),
        ("", OFFER, "I'll wait for the email.", ("unclear", "no rule applies")),
    ],
)
def test_what_was_offered_and_turned_down_is_the_users(tmp_path, scenario, offer, answer, expected):
    raw = wish(f"Have task_1 completed. {scenario}", COMPLETE)
    spoken = agent(offer), user(answer), agent("Fine."), user("###STOP###")

    assert blamed(tmp_path, raw, user("Update my task."), *spoken) == expected


def test_a_user_who_should_have_changed_its_mind_did_not_follow_its_task(tmp_path):
    raw = wish("Have a Meeting put in. If the agent asks for confirmation, drop it.", COMPLETE)
    asked = agent("I will create the task Meeting. Do you confirm?")
    spoken = user("Create a task."), asked, user("Yes, please."), CREATE, user("###STOP###")
    earlier = agent("Shall I create it?"), user("Actually, I changed my mind."), agent("Why not?")

    (tmp_path / "one").mkdir()
    assert blamed(tmp_path, raw, *spoken) == ("user", "instructions not followed")
    done = blamed(tmp_path / "one", raw, spoken[0], *earlier, *spoken[1:])
    assert done != ("user", "instructions not followed")


@pytest.mark.parametrize(
    ("scenario", "who"),
    [("You want the title to be Meeting.", "user"), ("You want a new entry.", "task")],
)
def test_a_value_that_the_user_named_is_not_the_agents(tmp_path, scenario, who):
    raw = wish(scenario, CREATE)
    other = do("create_task", user_id="user_1", title="Party")

    found = blamed(tmp_path, raw, user("Create a task called Party."), other, user("###STOP###"))

    assert found[0] == who


TWO = "There are SLOT1001 and SLOT1002."


@pytest.mark.parametrize(
    ("scenario", "offer", "expected"),
    [
        ("You want a slot.", TWO, ("task", "choice left open")),
        ("You want SLOT1001.", TWO, ("user", "chosen by the user")),
        ("You want SLOT1001.", f"{TWO} Shall I take SLOT1002?", ("agent", "wrong arguments")),
    ],
)
def test_of_two_ids_on_offer_the_user_may_have_taken_the_wrong_one(
    tmp_path, scenario, offer, expected
):
    raw = wish(scenario, do("create_task", user_id="user_1", title="SLOT1001"))
    made = do("create_task", user_id="user_1", title="SLOT1002")
    spoken = agent(offer), user("SLOT1002, please."), made, user("###STOP###")

    assert blamed(tmp_path, raw, user("Hi."), *spoken) == expected


def test_what_the_user_names_on_a_condition_it_has_not_chosen(tmp_path):
    raw = wish("You want the title to be Meeting.", CREATE)
    other = do("create_task", user_id="user_1", title="Party")
    spoken = user("Call it Party if nothing else is left."), other, user("###STOP###")

    assert blamed(tmp_path, raw, *spoken) == ("agent", "wrong arguments")


def test_the_right_value_turned_down_for_one_the_task_does_not_have_is_invented(tmp_path):
    raw = wish("You want the colour of your bag.", do("create_task", user_id="user_1", title="red"))
    spoken = agent("Your bag is red. Shall I put that in?"), user("It is not red, I want black.")
    made = do("create_task", user_id="user_1", title="black")

    found = blamed(tmp_path, raw, user("Hi."), *spoken, made, user("###STOP###"))

    assert found == ("user", "invented facts")


ALSO = agent("Shall I also put in a new one, Meeting?")


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ((ALSO, user("Yes, please.")), ("unclear", "agreed to by the user")),
        (
            (user("Also create a task."), ALSO, user("Yes, please.")),
            ("user", "agreed to by the user"),
        ),
        ((ALSO, user("No, thank you.")), ("agent", "extra write")),
        ((), ("agent", "extra write")),
    ],
)
def test_an_extra_write_is_the_agents_unless_the_user_agreed_to_it(tmp_path, between, expected):
    raw = wish("Have task_1 completed.", COMPLETE)

    found = blamed(
        tmp_path, raw, user("Update task_1."), COMPLETE, *between, CREATE, user("###STOP###")
    )

    assert found == expected


def test_an_agent_that_says_it_has_done_what_it_never_called_is_to_blame(tmp_path):
    raw = wish("Have a Meeting put on the list.", CREATE)
    spoken = user("Create a task."), agent("I've created the task Meeting."), user("###STOP###")

    assert blamed(tmp_path, raw, *spoken) == ("agent", "said and not done")


def test_a_report_must_be_about_what_is_missing(tmp_path):
    raw = wish("Have task_1 completed.", COMPLETE)
    spoken = user("Update task_1."), agent("I've updated task_2."), user("###STOP###")

    assert blamed(tmp_path, raw, *spoken) == ("agent", "missing write")


def test_what_the_user_agreed_to_and_the_agent_forgot_is_the_agents(tmp_path):
    raw = wish("Have task_1 completed.", COMPLETE)
    spoken = agent(OFFER), user("Yes, please."), agent("Thank you."), user("Bye. ###STOP###")

    assert blamed(tmp_path, raw, user("Hi."), *spoken) == ("agent", "missing write")


def test_what_the_user_confirms_must_be_what_is_missing(tmp_path):
    raw = wish("You want SLOT1001.", do("create_task", user_id="user_1", title="SLOT1001"))
    asked = agent("I will create the task SLOT1002. Do you confirm?")

    found = blamed(tmp_path, raw, user("Hi."), asked, user("Yes. ###STOP###"))

    assert found == ("agent", "wrong arguments")


def test_what_was_offered_after_a_refusal_was_not_refused(tmp_path):
    raw = wish("Have task_1 completed.", COMPLETE)
    refused = user("Please update task_1."), agent("I cannot update task_1.")
    later = agent(OFFER), user("I would rather wait with it."), agent("Fine."), user("###STOP###")

    (tmp_path / "one").mkdir()
    assert blamed(tmp_path / "one", raw, *refused, user("###STOP###"))[0] == "agent"
    assert blamed(tmp_path, raw, *refused, *later)[0] == "user"


def test_a_wish_that_the_user_never_brought_forward_is_the_users(tmp_path):
    raw = wish("Update the status of task_1.", COMPLETE)

    kept = blamed(tmp_path, raw, user("Hi."), agent("Hello."), user("Bye. ###STOP###"))

    assert kept == ("user", "instructions not followed")


@pytest.mark.parametrize(
    ("last", "who"), [("It is pending, and I cannot say more.", "unclear"), ("It was $5.", "agent")]
)
def test_what_was_asked_for_before_a_refusal_need_not_be_told(tmp_path, last, who):
    raw = wish("You want to know the price.", communicate_info=["12 euros"])
    asked = user("What is the total, if I may cancel?")

    found = blamed(tmp_path, raw, asked, agent(last), user("Fine. ###STOP###"))

    assert found[0] == who


def test_a_value_that_nobody_can_know_is_the_fault_of_the_task(tmp_path):
    raw = wish("You want a slot.", do("create_task", user_id="user_1", title="1985-04-04"))
    other = do("create_task", user_id="user_1", title="Slot")

    found = blamed(tmp_path, raw, user("Create a task."), other, user("###STOP###"))

    assert found == ("task", "gold cannot be known")


def test_a_user_who_asks_for_a_human_at_once_leaves_it_open_who_gave_up(tmp_path):
    raw = wish("Have task_1 completed.", COMPLETE)
    read = do("get_users")
    spoken = user("Hi."), read, user("Let me speak to a supervisor."), TRANSFER

    found = blamed(tmp_path, raw, *spoken, user("###TRANSFER###"))

    assert found == ("unclear", "asked for a human")


def roaming():
    """A task in which the user has to turn off airplane mode and turn on roaming."""
    names = ["toggle_airplane_mode", "toggle_roaming"]
    tasks = load_raw_tasks("telecom")
    raw = next(raw for raw in tasks if [action["name"] for action in gold(raw)] == names)
    return raw, gold(raw)


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

    @pytest.mark.parametrize(
        ("task_id", "refused", "why"),
        [
            ("9", "I cannot cancel it: it has been flown.", "been flown"),
            ("27", "I am unable to send a certificate for a delay.", "for a delay"),
            ("29", "I cannot change the flights to another destination.", "do not lead to LGA"),
            ("39", "I cannot cancel MSJ4OA for that reason.", "health"),
        ],
    )
    def test_a_step_that_the_policy_forbids_is_not_missed_by_the_agent(self, task_id, refused, why):
        raw = load_raw_task("airline", task_id)
        others = [
            action for action in gold(raw) if action["arguments"] != gold(raw)[-1]["arguments"]
        ]
        looked = do("get_user_details", user_id="ethan_martin_2396")
        played = [looked, *(others if task_id == "39" else ())]

        told = label(staged("airline", raw, played, before=[agent(refused)]), domain="airline")

        assert told.who == "task" and why in told.evidence[0]

    def test_the_refusal_must_be_of_the_step_that_the_policy_forbids(self):
        raw = load_raw_task("airline", "33")
        looked = do("get_reservation_details", reservation_id="HXDUBJ")
        waiver = agent("I cannot waive the fee for the change of reservation HXDUBJ.")
        transfer = do("transfer_to_human_agents", summary="The user wants a waiver of the fee.")

        found = label(staged("airline", raw, [looked, transfer], before=[waiver]), domain="airline")

        assert (found.who, found.what) == ("agent", "transferred too early")

    def test_the_task_is_not_to_blame_if_more_is_missing_than_the_policy_forbids(self):
        raw = load_raw_task("airline", "39")
        looked = [each for each in gold(raw) if each["name"].startswith("get")]
        before = [agent("I cannot cancel MSJ4OA for that reason.")]

        found = label(staged("airline", raw, looked, before=before), domain="airline")

        assert found.who == "agent"

    def test_an_end_that_is_as_right_is_the_fault_of_the_task(self):
        raw = load_raw_task("retail", "38")
        talk = conversation("retail", raw)
        with_call(talk.scenes[0], "retail", reason="ordered by mistake")

        found = label(play("retail", raw, talk.steps()), domain="retail")

        assert (found.who, found.what) == ("task", "right in another way")

    @pytest.mark.parametrize(
        ("answer", "who"),
        [("I am unable to send a certificate for a delay.", "task"), ("It is sent.", "agent")],
    )
    def test_an_agent_that_says_it_did_what_is_not_to_be_done_is_to_blame(self, answer, who):
        raw = load_raw_task("airline", "27")
        looked = [each for each in gold(raw) if each["name"].startswith("get")]
        sent = "I have sent the certificate of $150." if who == "agent" else answer

        found = label(staged("airline", raw, looked, before=[agent(sent)]), domain="airline")

        assert found.who == who

    def test_a_conversation_is_held_against_the_corrected_task(self):
        raw = load_raw_task("airline", "44")
        looked = [each for each in gold(raw) if each["name"].startswith("get")]

        found = label(staged("airline", raw, looked), domain="airline")

        assert found.who == "agent"
        assert not any("S61CZX" in each for each in found.evidence)

    def test_what_the_agent_never_looked_up_it_could_not_do(self):
        raw = load_raw_task("retail", "33")
        looked = [
            do("get_user_details", user_id="noah_patel_6952"),
            do("get_order_details", order_id="#W7043598"),
        ]
        asked = agent("What can I do?"), user("Change my address to that of my order, in Seattle.")

        found = label(staged("retail", raw, looked, before=asked), domain="retail")

        assert (found.who, found.rule) == ("agent", "never read")

    def test_a_transfer_before_anything_was_looked_up_is_too_early_whatever_the_gold(self):
        raw = load_raw_task("airline", "9")
        transfer = [do("transfer_to_human_agents", summary="It has been flown.")]

        found = label(staged("airline", raw, transfer), domain="airline")

        assert (found.who, found.rule) == ("agent", "transferred at once")

    def test_a_write_that_the_policy_forbids_is_the_agents_even_if_the_user_agreed(self):
        raw = load_raw_task("airline", "1")
        asked = agent("Shall I cancel reservation Q69X3R?"), user("Yes, please.")
        cancel = do("cancel_reservation", reservation_id="Q69X3R")

        found = label(staged("airline", raw, [cancel], before=asked), domain="airline")

        assert (found.who, found.rule) == ("agent", "forbidden write")

    def test_a_call_that_an_earlier_one_made_impossible_is_the_agents(self):
        raw = load_raw_task("retail", "27")
        (exchange,) = [each for each in gold(raw) if each["name"].startswith("exchange")]
        order = exchange["arguments"]["order_id"]
        items, paid = ["5753502325", "9851293632"], exchange["arguments"]["payment_method_id"]
        returned = do(
            "return_delivered_order_items", order_id=order, item_ids=items, payment_method_id=paid
        )

        found = label(staged("retail", raw, [returned, exchange]), domain="retail")

        assert (found.who, found.rule) == ("agent", "made impossible")

    @pytest.mark.parametrize(("side", "who"), [("user", "unclear"), ("assistant", "agent")])
    def test_steps_used_up_by_one_call_are_held_against_who_made_it(self, side, who):
        raw = next(
            raw
            for raw in load_raw_tasks("telecom")
            if {action["requestor"] for action in gold(raw)} == {"user"}
        )
        looked = {"user": do("check_status_bar"), "assistant": do("get_details_by_id", id="L1002")}
        calls = [{**looked[side], "requestor": side}] * 4

        found = label(
            staged("telecom", raw, calls, termination_reason="max_steps"), domain="telecom"
        )

        assert (found.who, found.what) == (who, "ran out of steps")
        assert f"the last 4 calls of the {side}" in found.evidence[1]

    def test_a_setting_that_the_user_reports_without_looking_is_the_users(self):
        raw = next(
            raw
            for raw in load_raw_tasks("telecom")
            if {action["name"] for action in gold(raw)}
            == {"toggle_roaming", "toggle_airplane_mode"}
        )
        rest = [action for action in gold(raw) if action["name"] != "toggle_roaming"]
        claimed = agent("Is data roaming on?"), user("Data roaming is turned on.")
        transfer = do("transfer_to_human_agents", summary="All is on.")
        looked = do("get_customer_by_phone", phone_number="555-123-2002")

        found = label(
            staged("telecom", raw, [looked, *rest, transfer], before=claimed), domain="telecom"
        )

        assert (found.who, found.what) == ("user", "reported without looking")

    @pytest.mark.parametrize(
        ("before", "expected"),
        [
            ((user("###STOP###"),), ("user", "left too early")),
            ((user("No, I do not want to do that."),), ("user", "turned down by the user")),
            ((user("I did that."),), ("user", "reported without doing")),
            ((user("How do I do that?"),), ("unclear", "no rule applies")),
        ],
    )
    def test_what_the_user_was_told_to_do_and_did_not_is_the_users(self, before, expected):
        raw, (first, _) = roaming()
        told, later = agent("Please turn data roaming on."), (agent("I see."), user("###STOP###"))
        ending = (told, *before) if "STOP" in before[0]["content"] else (told, *before, *later)

        found = label(staged("telecom", raw, [first], ending=ending), domain="telecom")

        assert (found.who, found.what) == expected

    def test_a_switch_that_the_user_turned_twice_is_the_users(self):
        raw, (first, second) = roaming()
        told = [agent("Please turn data roaming on.")]
        twice = [second, second, first]

        found = label(staged("telecom", raw, twice, before=told), domain="telecom")

        assert (found.who, found.what) == ("user", "a write of the user's")

    def test_one_step_in_place_of_two_with_the_same_sum_is_left_open(self):
        raw = load_raw_task("airline", "32")

        found = label(staged("airline", raw, gold(raw)[-1:]), domain="airline")

        assert (found.who, found.what) == ("unclear", "same outcome by other steps")

    def test_an_id_that_does_not_exist_and_comes_from_the_user_leads_astray(self):
        raw = load_raw_task("airline", "32")
        told = ({"role": "user", "content": "My booking is ZZZ999."},)
        looked = [do("get_reservation_details", reservation_id="ZZZ999")]

        found = label(staged("airline", raw, looked, before=told), domain="airline")

        assert (found.who, found.what) == ("user", "led astray by the user")

    def test_a_user_who_never_touches_its_phone_never_acted(self):
        raw = next(
            raw
            for raw in load_raw_tasks("telecom")
            if {action["requestor"] for action in gold(raw)} == {"user"}
        )
        asked = [agent("Could you please check the status bar?"), user("I am afraid to.")] * 6

        found = label(staged("telecom", raw, [], before=asked), domain="telecom")

        assert (found.who, found.what) == ("user", "never acted")
