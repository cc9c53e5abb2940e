"""Conversations in the shop that keep its policy, made from reference solutions.

Identified, looked up, proposed in full, agreed to.
"""

from collections.abc import Iterator, Mapping, Sequence
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


@cache
def shop() -> RetailDB:
    return RetailDB.load(load_domain_config("retail")["db_path"])


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


def change(name: str, arguments: dict[str, Any], before: Sequence[Step]) -> Steps:
    """What is read before a change, the customer's wish, the proposal, the yes, and the call."""
    done = {(step.name, str(step.arguments)) for step in before if isinstance(step, Do)}
    read = [each for each in reads(arguments) if (each.name, str(each.arguments)) not in done]
    asked = Say("user", _request(name, arguments))
    proposed = proposal(name, arguments)
    return [*read, asked, proposed, Say("user", YES), Do(name, dict(arguments))]


def reads(arguments: Mapping[str, Any]) -> Iterator[Do]:
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


def proposal(name: str, arguments: Mapping[str, Any]) -> Say:
    """All details of a change, and the question."""
    order = shop().orders.get(arguments.get("order_id", ""))
    user = shop().users.get(order.user_id if order else arguments.get("user_id", ""))
    amount = booked(name, arguments)
    lines = [f"I will {name.replace('_', ' ')}:"]
    if order is not None:
        lines.append(f"- order {order.order_id}")
    if "item_ids" in arguments:
        lines += _item_lines(order, arguments)
    if name == CANCEL:
        lines.append(f"- reason: {arguments['reason']}")
    if "zip" in arguments:
        lines.append(f"- address: {address(arguments)}")
    if name in (MODIFY, EXCHANGE):
        way = "charged" if amount > 0 else "refunded"
        lines += [f"The price difference of ${abs(amount):.2f} will be {way}.", REMINDER]
    if name == RETURN:
        lines.append(f"A refund of ${abs(amount):.2f} will be made.")
    if name in (CANCEL, PAYMENT) and order is not None and user is not None:
        old = user.payment_methods[order.payment_history[0].payment_method_id]
        soon = "immediately" if isinstance(old, GiftCard) else "in 5 to 7 business days"
        lines.append(f"A refund of ${abs(amount):.2f} will be made to {old.id} {soon}.")
    if name != CANCEL and "payment_method_id" in arguments:
        lines.append(f"- payment method: {arguments['payment_method_id']}")
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


def writes(steps: Steps, *names: str) -> list[int]:
    return [n for n, step in enumerate(steps) if isinstance(step, Do) and step.name in names]
