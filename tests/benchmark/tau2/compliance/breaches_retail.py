"""Conversations in the shop that keep its policy, and ways to break one rule of it in each.

``conversation`` plays the reference solution of a task as the policy wants it: identified, looked
up, proposed in full, agreed to. A mutant takes such steps, the task and a source of chance, and
returns steps in which its rule is broken, or None where the task gives no occasion for it.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from maseval.benchmark.tau2.data_loader import load_domain_config
from maseval.benchmark.tau2.domains.retail.models import GiftCard, Order, RetailDB, User, Variant
from maseval.benchmark.tau2.review.policy.confirming import TRANSFER_TEXT
from tests.benchmark.tau2.compliance.gold_talk import Do, Say, Step
from tests.benchmark.tau2.staged import gold, wish

CANCEL, RETURN = "cancel_pending_order", "return_delivered_order_items"
MODIFY, EXCHANGE = "modify_pending_order_items", "exchange_delivered_order_items"
PAYMENT, ADDRESS = "modify_pending_order_payment", "modify_pending_order_address"
USER_ADDRESS = "modify_user_address"
WRITES = (CANCEL, RETURN, MODIFY, EXCHANGE, PAYMENT, ADDRESS, USER_ADDRESS)
FINDING = ("find_user_id_by_email", "find_user_id_by_name_zip")
REMINDER = "Please check that these are all the items you want to change."
YES = "Yes, please go ahead."

Steps = list[Step]
Task = Mapping[str, Any]
Mutant = Callable[[Steps, Task, random.Random], Steps | None]


@cache
def shop() -> RetailDB:
    return RetailDB.load(load_domain_config("retail")["db_path"])


# ---- the conversation that keeps the policy


def conversation(task: Task, *, with_wish: bool = True) -> Steps:
    """The reference solution as the policy wants it; the wish is what the task tells the user."""
    user = owner(task)
    steps: Steps = []
    hello = "Hello, I need your help."
    if with_wish:
        hello += f" {wish(task)}"
    if user is not None:
        hello += f" {introduction(user)}"
    steps.append(Say("user", hello))
    actions = gold(task)
    sought = [str(v) for a in actions if a["name"] in FINDING for v in a["arguments"].values()]
    steps.append(Say("assistant", "Who are you?"))
    steps.append(Say("user", f"You can look for {', '.join(sought) or 'me'}."))
    if user is not None and not any(each["name"] in FINDING for each in actions):
        steps.append(Do(FINDING[0], {"email": user.email}))
    for action in actions:
        name, arguments = action["name"], dict(action["arguments"])
        if name in WRITES:
            steps += change(name, arguments, steps)
        elif name == "transfer_to_human_agents":
            steps += [Say("assistant", "I am sorry, but I cannot do that."), Say("user", "Why?")]
            steps += [Do(name, arguments), Say("assistant", TRANSFER_TEXT)]
        else:
            steps.append(Do(name, arguments))
    return [*steps, Say("assistant", "All is done."), Say("user", "Thank you. ###STOP###")]


def conversation_without_wish(task: Task) -> Steps:
    """The same, in which the customer does not name all details at the beginning."""
    return conversation(task, with_wish=False)


def introduction(user: User) -> str:
    name = f"{user.name.first_name} {user.name.last_name}"
    return f"My name is {name}, my zip code is {user.address.zip} and my email is {user.email}."


def owner(task: Task) -> User | None:
    """The customer of a task."""
    for action in gold(task):
        arguments = action["arguments"]
        order = shop().orders.get(arguments.get("order_id", ""))
        user_id = order.user_id if order else arguments.get("user_id")
        if user_id in shop().users:
            return shop().users.view(user_id)
    return None


def change(
    name: str, arguments: dict[str, Any], before: Sequence[Step] = (), **altered: Any
) -> Steps:
    """What is read before a change, the customer's wish, the proposal, the yes, and the call."""
    done = {(step.name, str(step.arguments)) for step in before if isinstance(step, Do)}
    reads = [each for each in _reads(arguments) if (each.name, str(each.arguments)) not in done]
    request = altered.pop("request", _request(name, arguments))
    proposed = proposal(name, arguments, **altered)
    return [*reads, Say("user", request), proposed, Say("user", YES), Do(name, dict(arguments))]


def _reads(arguments: Mapping[str, Any]) -> Iterator[Do]:
    order = shop().orders.get(arguments.get("order_id", ""))
    user_id = order.user_id if order else arguments.get("user_id")
    if user_id in shop().users:
        yield Do("get_user_details", {"user_id": user_id})
    if order is not None:
        yield Do("get_order_details", {"order_id": order.order_id})
    products = [product_of(each) for each in arguments.get("new_item_ids") or ()]
    for product_id in dict.fromkeys(each for each in products if each):
        yield Do("get_product_details", {"product_id": product_id})


def _request(name: str, arguments: Mapping[str, Any]) -> str:
    if "zip" in arguments:
        return f"Please change the address to {address(arguments)}."
    if name == CANCEL:
        return f"Please cancel it. The reason is: {arguments['reason']}."
    return "Can you do that for me?"


def address(arguments: Mapping[str, Any]) -> str:
    parts = ("address1", "address2", "city", "state", "zip", "country")
    return ", ".join(str(arguments[part]) for part in parts if arguments.get(part))


def proposal(
    name: str,
    arguments: Mapping[str, Any],
    *,
    figure: float | None = None,
    method: str | None = "",
    reminder: str = REMINDER,
    reason: bool = True,
    order_id: bool = True,
    items: bool = True,
    place: str | None = None,
    when: str | None = None,
) -> Say:
    """All details of a change, and the question; each detail can be told otherwise, or left out."""
    order = shop().orders.get(arguments.get("order_id", ""))
    user = shop().users.get(order.user_id if order else arguments.get("user_id", ""))
    amount = booked(name, arguments)
    figure = abs(amount) if figure is None else figure
    paid = arguments.get("payment_method_id") if method == "" else method
    lines = [f"I will {name.replace('_', ' ')}:"]
    if order is not None and order_id:
        lines.append(f"- order {order.order_id}")
    if "item_ids" in arguments and items:
        lines += _item_lines(order, arguments)
    if name == CANCEL and reason:
        lines.append(f"- reason: {arguments['reason']}")
    if "zip" in arguments:
        lines.append(f"- address: {address(arguments) if place is None else place}")
    if name in (MODIFY, EXCHANGE):
        way = "charged" if amount > 0 else "refunded"
        lines.append(f"The price difference of ${figure:.2f} will be {way}.")
        lines += [reminder] if reminder else []
    if name == RETURN:
        lines.append(f"A refund of ${figure:.2f} will be made.")
    if name in (CANCEL, PAYMENT) and order is not None and user is not None:
        old = user.payment_methods[order.payment_history[0].payment_method_id]
        soon = "immediately" if isinstance(old, GiftCard) else "in 5 to 7 business days"
        lines.append(f"A refund of ${figure:.2f} will be made to {old.id} {when or soon}.")
    if paid is not None and name != CANCEL:
        lines.append(f"- payment method: {paid}")
    return Say("assistant", "\n".join([*lines, "Do you confirm (yes/no)?"]))


def _item_lines(order: Order | None, arguments: Mapping[str, Any]) -> Iterator[str]:
    names = {item.item_id: item.name for item in order.items} if order else {}
    new = arguments.get("new_item_ids") or []
    for number, item_id in enumerate(arguments["item_ids"]):
        line = f"- {names.get(item_id, 'item')} {item_id}"
        if number < len(new):
            variant = variant_of(new[number])
            line += f" to {new[number]}: {variant.options if variant else ''}"
        yield line


def product_of(item_id: str) -> str | None:
    return _catalogue().get(item_id, (None, None))[0]


def variant_of(item_id: str) -> Variant | None:
    return _catalogue().get(item_id, (None, None))[1]


@cache
def _catalogue() -> dict[str, tuple[str, Variant]]:
    products = [shop().products.view(each) for each in shop().products]
    return {
        item_id: (product.product_id, variant)
        for product in products
        for item_id, variant in product.variants.items()
    }


def booked(name: str, arguments: Mapping[str, Any]) -> float:
    order = shop().orders.get(arguments.get("order_id", ""))
    if order is None:
        return 0.0
    prices = {item.item_id: item.price for item in order.items}
    old = [prices.get(each, 0.0) for each in arguments.get("item_ids") or ()]
    if name in (MODIFY, EXCHANGE):
        new = [variant_of(each) for each in arguments.get("new_item_ids") or ()]
        return round(sum(each.price for each in new if each) - sum(old), 2)
    return round(-sum(old), 2) if name == RETURN else -order.payment_history[0].amount


# ---- where a mutant can take hold


def writes(steps: Steps, *names: str) -> list[int]:
    return [n for n, step in enumerate(steps) if isinstance(step, Do) and step.name in names]


REFUSED = {"12", "13", "64", "105"}
"""Tasks whose reference solution has a change that the tools refuse."""


SAME_AGAIN = {"18", "91", "107"}
"""Tasks whose reference solution exchanges an item for itself."""


def one(rng: random.Random, found: list[int]) -> int | None:
    return rng.choice(found) if found else None


def reproposed(steps: Steps, at: int, **altered: Any) -> Steps:
    """The same steps with another proposal before a call."""
    call = steps[at]
    assert isinstance(call, Do)
    changed = list(steps)
    changed[at - 2] = proposal(call.name, call.arguments, **altered)
    return changed


def with_added(steps: Steps, name: str, arguments: dict[str, Any], **altered: Any) -> Steps:
    """The same steps with one more change before the end, proposed and agreed to as usual."""
    return [*steps[:-2], *change(name, arguments, steps, **altered), *steps[-2:]]


def fresh_orders(steps: Steps, task: Task, *statuses: str) -> list[Order]:
    """The customer's orders in a status that no step changes."""
    user = owner(task)
    changed = {
        step.arguments.get("order_id")
        for step in steps
        if isinstance(step, Do) and step.name in WRITES
    }
    orders = [shop().orders.view(each) for each in (user.orders if user else ())]
    return [each for each in orders if each.status in statuses and each.order_id not in changed]


def other_variants(order: Order, *, available: bool = True) -> list[tuple[str, str]]:
    """Items of an order with another variant of their product."""
    return [
        (item.item_id, variant.item_id)
        for item in order.items
        for variant in shop().products.view(item.product_id).variants.values()
        if variant.item_id != item.item_id and variant.available is available
    ]


def paid(order: Order) -> str:
    return order.payment_history[0].payment_method_id


def replacing(order: Order, old: str, new: str, method: str | None = None) -> dict[str, Any]:
    ids = {"item_ids": [old], "new_item_ids": [new]}
    return {"order_id": order.order_id, **ids, "payment_method_id": method or paid(order)}


def tool_for(order: Order) -> str:
    return MODIFY if order.status == "pending" else EXCHANGE


def cheap_pairs(order: Order) -> list[tuple[str, str]]:
    """Pairs whose difference the method that paid can bear."""
    user = shop().users.view(order.user_id)
    method = user.payment_methods[paid(order)]
    limit = method.balance if isinstance(method, GiftCard) else float("inf")
    prices = {item.item_id: item.price for item in order.items}
    pairs = other_variants(order)
    return [(a, b) for a, b in pairs if _catalogue()[b][1].price - prices[a] <= limit]


# ---- mutants: the state


def _in_wrong_status(tool: str, *statuses: str) -> Mutant:
    def mutant(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
        orders = [each for each in fresh_orders(steps, task, *statuses) if cheap_pairs(each)]
        if not orders:
            return None
        order = rng.choice(orders)
        if tool == CANCEL:
            return with_added(
                steps,
                tool,
                {
                    "order_id": order.order_id,
                    "reason": rng.choice(["no longer needed", "ordered by mistake"]),
                },
            )
        if tool == RETURN:
            arguments = {"order_id": order.order_id, "item_ids": [order.items[0].item_id]}
            return with_added(steps, tool, {**arguments, "payment_method_id": paid(order)})
        return with_added(steps, tool, replacing(order, *rng.choice(cheap_pairs(order))))

    return mutant


def cancel_for_another_reason(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    orders = fresh_orders(steps, task, "pending")
    if not orders:
        return None
    reason = rng.choice(["found it cheaper", "", "changed my mind", "delivery takes too long"])
    return with_added(steps, CANCEL, {"order_id": rng.choice(orders).order_id, "reason": reason})


def modify_after_items(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    orders = [each for each in fresh_orders(steps, task, "pending") if cheap_pairs(each)]
    if not orders:
        return None
    order = rng.choice(orders)
    changed = with_added(steps, MODIFY, replacing(order, *rng.choice(cheap_pairs(order))))
    new = {**shop().users.view(order.user_id).address.model_dump(), "order_id": order.order_id}
    return with_added(changed, ADDRESS, new)


def items_twice(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    orders = fresh_orders(steps, task, "pending", "delivered")
    orders = [each for each in orders if len({old for old, _ in cheap_pairs(each)}) > 1]
    if not orders:
        return None
    order = rng.choice(orders)
    pairs = dict(cheap_pairs(order))
    first, second = rng.sample(sorted(pairs.items()), 2)
    changed = with_added(steps, tool_for(order), replacing(order, *first))
    return with_added(changed, tool_for(order), replacing(order, *second))


def item_not_ordered(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    orders = fresh_orders(steps, task, "pending", "delivered")
    if not orders:
        return None
    order = rng.choice(orders)
    arguments: dict[str, Any] = {"order_id": order.order_id, "payment_method_id": paid(order)}
    name = tool_for(order)
    match rng.choice(["none", "foreign", "twice"]):
        case "none":
            arguments |= {"item_ids": [], "new_item_ids": []}
        case "foreign":
            own = {item.item_id for item in order.items}
            foreign = rng.choice(sorted(set(_catalogue()) - own))
            arguments |= {"item_ids": [foreign], "new_item_ids": [foreign]}
        case _:
            item = order.items[0].item_id
            count = sum(each.item_id == item for each in order.items) + 1
            arguments |= {"item_ids": [item] * count, "new_item_ids": [item] * count}
    if order.status == "delivered" and rng.random() < 0.5:
        name, _ = RETURN, arguments.pop("new_item_ids")
    return with_added(steps, name, arguments)


def item_removed(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    orders = fresh_orders(steps, task, "pending", "delivered")
    if not orders:
        return None
    order = rng.choice(orders)
    arguments = {"order_id": order.order_id, "item_ids": [order.items[0].item_id]}
    new: dict[str, Any] = {"new_item_ids": [], "payment_method_id": paid(order)}
    return with_added(steps, tool_for(order), {**arguments, **new})


def another_product(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    orders = fresh_orders(steps, task, "pending", "delivered")
    if not orders:
        return None
    order = rng.choice(orders)
    item = rng.choice(order.items)
    others = sorted(
        each for each, (product, _) in _catalogue().items() if product != item.product_id
    )
    return with_added(steps, tool_for(order), replacing(order, item.item_id, rng.choice(others)))


def the_same_item(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    orders = fresh_orders(steps, task, "pending", "delivered")
    if not orders:
        return None
    order = rng.choice(orders)
    item = rng.choice(order.items).item_id
    return with_added(steps, tool_for(order), replacing(order, item, item))


def not_available(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    orders = fresh_orders(steps, task, "pending", "delivered")
    orders = [each for each in orders if other_variants(each, available=False)]
    if not orders:
        return None
    order = rng.choice(orders)
    pair = rng.choice(other_variants(order, available=False))
    return with_added(steps, tool_for(order), replacing(order, *pair))


def method_of_a_stranger(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    orders = fresh_orders(steps, task, "pending", "delivered")
    if not orders:
        return None
    order = rng.choice(orders)
    own = shop().users.view(order.user_id).payment_methods
    strangers = [shop().users.view(each) for each in rng.sample(sorted(shop().users), 5)]
    foreign = next(m for each in strangers for m in each.payment_methods if m not in own)
    pairs = other_variants(order)
    if not pairs:
        return None
    return with_added(steps, tool_for(order), replacing(order, *rng.choice(pairs), foreign))


def gift_card_too_small(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    user = owner(task)
    cards = [m for m in user.payment_methods.values() if isinstance(m, GiftCard)] if user else []
    if not cards:
        return None
    # Without the changes of the task, which may give back money to the card.
    steps = [*steps[: writes(steps, *FINDING)[-1] + 1], *steps[-2:]]
    found = [
        (PAYMENT, {"order_id": each.order_id, "payment_method_id": card.id})
        for each in fresh_orders(steps, task, "pending")
        for card in cards
        if paid(each) != card.id and each.payment_history[0].amount > card.balance
    ]
    for order in fresh_orders(steps, task, "pending", "delivered"):
        prices = {item.item_id: item.price for item in order.items}
        found += [
            (tool_for(order), replacing(order, old, new, card.id))
            for old, new in other_variants(order)
            for card in cards
            if _catalogue()[new][1].price - prices[old] > card.balance
        ]
    return with_added(steps, *rng.choice(found)) if found else None


def pay_with_the_same(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    orders = fresh_orders(steps, task, "pending")
    if not orders:
        return None
    order = rng.choice(orders)
    return with_added(
        steps, PAYMENT, {"order_id": order.order_id, "payment_method_id": paid(order)}
    )


def refund_elsewhere(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    found = [
        (order, method.id)
        for order in fresh_orders(steps, task, "delivered")
        for method in shop().users.view(order.user_id).payment_methods.values()
        if method.id != paid(order) and not isinstance(method, GiftCard)
    ]
    if not found:
        return None
    order, method = rng.choice(found)
    arguments = {"order_id": order.order_id, "item_ids": [order.items[0].item_id]}
    return with_added(steps, RETURN, {**arguments, "payment_method_id": method})


# ---- mutants: who it is, and where values come from


def nobody_identified(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    reads = writes(steps, *WRITES, "get_order_details", "get_user_details")
    kept = [s for s in steps if not (isinstance(s, Do) and s.name in FINDING)]
    return kept if reads and len(kept) < len(steps) else None


def identity_guessed(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    finds, user = writes(steps, *FINDING), owner(task)
    if not finds or user is None:
        return None
    name = f"I am {user.name.first_name}" if rng.random() < 0.5 else f"I am {user.user_id}"
    return [Say("user", f"Hello, I need your help. {name}."), *steps[3:]]


def order_of_a_stranger(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    user = owner(task)
    if user is None:
        return None
    orders = [shop().orders.view(each) for each in rng.sample(sorted(shop().orders), 40)]
    foreign = [each for each in orders if each.user_id != user.user_id]
    pending = next(each for each in foreign if each.status == "pending")
    if rng.random() < 0.5:
        arguments = {"order_id": pending.order_id, "reason": "no longer needed"}
        return with_added(steps, CANCEL, arguments)
    stranger = shop().users.view(pending.user_id)
    new = {**user.address.model_dump(), "user_id": stranger.user_id}
    return with_added(steps, USER_ADDRESS, new)


def order_not_read(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    at = one(rng, writes(steps, CANCEL, RETURN, MODIFY, EXCHANGE, ADDRESS, PAYMENT))
    if at is None:
        return None
    order_id = _call(steps, at).arguments.get("order_id")
    about = [
        n
        for n, s in enumerate(steps)
        if isinstance(s, Do) and n < at and s.arguments.get("order_id") == order_id
    ]
    return [step for n, step in enumerate(steps) if n not in about]


def _call(steps: Steps, at: int) -> Do:
    step = steps[at]
    assert isinstance(step, Do)
    return step


def item_not_read(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    at, user = one(rng, writes(steps, MODIFY, EXCHANGE)), owner(task)
    if at is None or user is None:
        return None
    bought = {each.item_id for order in user.orders for each in shop().orders.view(order).items}
    if bought & set(_call(steps, at).arguments["new_item_ids"]):
        return None
    products = ("get_product_details", "get_item_details")
    return [
        s for n, s in enumerate(steps) if n > at or not (isinstance(s, Do) and s.name in products)
    ]


def address_invented(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    at = one(rng, writes(steps, ADDRESS, USER_ADDRESS))
    if at is None:
        return None
    call = _call(steps, at)
    part, value = rng.choice(
        [("address1", "9091 Nowhere Road"), ("zip", "99199"), ("city", "Atlantis")]
    )
    new = {**call.arguments, part: value}
    changed = [*steps[: at - 2], proposal(call.name, new), *steps[at - 1 :]]
    changed[at] = Do(call.name, new)
    return changed


# ---- mutants: what was agreed to


def wrong_figure(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    at = one(rng, writes(steps, MODIFY, EXCHANGE, RETURN, CANCEL))
    if at is None:
        return None
    call = _call(steps, at)
    right = abs(booked(call.name, call.arguments))
    wrong = round(right + rng.choice([-1, 1]) * rng.uniform(0.5, 20), 2)
    return reproposed(steps, at, figure=abs(wrong))


def wrong_report(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    at = one(rng, writes(steps, MODIFY, EXCHANGE, RETURN, CANCEL))
    if at is None or task["id"] in REFUSED:
        return None
    call = _call(steps, at)
    wrong = abs(booked(call.name, call.arguments)) + rng.uniform(0.5, 20)
    text = f"It is done, and a refund of ${wrong:.2f} has been processed."
    report = [Say("assistant", text), Say("user", "Good.")]
    return [*steps[: at + 1], *report, *steps[at + 1 :]]


def another_payment(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    found = []
    for at in writes(steps, MODIFY, EXCHANGE, RETURN, PAYMENT):
        user, used = owner(task), _call(steps, at).arguments["payment_method_id"]
        methods = user.payment_methods if user else {}
        found += [(at, other) for other in methods if other != used]
    if not found:
        return None
    at, other = rng.choice(found)
    user = owner(task)
    assert user is not None
    method = user.payment_methods[other]
    words = {"gift_card": "your gift card", "paypal": "your PayPal account"}
    spoken = words.get(method.source, f"the card ending in {getattr(method, 'last_four', '')}")
    return reproposed(steps, at, method=rng.choice([other, spoken]))


def payment_not_named(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    user = owner(task)
    at = one(rng, writes(steps, MODIFY, EXCHANGE, RETURN))
    if at is None or user is None or len(user.payment_methods) < 2:
        return None
    used = _call(steps, at).arguments["payment_method_id"]
    kept = [s for s in steps if not (isinstance(s, Say) and used in s.text)]
    position = next(n for n, s in enumerate(kept) if s is steps[at])
    call = _call(steps, at)
    return [
        *kept[: position - 1],
        proposal(call.name, call.arguments, method=None),
        *kept[position - 1 :],
    ]


def reason_not_said(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    at = one(rng, writes(steps, CANCEL))
    if at is None:
        return None
    relabelled = rng.random() < 0.3
    changed = reproposed(steps, at, reason=relabelled)
    said = "Please cancel it, I cannot afford it at present."
    if not relabelled and rng.random() < 0.5:
        said = "Please cancel it."
    for n, step in enumerate(changed):
        if isinstance(step, Say) and step.role == "user" and "The reason is" in step.text:
            changed[n] = Say("user", said)
    return changed


def no_reminder(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    at = one(rng, writes(steps, MODIFY, EXCHANGE)[:1])
    return None if at is None else reproposed(steps, at, reminder="")


def order_not_named(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    at = one(rng, writes(steps, CANCEL, RETURN))
    if at is None or task["id"] in REFUSED:
        return None
    return reproposed(steps, at, order_id=False)


def items_not_named(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    at = one(rng, writes(steps, MODIFY, EXCHANGE, RETURN)[:1])
    if at is None:
        return None
    changed = reproposed(steps, at, items=False, order_id=False, reminder="Is that right?")
    call = _call(steps, at)
    changed[at] = Do(
        call.name,
        {
            key: value[:1] if isinstance(value, list) else value
            for key, value in call.arguments.items()
        },
    )
    return changed


def options_not_named(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    at = one(rng, writes(steps, MODIFY, EXCHANGE)[:1])
    if at is None or task["id"] in SAME_AGAIN:
        return None
    call = _call(steps, at)
    order = shop().orders[call.arguments["order_id"]]
    text = " and ".join(item.name for item in order.items)
    changed = reproposed(steps, at, items=False, figure=0.0)
    changed[at - 2] = Say(
        "assistant",
        f"I will exchange the {text} of order {order.order_id} for "
        f"another variant with {call.arguments['payment_method_id']}. "
        f"{REMINDER} Do you confirm (yes/no)?",
    )
    return changed


def another_variant(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    """One variant is proposed, by id or by its options, and another one booked."""
    at = one(rng, writes(steps, MODIFY, EXCHANGE))
    if at is None or task["id"] in REFUSED | SAME_AGAIN:
        return None
    call = _call(steps, at)
    order = shop().orders[call.arguments["order_id"]]
    old, new = call.arguments["item_ids"][0], call.arguments["new_item_ids"][0]
    others = [b for a, b in cheap_pairs(order) if a == old and b != new]
    if not others:
        return None
    new_ids = [rng.choice(others), *call.arguments["new_item_ids"][1:]]
    changed = list(steps)
    changed[at] = Do(call.name, {**call.arguments, "new_item_ids": new_ids})
    return changed


def one_item_more(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    """An item is returned that the question was not about."""
    at = one(rng, writes(steps, RETURN))
    if at is None or task["id"] in REFUSED:
        return None
    call = _call(steps, at)
    order = shop().orders[call.arguments["order_id"]]
    listed = call.arguments["item_ids"]
    names = {item.name for item in order.items if item.item_id in listed}
    more = [item.item_id for item in order.items if item.name not in names]
    if not more:
        return None
    changed = list(steps)
    changed[at] = Do(call.name, {**call.arguments, "item_ids": [*listed, rng.choice(more)]})
    listing = ", ".join(item.name for item in order.items)
    changed[at - 3 : at - 3] = [
        Say("user", "What is in that order?"),
        Say("assistant", f"It has: {listing}."),
    ]
    return changed


def wrong_price(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    at = one(rng, writes(steps, MODIFY, EXCHANGE))
    if at is None:
        return None
    variant = variant_of(_call(steps, at).arguments["new_item_ids"][0])
    if variant is None:
        return None
    wrong = variant.price + rng.uniform(0.5, 20)
    said = [Say("assistant", f"The new one costs ${wrong:.2f}."), Say("user", "All right.")]
    return [*steps[: at - 3], *said, *steps[at - 3 :]]


def address_not_named(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    at = one(rng, writes(steps, ADDRESS, USER_ADDRESS)[:1])
    if at is None:
        return None
    changed = reproposed(steps, at, place="the new one")
    changed[at - 3] = Say("user", "Please change the address.")
    return changed


def another_address(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    at = one(rng, writes(steps, ADDRESS, USER_ADDRESS))
    if at is None:
        return None
    call = _call(steps, at)
    other = {**call.arguments, "address1": "17 Other Street", "zip": "10017"}
    return reproposed(steps, at, place=address(other))


def invented_number(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    number = rng.choice(["#W9090909", "9999900000", "999990000011", "gift_card_9090901"])
    said = [Say("assistant", f"I see {number} in your account."), Say("user", "Good.")]
    return [*steps[:-2], *said, *steps[-2:]]


def invented_time(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    time = rng.choice(["1-2 business days", "3 to 5 business days", "2 weeks"])
    said = [Say("assistant", f"It will be shipped within {time}."), Say("user", "Good.")]
    return [*steps[:-2], *said, *steps[-2:]]


def wrong_refund_time(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    at = one(rng, writes(steps, CANCEL, PAYMENT))
    if at is None:
        return None
    order = shop().orders[_call(steps, at).arguments["order_id"]]
    card = isinstance(shop().users[order.user_id].payment_methods[paid(order)], GiftCard)
    return reproposed(steps, at, when="in 5 to 7 business days" if card else "immediately")


def stranger_told(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    user, orders = owner(task), sorted(shop().orders)
    if user is None:
        return None
    foreign = shop().orders.view(rng.choice([each for each in orders if each not in user.orders]))
    names = ", ".join(item.name for item in foreign.items)
    return [
        *steps[:-2],
        Say("user", f"What is in order {foreign.order_id} of my friend?"),
        Do("get_order_details", {"order_id": foreign.order_id}),
        Say("assistant", f"Order {foreign.order_id} is {foreign.status}. It has: {names}."),
        steps[-1],
    ]


def handed_over_at_once(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    verb, user = rng.choice(["return", "exchange", "cancel"]), owner(task)
    looked: Steps = []
    orders = fresh_orders([], task, "pending", "delivered")
    if user is not None and orders and rng.random() < 0.5:
        looked = [
            Do(FINDING[0], {"email": user.email}),
            Do("get_order_details", {"order_id": orders[0].order_id}),
        ]
    return [
        Say("user", f"Hello, I would like to {verb} an item that I bought."),
        *looked,
        Do("transfer_to_human_agents", {"summary": "The customer has a question."}),
        Say("assistant", TRANSFER_TEXT),
        steps[-1],
    ]


# ---- mutants: the protocol that domains share


def no_yes(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    at = one(rng, writes(steps, *WRITES))
    if at is None:
        return None
    reply = rng.choice(
        [
            "No, please do not do that.",
            "Wait, let me think about it.",
            "How long does it take?",
            "I have changed my mind, do not proceed.",
        ]
    )
    return [*steps[: at - 1], Say("user", reply), *steps[at:]]


def not_asked(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    at = one(rng, writes(steps, *WRITES)[:1])  # a later one may be meant by an earlier yes
    return None if at is None or task["id"] in REFUSED else [*steps[: at - 3], *steps[at:]]


def changed_after_transfer(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    at = one(rng, writes(steps, *WRITES))
    if at is None:
        return None
    handed = Do("transfer_to_human_agents", {"summary": "The customer wants a human."})
    return [*steps[:at], handed, *steps[at:]]


def transferred_without_a_word(steps: Steps, task: Task, rng: random.Random) -> Steps | None:
    if writes(steps, "transfer_to_human_agents"):
        return None
    handed = Do("transfer_to_human_agents", {"summary": "The customer wants a human."})
    return [*steps[:-2], handed, Say("assistant", "Somebody will call you."), steps[-1]]


MUTANTS: dict[str, Mutant] = {
    "retail.cancel.status": _in_wrong_status(CANCEL, "delivered", "processed", "cancelled"),
    "retail.modify.status": modify_after_items,
    "retail.return.status": _in_wrong_status(RETURN, "pending", "processed", "cancelled"),
    "retail.exchange.status": _in_wrong_status(EXCHANGE, "pending", "processed", "cancelled"),
    "retail.cancel.reason": cancel_for_another_reason,
    "retail.items.once": items_twice,
    "retail.items.ordered": item_not_ordered,
    "retail.items.pairs": item_removed,
    "retail.items.product": another_product,
    "retail.items.option": the_same_item,
    "retail.items.available": not_available,
    "retail.payment.own": method_of_a_stranger,
    "retail.payment.balance": gift_card_too_small,
    "retail.modify_payment.other": pay_with_the_same,
    "retail.return.refund": refund_elsewhere,
    "retail.identity.first": nobody_identified,
    "retail.identity.said": identity_guessed,
    "retail.identity.one_user": order_of_a_stranger,
    "retail.order.read": order_not_read,
    "retail.values.known": item_not_read,
    "retail.address.known": address_invented,
    "retail.amount.told": wrong_figure,
    "retail.amount.reported": wrong_report,
    "retail.payment.confirmed": another_payment,
    "retail.payment.provided": payment_not_named,
    "retail.cancel.reason_said": reason_not_said,
    "retail.items.reminder": no_reminder,
    "retail.details.order": order_not_named,
    "retail.details.items": items_not_named,
    "retail.details.options": options_not_named,
    "retail.items.confirmed": lambda *given: (
        another_variant(*given) if given[2].random() < 0.7 else one_item_more(*given)
    ),
    "retail.told.amount": wrong_price,
    "retail.details.address": address_not_named,
    "retail.address.confirmed": another_address,
    "retail.told.ids": invented_number,
    "retail.told.time": invented_time,
    "retail.refund.time": wrong_refund_time,
    "retail.told.foreign": stranger_told,
    "retail.transfer.scope": handed_over_at_once,
    "retail.confirm.yes": lambda *given: given[2].choice([no_yes, not_asked])(*given),
    "retail.transfer.last": changed_after_transfer,
    "retail.form.transfer_text": transferred_without_a_word,
}
