"""Statements of the agent behind the user's yes, and choices in words instead of ids."""

from functools import cache

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_task, load_raw_tasks
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.review.explain.scored_case import score_case
from maseval.benchmark.tau2.review.labels import label
from maseval.benchmark.tau2.review.policy import forbidden_steps, scenario_text
from tests.benchmark.tau2.staged import do, folder_of, gold, is_write, staged

FALSE = ("agent", "false statement")
YES = "Yes, please go ahead."
pytestmark = [pytest.mark.data, pytest.mark.usefixtures("tau2_data")]


def agent(text):
    return {"role": "assistant", "content": text}


def user(text):
    return {"role": "user", "content": text}


def blamed(domain, raw, actions, *spoken, wish=None):
    """Who failed, and how, if these actions follow what was spoken."""
    simulation = staged(domain, raw, actions, before=spoken)
    if wish is not None:
        simulation["messages"][1]["content"] = wish
    found = label(simulation, domain=domain)
    assert found is not None
    return found.who, found.what


@cache
def shop():
    return domain_named("retail").db.load(folder_of("retail") / domain_named("retail").db_file)


def product_of(item):
    return next(each for each in shop().products.values() if item in each.variants)


def swaps():
    """Tasks whose one write is to swap an item, and a dearer variant that is there as well."""
    for raw in load_raw_tasks("retail"):
        writes = [each for each in gold(raw) if is_write("retail", each)]
        if len(writes) != 1 or len(writes[0]["arguments"].get("new_item_ids") or ()) != 1:
            continue
        if "asks for confirm" in str(raw["user_scenario"]):  # then the user must not say yes
            continue
        setting = score_case(staged("retail", raw), "retail").case.setting
        if forbidden_steps(setting, scenario_text(raw)):
            continue
        (right,), (old,) = (writes[0]["arguments"][name] for name in ("new_item_ids", "item_ids"))
        variants = product_of(right).variants
        dearer = [
            each
            for each in variants.values()
            if each.available
            and each.price > variants[right].price + 1
            and each.item_id != old
            and _new_values(each, variants[right])
        ]
        if dearer and old != right:
            yield raw, writes[0], variants[right], dearer[0]


def _new_values(one, other):
    """Values that only the first of two variants has, and that are words by themselves."""
    mine = [value for value in one.options.values() if value not in other.options.values()]
    return [value for value in mine if value not in ("yes", "no", "none")]


def swapped(raw, write, item_id):
    """The reference solution with another item in the write."""
    wrong = {**write, "arguments": {**write["arguments"], "new_item_ids": [item_id]}}
    return [wrong if each is write else each for each in gold(raw)]


def difference(write, item):
    """The price of an item over that of the one in the order, as the tool books it."""
    order = shop().orders[write["arguments"]["order_id"]]
    (old,) = write["arguments"]["item_ids"]
    return item.price - next(each.price for each in order.items if each.item_id == old)


def words_for(item):
    return ", ".join(f"{name} {value}" for name, value in item.options.items())


def answers(statement):
    """Labels of conversations in which an agent says something and the user takes the wrong one."""
    found = {}
    for raw, write, right, other in swaps():
        actions = swapped(raw, write, other.item_id)
        order = write["arguments"]["order_id"]
        asked = f"Shall I change order {order} to item {other.item_id}? Do you confirm?"
        text = agent(f"{statement(write, right, other)} {asked}")
        found[raw["id"]] = blamed("retail", raw, actions, text, user(YES))
    assert len(found) > 5
    return found


@pytest.mark.parametrize("shift", [7.31, 19.99])
def test_a_sum_that_the_tool_does_not_book_is_a_false_statement(shift):
    found = answers(
        lambda write, _, other: (
            f"The price difference of ${abs(difference(write, other)) + shift:.2f} is settled."
        )
    )

    assert {key: each for key, each in found.items() if each != FALSE} == {}


def test_a_sum_that_the_tool_books_is_none():
    found = answers(
        lambda write, _, other: (
            f"The price difference of ${abs(difference(write, other)):.2f} is settled."
        )
    )

    assert {key: each for key, each in found.items() if each == FALSE} == {}


@pytest.mark.parametrize(
    "word", ["cheapest", "least expensive", "lowest-priced", "most affordable"]
)
def test_what_is_called_the_cheapest_and_is_not_is_a_false_statement(word):
    found = answers(lambda _, __, other: f"The {word} option is {words_for(other)}.")

    assert {key: each for key, each in found.items() if each != FALSE} == {}


def test_a_search_for_the_cheapest_claims_nothing():
    found = answers(lambda *_: "I will look for the cheapest one.")

    assert {key: each for key, each in found.items() if each == FALSE} == {}


@pytest.mark.parametrize("words", ["is not available", "is out of stock", "is currently sold out"])
def test_an_item_that_is_there_and_said_not_to_be_is_a_false_statement(words):
    found = answers(lambda _, right, __: f"Item {right.item_id} {words}.")

    assert {key: each for key, each in found.items() if each != FALSE} == {}


def test_an_item_that_is_not_there_is_rightly_said_not_to_be():
    def gone(_, right, __):
        variants = product_of(right.item_id).variants.values()
        absent = next((each for each in variants if not each.available), None)
        return f"Item {absent.item_id if absent else 'that you asked for'} is not available."

    assert {key: each for key, each in answers(gone).items() if each == FALSE} == {}


def test_what_is_called_the_only_one_and_is_not_is_a_false_statement():
    found = answers(lambda _, __, other: f"The only available option is item {other.item_id}.")

    assert {key: each for key, each in found.items() if each != FALSE} == {}


def test_what_is_the_only_one_of_its_kind_is_rightly_called_so():
    def narrow(_, right, other):
        own = ", ".join(_new_values(other, right))
        return f"The only option with {own} is item {other.item_id}."

    assert {key: each for key, each in answers(narrow).items() if each == FALSE} == {}


@pytest.mark.parametrize(("shift", "expected"), [(80.25, FALSE), (0, None)])
def test_who_turns_something_down_for_a_wrong_sum_was_misled(shift, expected):
    found = {}
    for raw, write, right, _ in swaps():
        order = write["arguments"]["order_id"]
        asked = f"Shall I change order {order} to item {right.item_id}? Do you confirm?"
        price = f"The price difference of ${abs(difference(write, right)) + shift:.2f} is settled."
        spoken = agent(f"{price} {asked}"), user("No, that is too much, I don't want that.")
        reads = [each for each in gold(raw) if not is_write("retail", each)]
        found[raw["id"]] = blamed("retail", raw, reads, *spoken)

    wrong = {key: each for key, each in found.items() if (each == FALSE) is (expected is None)}
    assert len(found) > 5 and wrong == {}


@pytest.mark.parametrize(("number", "expected"), [("five", FALSE), ("three", None)])
def test_a_number_of_items_is_counted(number, expected):
    raw = load_raw_task("retail", "74")
    actions = [
        {**each, "arguments": {**each["arguments"], "order_id": "#W3414433"}}
        if each["name"] == "cancel_pending_order"
        else each
        for each in gold(raw)
    ]
    spoken = (
        agent(f"There is order #W3414433 with {number} items.\nWhich one shall I cancel?"),
        user("Please cancel #W3414433, I think that is it."),
    )

    found = blamed("retail", raw, actions, *spoken)

    assert (found == FALSE) is (expected is not None)


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        ("Exchanges can only be processed for delivered orders.", FALSE),
        ("We cannot modify the items of order #W9300146.", FALSE),
        ("We cannot print the invoice.", None),
    ],
)
def test_what_can_be_done_and_is_said_not_to_be_is_a_false_statement(refusal, expected):
    raw = load_raw_task("retail", "44")
    cancel = do("cancel_pending_order", order_id="#W9300146", reason="no longer needed")
    reads = [each for each in gold(raw) if not is_write("retail", each)]
    spoken = agent(f"{refusal} Shall I cancel order #W9300146? Do you confirm?"), user(YES)

    found = blamed("retail", raw, [*reads, cancel], *spoken)

    assert (found == FALSE) is (expected is not None)


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("I have checked all of your orders.", FALSE),
        ("I have checked one of them.", None),
    ],
)
def test_not_all_orders_were_looked_at(claim, expected):
    raw = load_raw_task("retail", "51")
    cancel = do("cancel_pending_order", order_id="#W8855135", reason="no longer needed")
    spoken = agent(f"{claim} Shall I cancel order #W8855135? Do you confirm?"), user(YES)

    found = blamed("retail", raw, [cancel], *spoken)

    assert (found == FALSE) is (expected is not None)


@pytest.mark.parametrize(("rest", "expected"), [(300, FALSE), (125, None)])
def test_what_is_left_on_a_certificate_is_worked_out(rest, expected):
    raw = load_raw_task("airline", "25")
    paid = [{"payment_id": "certificate_8998287", "amount": 375}]
    actions = [
        {**each, "arguments": {**each["arguments"], "payment_methods": paid}} for each in gold(raw)
    ]
    spoken = (
        agent(f"You will have ${rest} left on your certificate. Shall I book it? Do you confirm?"),
        user(YES),
    )

    found = blamed("airline", raw, actions, *spoken)

    assert (found == FALSE) is (expected is not None)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("Let me do that.", ("agent", "price not told")),
        ("The upgrade is $1200 in all.", None),
    ],
)
def test_who_asks_for_the_price_is_told_it_before_the_call(told, expected):
    raw = load_raw_task("airline", "12")
    flights = [
        {"flight_number": "HAT235", "date": "2024-05-18"},
        {"flight_number": "HAT298", "date": "2024-05-19"},
    ]
    upgrade = do(
        "update_reservation_flights",
        **{"reservation_id": "YAX4DR", "cabin": "business", "flights": flights},
        payment_id="credit_card_4938634",
    )
    spoken = (
        agent("I can upgrade reservation YAX4DR to business. Do you confirm?"),
        user("Yes, go ahead. I'd pay up to $650. Please tell me the price."),
        agent(told),
    )

    found = blamed("airline", raw, [*gold(raw), upgrade], *spoken)

    assert (found == ("agent", "price not told")) is (expected is not None)


def test_options_that_the_user_names_against_its_task_are_the_users():
    raw, actions, right, other = jacket()
    wish = f"Please change my jacket to one that is {', '.join(_new_values(other, right))}."
    spoken = agent("Shall I change it? Do you confirm?"), user(YES)

    found = blamed("retail", raw, actions, *spoken, wish=wish)

    assert found == ("user", "instructions not followed")


def test_of_two_variants_told_in_words_the_task_may_leave_the_choice_open():
    raw, actions, right, other = jacket()
    raw = {**raw, "user_scenario": {"instructions": "You want another jacket."}}
    offer = agent(f"There are {words_for(right)}, and {words_for(other)}. Which one do you want?")
    spoken = offer, user(f"The {_new_values(other, right)[0]} one, please.")
    simulation = staged("retail", raw, actions, before=spoken)

    found = label(simulation, domain="retail", task=raw)

    assert (found.who, found.what) == ("task", "choice left open")


@pytest.mark.parametrize("choice", ["at 5 am", "at 05:00", "in the morning", "HAT289"])
def test_of_two_flights_told_by_their_times_the_user_takes_the_wrong_one(choice):
    raw = load_raw_task("airline", "8")
    flights = [{"flight_number": "HAT289", "date": "2024-05-26"}]
    paid = [{"payment_id": "certificate_8045380", "amount": 322}]
    actions = [
        {**each, "arguments": {**each["arguments"], "flights": flights, "payment_methods": paid}}
        if each["name"] == "book_reservation"
        else each
        for each in gold(raw)
    ]
    spoken = (
        agent("There is HAT289 at 05:00 and HAT271 at 19:00. Which one do you want?"),
        user(f"The one {choice}, please."),
    )

    # The task wants the same flight as before.
    assert blamed("airline", raw, actions, *spoken) == ("user", "chosen by the user")


def test_what_the_user_wanted_before_a_wrong_sum_does_not_rest_on_it():
    raw = load_raw_task("retail", "56")  # which wants the gift card
    actions = [
        {**each, "arguments": {**each["arguments"], "payment_method_id": "credit_card_7455506"}}
        if is_write("retail", each)
        else each
        for each in gold(raw)
    ]
    spoken = agent("The price difference of $999.99 is settled. Do you confirm?"), user(YES)

    found = blamed("retail", raw, actions, *spoken, wish="I will pay with my credit card.")

    assert found == ("user", "instructions not followed")


@pytest.mark.parametrize(("way", "who"), [("my credit card", "user"), ("what I have", "agent")])
def test_a_way_to_pay_may_be_named_in_words(way, who):
    raw = load_raw_task("retail", "56")  # which wants the gift card
    actions = [
        {**each, "arguments": {**each["arguments"], "payment_method_id": "credit_card_7455506"}}
        if is_write("retail", each)
        else each
        for each in gold(raw)
    ]
    spoken = agent("How do you want to pay?"), user(f"Use {way}, please.")

    found = blamed("retail", raw, actions, *spoken, wish="Please change my air purifier.")

    assert found[0] == who


def jacket():
    """A task for a large red jacket with a half zipper, done with another one."""
    raw, write, right, other = next(each for each in swaps() if each[0]["id"] == "85")
    return raw, swapped(raw, write, other.item_id), right, other


@pytest.mark.parametrize(
    ("wanted", "what"),
    [("made of leather", "invented facts"), ("in another shop", "turned down by the user")],
)
def test_who_turns_the_right_item_down_for_something_of_its_own_has_made_it_up(wanted, what):
    raw = load_raw_task("retail", "15")
    order, item = "#W5199551", "3613716226"
    offer = f"I can change the boots in order {order} to item {item}. Do you confirm?"
    spoken = (
        agent("What do you want?"),
        user(f"I want boots of size 8 {wanted}."),
        agent(offer),
        user(f"No, I don't want that. I wanted them {wanted}."),
    )
    reads = [each for each in gold(raw) if not is_write("retail", each)]

    found = blamed("retail", raw, reads, *spoken)

    assert found == ("user", what)
