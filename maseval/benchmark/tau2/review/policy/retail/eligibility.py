"""Rules of the shop that the database decides: which change an order, an item or a card allows.

An argument may be absent or of any type, since the tools take what they are given. What is not
there is no breach of these rules: the tool refuses it, or nothing happens.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from maseval.benchmark.tau2.domains.retail import (
    CANCEL,
    EXCHANGE,
    MODIFY_ADDRESS,
    MODIFY_ITEMS,
    MODIFY_PAYMENT,
    OF_ITEMS,
    PAYING,
    REPLACING,
    RETURN,
)
from maseval.benchmark.tau2.domains.retail.models import (
    GiftCard,
    Order,
    OrderItem,
    PaymentMethod,
    User,
    Variant,
)
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, policy_of
from maseval.benchmark.tau2.review.talk import CallMoment, once_per_call

retail = policy_of("retail")
REASONS = ("no longer needed", "ordered by mistake")


class Replacement(NamedTuple):
    """An item of an order, and the variant that is to come in its place."""

    item: OrderItem
    variant: Variant


@once_per_call
def order_of(moment: CallMoment) -> Order | None:
    """Return the order that a call is about."""
    try:
        order: Order = moment.tools.get_order_details(moment.arguments.get("order_id"))
    except (ValueError, TypeError):
        return None
    return order


@once_per_call
def owner_of(moment: CallMoment) -> User | None:
    """Return the customer whose record a call would change."""
    order = order_of(moment)
    user_id = order.user_id if order else moment.arguments.get("user_id")
    users = moment.tools.db.users
    return users.view(user_id) if isinstance(user_id, str) and user_id in users else None


def method_of(moment: CallMoment) -> PaymentMethod | None:
    """Return the owner's payment method that a call names."""
    user, method_id = owner_of(moment), moment.arguments.get("payment_method_id")
    if user is None or not isinstance(method_id, str):
        return None
    return user.payment_methods.get(method_id)


def ids(moment: CallMoment, name: str) -> list[str]:
    """Return the texts of a list among the arguments."""
    value = moment.arguments.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


@once_per_call
def items_of(moment: CallMoment) -> list[OrderItem]:
    """Return the items of the order that a call lists, each as often as it is listed."""
    ordered = _ordered_items(moment)
    return [ordered[each] for each in ids(moment, "item_ids") if each in ordered]


def _ordered_items(moment: CallMoment) -> dict[str, OrderItem]:
    order = order_of(moment)
    return {item.item_id: item for item in order.items} if order else {}


@once_per_call
def replacements(moment: CallMoment) -> list[Replacement]:
    """Return the pairs of a call that are an item of the order and a variant of its product."""
    ordered, products = _ordered_items(moment), moment.tools.db.products
    found = []
    for old, new in zip(ids(moment, "item_ids"), ids(moment, "new_item_ids"), strict=False):
        item = ordered.get(old)
        if item is not None and item.product_id in products:
            variant = products.view(item.product_id).variants.get(new)
            found += [Replacement(item, variant)] if variant else []
    return found


@once_per_call
def amount_booked(moment: CallMoment) -> float | None:
    """Return what a call takes from the customer; what it gives back is negative."""
    order, name = order_of(moment), moment.call["name"]
    if order is None:
        return None
    if name in REPLACING:
        return round(sum(each.variant.price - each.item.price for each in replacements(moment)), 2)
    if name == RETURN:
        return -round(sum(item.price for item in items_of(moment)), 2)
    if name == CANCEL:
        return -_amount_paid(order)
    return _amount_paid(order) if name == MODIFY_PAYMENT else None


def _amount_paid(order: Order) -> float:
    amounts = (
        entry.amount if entry.transaction_type == "payment" else -entry.amount
        for entry in order.payment_history
    )
    return round(sum(amounts), 2)


def paid_with(order: Order) -> list[str]:
    """Return the methods with which an order was paid, the original one first."""
    payments = (each for each in order.payment_history if each.transaction_type == "payment")
    return list(dict.fromkeys(each.payment_method_id for each in payments))


def _wrong_status(moment: CallMoment, wanted: str) -> Iterator[Answer]:
    order = order_of(moment)
    if order is not None and order.status != wanted:
        yield Broken(f"order {order.order_id} is {order.status!r} and not {wanted!r}")


@retail.state("cancel.status", "Cancel pending order: 1st paragraph", CANCEL)
def order_to_cancel_is_pending(moment: CallMoment) -> Iterator[Answer]:
    """Only a pending order is cancelled."""
    return _wrong_status(moment, "pending")


@retail.state(
    "modify.status",
    "Modify pending order: 1st paragraph; Modify items: 1st paragraph",
    *(MODIFY_ITEMS, MODIFY_ADDRESS, MODIFY_PAYMENT),
)
def order_to_modify_is_pending(moment: CallMoment) -> Iterator[Answer]:
    """Only a pending order is modified."""
    return _wrong_status(moment, "pending")


@retail.state("return.status", "Return delivered order: 1st paragraph", RETURN)
def order_to_return_is_delivered(moment: CallMoment) -> Iterator[Answer]:
    """Only a delivered order is returned."""
    return _wrong_status(moment, "delivered")


@retail.state("exchange.status", "Exchange delivered order: 1st paragraph", EXCHANGE)
def order_to_exchange_is_delivered(moment: CallMoment) -> Iterator[Answer]:
    """Only items of a delivered order are exchanged."""
    return _wrong_status(moment, "delivered")


@retail.state("cancel.reason", "Cancel pending order: 2nd paragraph", CANCEL)
def reason_is_acceptable(moment: CallMoment) -> Iterator[Answer]:
    """An order is cancelled for one of two reasons."""
    reason = moment.arguments.get("reason")
    if reason not in REASONS:
        yield Broken(f"{reason!r} is no reason for which an order is cancelled")


@retail.state("items.once", "Generic action rules: 2nd paragraph", *REPLACING)
def items_change_once(moment: CallMoment) -> Iterator[Answer]:
    """The items of an order are modified or exchanged once, all of them in one call."""
    order_id = moment.arguments.get("order_id")
    for made in moment.earlier_calls:
        same = made.call["name"] in REPLACING and made.call["arguments"].get("order_id") == order_id
        if same and not made.failed:
            yield Broken(f"the items of order {order_id} were already changed")
            return


@retail.state("items.ordered", "Modify items, Return and Exchange delivered order", *OF_ITEMS)
def items_are_ordered(moment: CallMoment) -> Iterator[Answer]:
    """Only items of the order are changed or returned, and each as often as it was ordered."""
    order = order_of(moment)
    if order is None:
        return
    listed = ids(moment, "item_ids")
    ordered = Counter(item.item_id for item in order.items)
    excess = sorted((Counter(listed) - ordered).elements())
    if excess:
        yield Broken(f"{', '.join(excess)} is not in order {order.order_id}, or not so often")
    if not listed:
        yield Broken(f"order {order.order_id} would be changed without any item")


@retail.state(
    "items.pairs",
    "Modify items: 2nd paragraph; Exchange delivered order: 2nd paragraph",
    *REPLACING,
)
def every_item_is_replaced(moment: CallMoment) -> Iterator[Answer]:
    """Each item gets one new item in its place: none is removed, none is added."""
    old, new = ids(moment, "item_ids"), ids(moment, "new_item_ids")
    if len(old) != len(new):
        yield Broken(f"{len(old)} items are replaced by {len(new)}")


@retail.state(
    "items.product",
    "Modify items: 2nd paragraph; Exchange delivered order: 2nd paragraph",
    *REPLACING,
)
def product_stays(moment: CallMoment) -> Iterator[Answer]:
    """The new item is of the same product as the old one."""
    ordered, products = _ordered_items(moment), moment.tools.db.products
    for old, new in zip(ids(moment, "item_ids"), ids(moment, "new_item_ids"), strict=False):
        item = ordered.get(old)
        if item is None or item.product_id not in products:
            continue
        if new not in products.view(item.product_id).variants:
            yield Broken(f"{new} is no {item.name}")


@retail.state(
    "items.option",
    "Modify items: 2nd paragraph; Exchange delivered order: 2nd paragraph",
    *REPLACING,
)
def option_differs(moment: CallMoment) -> Iterator[Answer]:
    """The new item is another option of the product, and not the old item again."""
    for item, variant in replacements(moment):
        if item.item_id == variant.item_id:
            yield Broken(f"{item.name} {item.item_id} would be replaced by itself")


@retail.state(
    "items.available",
    "Modify items: 2nd paragraph; Exchange delivered order: 2nd paragraph",
    *REPLACING,
)
def new_item_is_available(moment: CallMoment) -> Iterator[Answer]:
    """The new item is available."""
    for item, variant in replacements(moment):
        if not variant.available:
            yield Broken(f"{item.name} {variant.item_id} is not available")


@retail.state("payment.own", "Domain basic: User", *PAYING)
def method_is_in_the_profile(moment: CallMoment) -> Iterator[Answer]:
    """Money goes only by a payment method of the customer's profile."""
    user, method_id = owner_of(moment), moment.arguments.get("payment_method_id")
    if user is not None and method_of(moment) is None:
        yield Broken(f"{user.user_id} has no payment method {method_id!r}")


@retail.state(
    "payment.balance",
    "Modify payment: 2nd paragraph; Modify items and Exchange: on payment",
    *REPLACING,
    MODIFY_PAYMENT,
)
def gift_card_covers_it(moment: CallMoment) -> Iterator[Answer]:
    """A gift card that is to pay has enough balance."""
    method, amount = method_of(moment), amount_booked(moment)
    if isinstance(method, GiftCard) and amount is not None and method.balance < amount:
        yield Broken(
            f"gift card {method.id} has {method.balance:.2f}, and {amount:.2f} is to be paid"
        )


@retail.state("modify_payment.other", "Modify payment: 1st paragraph", MODIFY_PAYMENT)
def method_changes(moment: CallMoment) -> Iterator[Answer]:
    """The payment moves to another method than the original one."""
    order, method_id = order_of(moment), moment.arguments.get("payment_method_id")
    if order is not None and method_id in paid_with(order)[:1]:
        yield Broken(f"order {order.order_id} is already paid with {method_id}")


@retail.state("return.refund", "Return delivered order: 4th paragraph", RETURN)
def refund_goes_back(moment: CallMoment) -> Iterator[Answer]:
    """A refund goes to the method that paid, or to a gift card."""
    order, method = order_of(moment), method_of(moment)
    if order is None or method is None or isinstance(method, GiftCard):
        return
    if method.id not in paid_with(order):
        yield Broken(f"the refund goes to {method.id}, which neither paid nor is a gift card")
