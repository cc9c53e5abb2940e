"""Rules of the shop that the database decides: which change an order, an item or a card allows.

An argument may be absent or of any type, since the tools take what they are given. What is not
there is no breach of these rules: the tool refuses it, or nothing happens.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
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
    WRITES,
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
from maseval.benchmark.tau2.review.talk import CallMoment, Utterance

REASONS = ("no longer needed", "ordered by mistake")


class Replacement(NamedTuple):
    """An item of an order, and the variant that is to come in its place."""

    item: OrderItem
    variant: Variant


def _amount_paid(order: Order) -> float:
    amounts = (
        entry.amount if entry.transaction_type == "payment" else -entry.amount
        for entry in order.payment_history
    )
    return round(sum(amounts), 2)


class RetailCall(CallMoment):
    """A call of the shop's agent, with the records that it is about."""

    @cached_property
    def order(self) -> Order | None:
        """The order that the call is about."""
        try:
            order: Order = self.tools.get_order_details(self.arguments.get("order_id"))
        except (ValueError, TypeError):
            return None
        return order

    @cached_property
    def owner(self) -> User | None:
        """The customer whose record the call would change."""
        user_id = self.order.user_id if self.order else self.arguments.get("user_id")
        users = self.tools.db.users
        return users.view(user_id) if isinstance(user_id, str) and user_id in users else None

    @property
    def method(self) -> PaymentMethod | None:
        """The owner's payment method that the call names."""
        method_id = self.arguments.get("payment_method_id")
        if self.owner is None or not isinstance(method_id, str):
            return None
        return self.owner.payment_methods.get(method_id)

    @property
    def paid_with(self) -> list[str]:
        """The methods with which the order was paid, the original one first."""
        history = self.order.payment_history if self.order else ()
        payments = (each for each in history if each.transaction_type == "payment")
        return list(dict.fromkeys(each.payment_method_id for each in payments))

    def ids(self, name: str) -> list[str]:
        """Return the texts of a list among the arguments."""
        value = self.arguments.get(name)
        return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []

    @cached_property
    def ordered(self) -> dict[str, OrderItem]:
        return {item.item_id: item for item in self.order.items} if self.order else {}

    @cached_property
    def items(self) -> list[OrderItem]:
        """The items of the order that the call lists, each as often as it is listed."""
        return [self.ordered[each] for each in self.ids("item_ids") if each in self.ordered]

    @cached_property
    def pairs(self) -> list[tuple[OrderItem, str, Mapping[str, Variant]]]:
        """The items of the order, what is to come in their place, and their product's variants."""
        both = zip(self.ids("item_ids"), self.ids("new_item_ids"), strict=False)
        products = self.tools.db.products
        known = ((self.ordered[old], new) for old, new in both if old in self.ordered)
        return [
            (item, new, products.view(item.product_id).variants)
            for item, new in known
            if item.product_id in products
        ]

    @cached_property
    def replacements(self) -> list[Replacement]:
        """The pairs that are an item of the order and a variant of its product."""
        return [Replacement(item, each[new]) for item, new, each in self.pairs if new in each]

    @cached_property
    def booked(self) -> float | None:
        """The amount the call takes from the customer; negative if it gives back."""
        if self.order is None:
            return None
        if self.tool in REPLACING:
            differences = (each.variant.price - each.item.price for each in self.replacements)
            return round(sum(differences), 2)
        if self.tool == RETURN:
            return -round(sum(item.price for item in self.items), 2)
        if self.tool == CANCEL:
            return -_amount_paid(self.order)
        return _amount_paid(self.order) if self.tool == MODIFY_PAYMENT else None

    @cached_property
    def texts_backwards(self) -> list[Utterance]:
        """The texts of both sides before the call, the last text first."""
        both = (*self.user_texts, *self.agent_texts)
        return sorted(both, key=lambda said: -said.message_index)

    @cached_property
    def changes_on_this_reply(self) -> int:
        """The number of changes that follow the same words of the customer."""
        _, reply = self.question_and_reply
        start = reply.message_index if reply else -1
        later = (each.message_index for each in self.talk.user if each.message_index > start)
        end = next(later, len(self.talk.messages))
        made = [each for each in self.talk.calls if start < each.message_index < end]
        return sum(each.call["name"] in WRITES for each in made)

    @property
    def report(self) -> Utterance | None:
        """The agent's first text after the call, unless the customer speaks before it."""
        at = self.message_index
        report = next((said for said in self.talk.agent if said.message_index > at), None)
        if report is None or any(
            at < each.message_index < report.message_index for each in self.talk.user
        ):
            return None
        return report


retail = policy_of("retail", RetailCall)


def _wrong_status(call: RetailCall, wanted: str) -> Iterator[Answer]:
    order = call.order
    if order is not None and order.status != wanted:
        yield Broken(f"order {order.order_id} is {order.status!r} and not {wanted!r}")


@retail.state("cancel.status", "Cancel pending order: 1st paragraph", CANCEL)
def order_to_cancel_is_pending(call: RetailCall) -> Iterator[Answer]:
    """Only a pending order is cancelled."""
    return _wrong_status(call, "pending")


@retail.state(
    "modify.status",
    "Modify pending order: 1st paragraph; Modify items: 1st paragraph",
    *(MODIFY_ITEMS, MODIFY_ADDRESS, MODIFY_PAYMENT),
)
def order_to_modify_is_pending(call: RetailCall) -> Iterator[Answer]:
    """Only a pending order is modified."""
    return _wrong_status(call, "pending")


@retail.state("return.status", "Return delivered order: 1st paragraph", RETURN)
def order_to_return_is_delivered(call: RetailCall) -> Iterator[Answer]:
    """Only a delivered order is returned."""
    return _wrong_status(call, "delivered")


@retail.state("exchange.status", "Exchange delivered order: 1st paragraph", EXCHANGE)
def order_to_exchange_is_delivered(call: RetailCall) -> Iterator[Answer]:
    """Only items of a delivered order are exchanged."""
    return _wrong_status(call, "delivered")


@retail.state("cancel.reason", "Cancel pending order: 2nd paragraph", CANCEL)
def reason_is_acceptable(call: RetailCall) -> Iterator[Answer]:
    """An order is cancelled for one of two reasons."""
    reason = call.arguments.get("reason")
    if reason not in REASONS:
        yield Broken(f"{reason!r} is no reason for which an order is cancelled")


@retail.state("items.once", "Generic action rules: 2nd paragraph", *REPLACING)
def items_change_once(call: RetailCall) -> Iterator[Answer]:
    """The items of an order are modified or exchanged once, all of them in one call."""
    order_id = call.arguments.get("order_id")
    for made in call.earlier_calls:
        same = made.call["name"] in REPLACING and made.call["arguments"].get("order_id") == order_id
        if same and not made.failed:
            yield Broken(f"the items of order {order_id} were already changed")
            return


@retail.state("items.ordered", "Modify items, Return and Exchange delivered order", *OF_ITEMS)
def items_are_ordered(call: RetailCall) -> Iterator[Answer]:
    """Only items of the order are changed or returned, and each as often as it was ordered."""
    order = call.order
    if order is None:
        return
    listed = call.ids("item_ids")
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
def every_item_is_replaced(call: RetailCall) -> Iterator[Answer]:
    """Each item gets one new item in its place: none is removed, none is added."""
    old, new = call.ids("item_ids"), call.ids("new_item_ids")
    if len(old) != len(new):
        yield Broken(f"{len(old)} items are replaced by {len(new)}")


@retail.state(
    "items.product",
    "Modify items: 2nd paragraph; Exchange delivered order: 2nd paragraph",
    *REPLACING,
)
def product_stays(call: RetailCall) -> Iterator[Answer]:
    """The new item is of the same product as the old one."""
    for item, new, variants in call.pairs:
        if new not in variants:
            yield Broken(f"{new} is no {item.name}")


@retail.state(
    "items.option",
    "Modify items: 2nd paragraph; Exchange delivered order: 2nd paragraph",
    *REPLACING,
)
def option_differs(call: RetailCall) -> Iterator[Answer]:
    """The new item is another option of the product, and not the old item again."""
    for item, variant in call.replacements:
        if item.item_id == variant.item_id:
            yield Broken(f"{item.name} {item.item_id} would be replaced by itself")


@retail.state(
    "items.available",
    "Modify items: 2nd paragraph; Exchange delivered order: 2nd paragraph",
    *REPLACING,
)
def new_item_is_available(call: RetailCall) -> Iterator[Answer]:
    """The new item is available."""
    for item, variant in call.replacements:
        if not variant.available:
            yield Broken(f"{item.name} {variant.item_id} is not available")


@retail.state("payment.own", "Domain basic: User", *PAYING)
def method_is_in_the_profile(call: RetailCall) -> Iterator[Answer]:
    """Money goes only by a payment method of the customer's profile."""
    user, method_id = call.owner, call.arguments.get("payment_method_id")
    if user is not None and call.method is None:
        yield Broken(f"{user.user_id} has no payment method {method_id!r}")


@retail.state(
    "payment.balance",
    "Modify payment: 2nd paragraph; Modify items and Exchange: on payment",
    *REPLACING,
    MODIFY_PAYMENT,
)
def gift_card_covers_it(call: RetailCall) -> Iterator[Answer]:
    """A gift card that is to pay has enough balance."""
    method, amount = call.method, call.booked
    if isinstance(method, GiftCard) and amount is not None and method.balance < amount:
        yield Broken(
            f"gift card {method.id} has {method.balance:.2f}, and {amount:.2f} is to be paid"
        )


@retail.state("modify_payment.other", "Modify payment: 1st paragraph", MODIFY_PAYMENT)
def method_changes(call: RetailCall) -> Iterator[Answer]:
    """The payment moves to another method than the original one."""
    order, method_id = call.order, call.arguments.get("payment_method_id")
    if order is not None and method_id in call.paid_with[:1]:
        yield Broken(f"order {order.order_id} is already paid with {method_id}")


@retail.state("return.refund", "Return delivered order: 4th paragraph", RETURN)
def refund_goes_back(call: RetailCall) -> Iterator[Answer]:
    """A refund goes to the method that paid, or to a gift card."""
    order, method = call.order, call.method
    if order is None or method is None or isinstance(method, GiftCard):
        return
    if method.id not in call.paid_with:
        yield Broken(f"the refund goes to {method.id}, which neither paid nor is a gift card")
