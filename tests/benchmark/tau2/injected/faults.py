"""Faults of each party, written into gold conversations of airline and retail.

A fault takes a conversation and a source of chance and returns the changed conversation, or None
where the task gives no occasion for it. The decorator says whose fault it is.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from maseval.benchmark.tau2.review.policy import scenario_text
from maseval.benchmark.tau2.review.policy.confirming import TRANSFER_TEXT
from tests.benchmark.tau2.compliance import gold_airline, gold_retail
from tests.benchmark.tau2.compliance.gold_talk import Do, Say, Step
from tests.benchmark.tau2.injected.scenes import (
    Conversation,
    Scene,
    about,
    customer,
    offer_of,
    report_of,
    wish_of,
    words_of,
)

Change = Callable[[Conversation, random.Random], Conversation | None]
SHOP, FLIGHTS = "retail", "airline"
TRANSFER = Do("transfer_to_human_agents", {"summary": "The customer needs help."})


class Fault(NamedTuple):
    """A way to fail, who it is, and the domains in which it can be written into conversations."""

    name: str
    who: str
    domains: tuple[str, ...]
    change: Change


FAULTS: list[Fault] = []


def fault(who: str, *domains: str) -> Callable[[Change], Change]:
    def note(change: Change) -> Change:
        FAULTS.append(Fault(change.__name__, who, domains or (FLIGHTS, SHOP), change))
        return change

    return note


def one_of(talk: Conversation, rng: random.Random, *names: str) -> Scene | None:
    """A scene of the conversation with one of these tools, or any that the user asks for."""
    asked = [each for each in talk.scenes if each.name in names or not names]
    return rng.choice(asked) if asked else None


def with_call(scene: Scene, domain: str, **changed: Any) -> None:
    """Let the whole scene be about other values: asked for, offered, agreed to and done."""
    scene.call = replace(scene.call, arguments=scene.arguments | changed)
    scene.request, scene.offer = wish_of(domain, scene.call), offer_of(domain, scene.call)
    scene.report = report_of(scene.call)


def is_told(talk: Conversation, *values: str) -> bool:
    told = scenario_text(talk.task).lower()
    return all(value.lower() in told for value in values)


# ---- faults of the agent


@fault("agent")
def said_and_not_done(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng)
    if scene is None:
        return None
    scene.made = False
    return talk


@fault("agent")
def agreed_and_forgotten(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng)
    if scene is None:
        return None
    scene.made, scene.report = False, "Thank you for your patience."
    return talk


@fault("agent")
def wish_ignored(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng)
    if scene is None:
        return None
    scene.instead = [Say("assistant", "Thank you for telling me. I have looked at your account.")]
    return talk


@fault("agent")
def refused_without_reason(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng)
    if scene is None:
        return None
    text = f"I am sorry, but I cannot {words_of(scene.call)} for {about(scene.call)}."
    scene.instead = [
        Say("assistant", f"{text} Our policy does not allow that."),
        Say("user", "That is a pity."),
    ]
    return talk


@fault("agent")
def transferred_in_place_of_the_change(
    talk: Conversation, rng: random.Random
) -> Conversation | None:
    scene = one_of(talk, rng)
    if scene is None:
        return None
    return talk.cut_in(
        scene, [TRANSFER, Say("assistant", TRANSFER_TEXT), Say("user", "###TRANSFER###")]
    )


@fault("agent")
def transferred_at_the_first_word(talk: Conversation, rng: random.Random) -> Conversation | None:
    if not talk.scenes:
        return None
    scene = talk.scenes[0]
    talk.opening, scene.before = talk.opening[:1], []
    return talk.cut_in(
        scene, [TRANSFER, Say("assistant", TRANSFER_TEXT), Say("user", "###TRANSFER###")]
    )


@fault("agent")
def mistyped_and_given_up(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng)
    if scene is None:
        return None
    key, value = next(iter(scene.arguments.items()))
    wrong = replace(scene.call, arguments=scene.arguments | {key: f"{value}0"})
    scene.instead = [
        Say("assistant", scene.offer),
        Say("user", "Yes, please go ahead."),
        wrong,
        Say("assistant", "I am sorry, the system does not let me do that today."),
        Say("user", "That is a pity."),
    ]
    return talk


@fault("agent")
def information_left_out(talk: Conversation, rng: random.Random) -> Conversation | None:
    if not talk.said:
        return None
    talk.said = "You will find them in your confirmation."
    return talk


@fault("agent")
def wrong_figure_told(talk: Conversation, rng: random.Random) -> Conversation | None:
    if not any(each.isdigit() for each in talk.said):
        return None
    talk.said = f"Here they are: {rng.randrange(100_001, 900_000)}."
    return talk


@fault("agent")
def cut_off_while_repeating_a_read(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng)
    if scene is None:
        return None
    read = Do("get_user_details", {"user_id": customer(talk.domain, talk.task)})
    talk.reason = "max_steps"
    return talk.cut_in(scene, [read] * 8)


@fault("agent")
def cut_off_by_failing_calls(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng)
    if scene is None:
        return None
    read = Do("get_user_details", {"user_id": "nobody_1234"})
    talk.reason = "too_many_errors"
    return talk.cut_in(scene, [read] * 10)


@fault("agent")
def change_that_nobody_wants(talk: Conversation, rng: random.Random) -> Conversation | None:
    user = customer(talk.domain, talk.task)
    if talk.domain == FLIGHTS:
        extra = Do("send_certificate", {"user_id": user, "amount": rng.choice([50, 100, 150])})
    else:
        order = next(iter(spare_orders(talk, rng)), None)
        if order is None:
            return None
        reason = rng.choice(["no longer needed", "ordered by mistake"])
        extra = Do(gold_retail.CANCEL, {"order_id": order.order_id, "reason": reason})
    talk.reads.append(extra)
    return talk


def spare_orders(talk: Conversation, rng: random.Random) -> list[Any]:
    orders = gold_retail.fresh_orders(talk.steps(), talk.task, "pending")
    return rng.sample(orders, len(orders))


@fault("agent", SHOP)
def other_variant_done_than_agreed(talk: Conversation, rng: random.Random) -> Conversation | None:
    found = list(with_other_variant(talk, rng))
    if not found:
        return None
    scene, changed = found[0]
    scene.call = replace(scene.call, arguments=scene.arguments | {"new_item_ids": changed})
    return talk


def with_other_variant(talk: Conversation, rng: random.Random) -> Iterator[tuple[Scene, list[str]]]:
    """Scenes with the new items of their change, one of them in another variant on sale."""
    for scene in rng.sample(talk.scenes, len(talk.scenes)):
        items = list(scene.arguments.get("new_item_ids") or ())
        if not items:
            continue
        product = gold_retail.shop().products.view(gold_retail.product_of(items[0]) or "")
        others = [
            each.item_id
            for each in product.variants.values()
            if each.available and each.item_id not in (*items, *scene.arguments["item_ids"])
        ]
        if others:
            yield scene, [rng.choice(others), *items[1:]]


@fault("agent", SHOP)
def one_item_of_several_forgotten(talk: Conversation, rng: random.Random) -> Conversation | None:
    for scene in talk.scenes:
        items = scene.arguments.get("item_ids") or ()
        if len(items) > 1:
            fewer: dict[str, Any] = {"item_ids": list(items[:-1])}
            if "new_item_ids" in scene.arguments:
                fewer["new_item_ids"] = list(scene.arguments["new_item_ids"][:-1])
            scene.call = replace(scene.call, arguments=scene.arguments | fewer)
            return talk
    return None


@fault("agent", SHOP)
def other_method_of_payment_than_agreed(
    talk: Conversation, rng: random.Random
) -> Conversation | None:
    for scene, method in other_methods(talk):
        scene.call = replace(scene.call, arguments=scene.arguments | {"payment_method_id": method})
        return talk
    return None


def other_methods(talk: Conversation) -> Iterator[tuple[Scene, str]]:
    user = gold_retail.shop().users.view(customer(SHOP, talk.task) or "")
    for scene in talk.scenes:
        if "payment_method_id" in scene.arguments:
            others = [each for each in user.payment_methods if not each.startswith("gift")]
            yield from (
                (scene, each) for each in others if each != scene.arguments["payment_method_id"]
            )


@fault("agent", SHOP)
def other_address_than_agreed(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng, gold_retail.ADDRESS, gold_retail.USER_ADDRESS)
    if scene is None:
        return None
    scene.call = replace(scene.call, arguments=scene.arguments | {"zip": "10101"})
    return talk


@fault("agent", SHOP)
def falsely_said_to_be_sold_out(talk: Conversation, rng: random.Random) -> Conversation | None:
    found = list(with_other_variant(talk, rng))
    if not found:
        return None
    scene, changed = found[0]
    wanted = scene.arguments["new_item_ids"][0]
    other = replace(scene.call, arguments=scene.arguments | {"new_item_ids": changed})
    scene.instead = [
        Say("assistant", f"I am sorry, item {wanted} is not available at the moment."),
        Say("user", "Then I take what you have instead."),
        Say("assistant", offer_of(SHOP, other)),
        Say("user", "Yes, please go ahead."),
        other,
        Say("assistant", report_of(other)),
    ]
    return talk


@fault("agent", SHOP)
def other_order_than_agreed(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng, gold_retail.CANCEL, gold_retail.ADDRESS)
    order = next(iter(spare_orders(talk, rng)), None)
    if scene is None or order is None:
        return None
    scene.call = replace(scene.call, arguments=scene.arguments | {"order_id": order.order_id})
    return talk


@fault("agent", FLIGHTS)
def other_cabin_than_agreed(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng, "book_reservation", "update_reservation_flights")
    if scene is None:
        return None
    cabin = "business" if scene.arguments["cabin"] != "business" else "economy"
    scene.call = replace(scene.call, arguments=scene.arguments | {"cabin": cabin})
    return talk


@fault("agent", FLIGHTS)
def bags_charged_that_are_free(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng, "book_reservation", "update_reservation_baggages")
    if scene is None or scene.arguments["nonfree_baggages"] == scene.arguments["total_baggages"]:
        return None
    more = {"nonfree_baggages": scene.arguments["total_baggages"]}
    scene.call = replace(scene.call, arguments=scene.arguments | more)
    return talk


@fault("agent", FLIGHTS)
def other_reservation_than_agreed(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng, "cancel_reservation", "update_reservation_baggages")
    user = gold_airline.database()["users"][customer(FLIGHTS, talk.task)]
    touched = {each.arguments.get("reservation_id") for each in talk.scenes}
    others = [each for each in user["reservations"] if each not in touched]
    if scene is None or not others:
        return None
    other = {"reservation_id": rng.choice(others)}
    scene.call = replace(scene.call, arguments=scene.arguments | other)
    return talk


@fault("agent", FLIGHTS)
def wrong_amount_of_compensation(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng, "send_certificate")
    if scene is None:
        return None
    scene.call = replace(scene.call, arguments=scene.arguments | {"amount": 333})
    return talk


# ---- faults of the user


@fault("user")
def yes_and_stop_in_one_message(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng)
    if scene is None:
        return None
    yes = rng.choice(["Yes, please go ahead. Thank you! ###STOP###", "Yes. ###STOP###"])
    return talk.cut_in(scene, [Say("assistant", scene.offer), Say("user", yes)])


@fault("user")
def yes_and_transfer_in_one_message(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng)
    if scene is None:
        return None
    yes = Say("user", "Yes, I confirm, please do that. ###TRANSFER###")
    return talk.cut_in(scene, [Say("assistant", scene.offer), yes])


@fault("user")
def left_without_an_answer(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng)
    if scene is None:
        return None
    return talk.cut_in(scene, [Say("assistant", scene.offer), Say("user", "###STOP###")])


@fault("user")
def nothing_said(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng)
    if scene is None:
        return None
    silence: list[Step] = [Say("user", ""), Say("assistant", "Are you still there?")]
    goodbye = Say("user", "Goodbye. ###STOP###")
    return talk.cut_in(scene, [Say("assistant", scene.offer), *silence, goodbye])


@fault("user")
def right_offer_turned_down(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng)
    if scene is None:
        return None
    no = rng.choice(["No, please leave it as it is.", "No, I do not want that after all."])
    scene.instead = [Say("assistant", scene.offer), Say("user", no), Say("assistant", "All right.")]
    return talk


@fault("user")
def wish_never_brought_forward(talk: Conversation, rng: random.Random) -> Conversation | None:
    asked = [each for each in talk.scenes if is_told(talk, about(each.call))]
    if len(talk.scenes) < 2 or not asked:
        return None
    talk.scenes.remove(rng.choice(asked))
    return talk


@fault("user", SHOP)
def other_variant_asked_for(talk: Conversation, rng: random.Random) -> Conversation | None:
    for scene, changed in with_other_variant(talk, rng):
        old, new = (
            gold_retail.variant_of(e[0]) for e in (scene.arguments["new_item_ids"], changed)
        )
        if old is None or new is None:
            continue
        differing = [key for key in old.options if old.options[key] != new.options.get(key)]
        if any(is_told(talk, old.options[key]) for key in differing):
            with_call(scene, SHOP, new_item_ids=changed)
            return talk
    return None


@fault("user", SHOP)
def other_method_of_payment_named(talk: Conversation, rng: random.Random) -> Conversation | None:
    spoken = {"paypal": "paypal", "gift": "gift card", "credit": "credit card"}
    for scene, method in other_methods(talk):
        wanted = spoken[scene.arguments["payment_method_id"].split("_")[0]]
        if is_told(talk, wanted) and not is_told(talk, spoken[method.split("_")[0]]):
            with_call(scene, SHOP, payment_method_id=method)
            return talk
    return None


@fault("user", SHOP)
def other_address_given(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng, gold_retail.ADDRESS, gold_retail.USER_ADDRESS)
    if scene is None or not is_told(talk, scene.arguments["address1"]):
        return None
    with_call(scene, SHOP, address1=f"{rng.randrange(100, 999)} Invented Street")
    return talk


@fault("user", SHOP)
def other_reason_given(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng, gold_retail.CANCEL)
    if scene is None or not is_told(talk, scene.arguments["reason"]):
        return None
    reasons = {"no longer needed", "ordered by mistake"} - {scene.arguments["reason"]}
    with_call(scene, SHOP, reason=reasons.pop())
    return talk


@fault("user", SHOP)
def another_order_cancelled_by_wish(talk: Conversation, rng: random.Random) -> Conversation | None:
    order = next(iter(spare_orders(talk, rng)), None)
    if order is None or is_told(talk, order.order_id) or not talk.scenes:
        return None
    call = Do(gold_retail.CANCEL, {"order_id": order.order_id, "reason": "no longer needed"})
    read: list[Step] = [Do("get_order_details", {"order_id": order.order_id})]
    request, offer = wish_of(SHOP, call), offer_of(SHOP, call)
    talk.scenes.append(Scene(read, request, offer, call, report=report_of(call)))
    return talk


@fault("user", SHOP)
def order_that_does_not_exist(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng)
    if scene is None or not is_told(talk, scene.arguments.get("order_id", "?")):
        return None
    wrong = f"#W{rng.randrange(1_000_000, 9_999_999)}"
    if wrong in gold_retail.shop().orders:
        return None
    order = scene.arguments["order_id"]
    scene.request = scene.request.replace(order, wrong)
    scene.before = []
    lost = [
        Do("get_order_details", {"order_id": wrong}),
        Say("assistant", f"I cannot find order {wrong}. Could you check the number, please?"),
        Say("user", f"It is {wrong}, I am sure. Then leave it. ###STOP###"),
    ]
    return talk.cut_in(scene, lost)


@fault("user", FLIGHTS)
def other_cabin_asked_for(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng, "book_reservation", "update_reservation_flights")
    if scene is None or not is_told(talk, scene.arguments["cabin"].replace("_", " ")):
        return None
    cabin = "business" if scene.arguments["cabin"] != "business" else "economy"
    if is_told(talk, cabin):
        return None
    with_call(scene, FLIGHTS, cabin=cabin)
    return talk


@fault("user", FLIGHTS)
def other_number_of_bags_asked_for(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng, "book_reservation", "update_reservation_baggages")
    if scene is None or not is_told(talk, "bag"):
        return None
    bags = scene.arguments["total_baggages"] + rng.randrange(1, 3)
    paid = scene.arguments["nonfree_baggages"] + bags - scene.arguments["total_baggages"]
    with_call(scene, FLIGHTS, total_baggages=bags, nonfree_baggages=paid)
    return talk


@fault("user", FLIGHTS)
def other_date_of_birth_given(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng, "book_reservation", "update_reservation_passengers")
    if scene is None:
        return None
    people = [dict(each) for each in scene.arguments["passengers"]]
    people[0]["dob"] = f"19{rng.randrange(50, 99)}-03-0{rng.randrange(1, 9)}"
    with_call(scene, FLIGHTS, passengers=people)
    return talk


@fault("user", FLIGHTS)
def reservation_that_does_not_exist(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng)
    record = "" if scene is None else scene.arguments.get("reservation_id", "")
    if scene is None or not record or not is_told(talk, record):
        return None
    wrong = "".join(rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(6))
    scene.request, scene.before = scene.request.replace(record, wrong), []
    lost = [
        Do("get_reservation_details", {"reservation_id": wrong}),
        Say("assistant", f"I cannot find reservation {wrong}. Could you check it, please?"),
        Say("user", f"It is {wrong}, I am sure. Then leave it. ###STOP###"),
    ]
    return talk.cut_in(scene, lost)


@fault("user", FLIGHTS)
def another_reservation_cancelled_by_wish(
    talk: Conversation, rng: random.Random
) -> Conversation | None:
    user = gold_airline.database()["users"][customer(FLIGHTS, talk.task)]
    touched = {each.arguments.get("reservation_id") for each in talk.scenes}
    spare = [
        each["reservation_id"]
        for each in gold_airline.open_reservations()
        if each["reservation_id"] in set(user["reservations"]) - touched
        and each["cabin"] == "business"
    ]
    spare = [each for each in spare if not is_told(talk, each)]
    if not spare or not talk.scenes:
        return None
    call = Do("cancel_reservation", {"reservation_id": spare[0]})
    read: list[Step] = [Do("get_reservation_details", {"reservation_id": spare[0]})]
    request, offer = wish_of(FLIGHTS, call), offer_of(FLIGHTS, call)
    talk.scenes.append(Scene(read, request, offer, call, report=report_of(call)))
    return talk


# ---- nobody's in the conversation


@fault("infrastructure")
def cut_off_with_everything_done(talk: Conversation, rng: random.Random) -> Conversation | None:
    if not talk.scenes:
        return None
    talk.reason = "max_steps"
    talk.ending = [Say("user", "Wait, let me think about it.")]
    return talk


@fault("infrastructure")
def ended_by_a_crash(talk: Conversation, rng: random.Random) -> Conversation | None:
    scene = one_of(talk, rng)
    if scene is None:
        return None
    talk.reason = rng.choice(["infrastructure_error", "unexpected_error", "timeout"])
    return talk.cut_in(scene, [Say("assistant", scene.offer)])
