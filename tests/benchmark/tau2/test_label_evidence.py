"""What a label goes by: the record that was written, the limit, the language, the last words."""

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_task, load_raw_tasks
from maseval.benchmark.tau2.review.labels import label
from maseval.benchmark.tau2.review.words import agrees, declines, says_the_like
from tests.benchmark.tau2.staged import do, gold, is_write, staged
from tests.benchmark.tau2.test_labels import writing_tasks

DOMAINS = ["airline", "retail", "telecom"]
pytestmark = [pytest.mark.data, pytest.mark.usefixtures("tau2_data")]


def agent(text):
    return {"role": "assistant", "content": text}


def user(text):
    return {"role": "user", "content": text}


def blamed(domain, simulation):
    found = label(simulation, domain=domain)
    assert found is not None
    return found.who, found.what


def roaming_task():
    """A task of the telephone company whose only call of the agent is about line L1002."""
    for raw in load_raw_tasks("telecom"):
        own = [each for each in gold(raw) if each.get("requestor") == "assistant"]
        if [each["name"] for each in own] == ["enable_roaming"]:
            return raw
    raise AssertionError("no such task")


def on_line(raw, line):
    """The reference solution, with the agent's calls on another line."""
    return [
        {**each, "arguments": {**each["arguments"], "line_id": line}}
        if "line_id" in each["arguments"]
        else each
        for each in gold(raw)
    ]


@pytest.mark.parametrize("transfer", [True, False])
def test_the_right_tool_on_another_line_is_no_early_transfer(transfer):
    raw = roaming_task()
    last = [do("transfer_to_human_agents", summary="I cannot help.")] if transfer else []

    found = label(staged("telecom", raw, [*on_line(raw, "L1001"), *last]), domain="telecom")

    assert (found.who, found.what) == ("agent", "acted on another record")
    assert 'line_id: "L1001" instead of "L1002"' in found.evidence


def test_another_line_that_only_the_user_named_is_the_users():
    raw = roaming_task()
    simulation = staged("telecom", raw, on_line(raw, "L1001"))
    simulation["messages"][1]["content"] = "My phone has no data. My number is 555-123-2001."

    assert blamed("telecom", simulation) == ("user", "instructions not followed")


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("reason", ["max_steps", "too_many_errors"])
def test_a_limit_reached_when_all_was_done_is_nobodys_failure(domain, reason):
    raw, rest, _ = next(writing_tasks(domain))
    whole = staged(domain, raw, termination_reason=reason)
    half = staged(domain, raw, rest, termination_reason=reason)

    assert blamed(domain, whole) == ("infrastructure", "cut off when all was done")
    assert blamed(domain, half)[0] == "agent"


def test_a_language_that_the_rules_do_not_read_blames_nobody():
    raw = load_raw_task("retail", "0")
    simulation = staged("retail", raw, gold(raw)[:-1])
    assert blamed("retail", simulation) == ("agent", "missing write")
    simulation["messages"][1]["content"] = (
        "Hola, quiero cambiar mi teclado por otro con interruptores silenciosos, y también el "
        "termostato inteligente por uno que funcione con el sistema de Google, por favor."
    )

    assert blamed("retail", simulation) == ("unclear", "language not read")


@pytest.mark.parametrize("token", ["###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###"])
def test_a_yes_may_carry_any_token_that_ends_the_conversation(token):
    raw = load_raw_task("retail", "0")
    rest, last = gold(raw)[:-1], gold(raw)[-1]
    assert is_write("retail", last)
    asked = f"I will exchange the items of order {last['arguments']['order_id']}. Do you confirm?"
    ending = (agent(asked), user(f"Yes, please go ahead. {token}"))

    found = blamed("retail", staged("retail", raw, rest, ending=ending))

    assert found == ("user", "stopped before the confirmed action")


def test_a_yes_to_a_transfer_is_none_to_the_missing_call():
    raw = load_raw_task("retail", "0")
    asked = "I cannot exchange the items. Shall I transfer you to a human agent?"
    ending = (agent(asked), user("Yes, please go ahead. ###TRANSFER###"))

    found = blamed("retail", staged("retail", raw, gold(raw)[:-1], ending=ending))

    assert found[0] == "agent"


@pytest.mark.parametrize(
    "text",
    [
        "Yes, go ahead. I'll wait for the email.",
        "Sure. I will wait to hear from you.",
        "Yes, please cancel it. I'll wait here.",
        "Go ahead, but keep the other lamp.",
        "Please proceed, and keep the same payment method.",
        "Yes. I'd like to keep the remaining items.",
    ],
)
def test_what_is_to_stay_or_to_come_is_no_refusal(text):
    assert agrees(text)


@pytest.mark.parametrize(
    "text",
    [
        "I'd rather keep my original flight.",
        "I'll keep the reservation as it is.",
        "Keep everything as it is.",
        "I think I'll keep the order.",
        "I'll just wait.",
    ],
)
def test_what_is_to_stay_as_it_was_is_a_refusal(text):
    assert declines(text)


def test_people_say_exchange_for_modify_and_the_other_way_round():
    modify, exchange = do("modify_pending_order_items"), do("exchange_delivered_order_items")

    assert says_the_like("Can I exchange the lamp in my pending order?", modify)
    assert says_the_like("Can I modify the lamp that I got?", exchange)
    assert not says_the_like("Can I return the lamp?", exchange)
