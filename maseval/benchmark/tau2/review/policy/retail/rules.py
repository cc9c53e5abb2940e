"""The shop's policy as rules: which change is allowed, whose records are used, what is known.

An argument may be absent or of any type, since the tools take what they are given. What is not
there is no breach of these rules: the tool refuses it, or nothing happens.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sized
from functools import cached_property

from maseval.benchmark.tau2.domains.retail import (
    CANCEL,
    EXCHANGE,
    MODIFY_ADDRESS,
    MODIFY_ITEMS,
    MODIFY_PAYMENT,
    OF_ITEMS,
    OF_ORDERS,
    PAYING,
    REPLACING,
    RETURN,
    USER_ADDRESS,
    WRITES,
)
from maseval.benchmark.tau2.domains.retail.models import (
    GiftCard,
    Order,
    OrderItem,
    PaymentMethod,
    Product,
    User,
    Variant,
)
from maseval.benchmark.tau2.review.policy.confirming import (
    explicit_yes,
    no_text_beside_a_call,
    nothing_after_a_transfer,
    one_call_at_a_time,
    transfer_is_announced,
)
from maseval.benchmark.tau2.review.policy.rules import (
    Answer,
    Broken,
    CannotTell,
    Policy,
    rules_in,
)
from maseval.benchmark.tau2.review.talk import CallMoment, Utterance
from maseval.benchmark.tau2.review.values import has_spoken_numbers, is_said, stands_in
from maseval.benchmark.tau2.world.state.records import Table

REASONS = ("no longer needed", "ordered by mistake")
FINDING = ("find_user_id_by_email", "find_user_id_by_name_zip")
_READ_ORDER, _READ_USER = "get_order_details", "get_user_details"
_PROFILE, _ORDERS = (_READ_USER, USER_ADDRESS), (_READ_ORDER, *OF_ORDERS)
ON_PAYMENT = "Modify payment, Modify items, Return, Exchange: on payment"
ADDRESSES = (MODIFY_ADDRESS, USER_ADDRESS)
_REPLACED = "Modify items: 2nd paragraph; Exchange delivered order: 2nd paragraph"


class RetailCall(CallMoment):
    """A call of the shop's agent, with the records that it is about."""

    @cached_property
    def order(self) -> Order | None:
        try:
            order: Order = self.tools.get_order_details(self.arguments.get("order_id"))
        except (ValueError, TypeError):
            return None
        return order

    @cached_property
    def owner(self) -> User | None:
        user_id = self.order.user_id if self.order else self.arguments.get("user_id")
        users = self.tools.db.users
        return users.view(user_id) if isinstance(user_id, str) and user_id in users else None

    @property
    def method(self) -> PaymentMethod | None:
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
        value = self.arguments.get(name)
        return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []

    @cached_property
    def ordered(self) -> dict[str, OrderItem]:
        return {item.item_id: item for item in self.order.items} if self.order else {}

    @cached_property
    def items(self) -> list[OrderItem]:
        """The items of the order that the call lists, each as often as it is listed."""
        return [self.ordered[each] for each in self.ids("item_ids") if each in self.ordered]

    def variants(self, item: OrderItem) -> Mapping[str, Variant]:
        products: Table[Product] = self.tools.db.products
        return products.view(item.product_id).variants if item.product_id in products else {}

    @cached_property
    def pairs(self) -> list[tuple[OrderItem, str]]:
        """The items of the order, each with the id of what is to come in its place."""
        # Lists of different lengths break a rule of their own, ``items.pairs``.
        both = zip(self.ids("item_ids"), self.ids("new_item_ids"), strict=False)
        return [(self.ordered[old], new) for old, new in both if old in self.ordered]

    @cached_property
    def replacements(self) -> list[tuple[OrderItem, Variant]]:
        """The pairs that are an item of the order and a variant of its product."""
        found = ((item, self.variants(item).get(new)) for item, new in self.pairs)
        return [(item, variant) for item, variant in found if variant is not None]

    @cached_property
    def booked(self) -> float | None:
        """The amount the call takes from the customer; negative if it gives back."""
        listed = self.arguments.get("item_ids")
        found: Sized = self.replacements if self.tool in REPLACING else self.items
        is_whole = isinstance(listed, list) and len(found) == len(listed) > 0
        if self.order is None or (self.tool in OF_ITEMS and not is_whole):
            return None
        if self.tool in REPLACING:
            # Rounding keeps a float error from failing a balance that is just enough.
            return round(sum(new.price - old.price for old, new in self.replacements), 2)
        if self.tool == RETURN:
            return -round(sum(item.price for item in self.items), 2)
        signs = {"payment": 1, "refund": -1}
        entries = self.order.payment_history
        paid = round(sum(signs[each.transaction_type] * each.amount for each in entries), 2)
        return {CANCEL: -paid, MODIFY_PAYMENT: paid}.get(self.tool)

    @cached_property
    def known(self) -> str:
        answers = (made.answer for made in self.calls_read if not made.failed)
        return "\n".join([self.user_said, *answers])

    @cached_property
    def found_users(self) -> list[str]:
        made = (each for each in self.calls_read if each.call["name"] in FINDING)
        return list(dict.fromkeys(each.answer.strip() for each in made if not each.failed))

    @cached_property
    def helped_user(self) -> str | None:
        """The first of those found whose records were used; the last one if none was yet."""
        found, orders = self.found_users, self.tools.db.orders
        # Only a second customer makes it necessary to ask which of them is being helped.
        for made in self.calls_read if len(found) > 1 else ():
            arguments, order_id = made.call["arguments"], made.call["arguments"].get("order_id")
            is_order = made.call["name"] in _ORDERS and isinstance(order_id, str)
            user_id = arguments.get("user_id") if made.call["name"] in _PROFILE else None
            if is_order and order_id in orders:
                user_id = orders.view(order_id).user_id
            if user_id in found and not made.failed:
                return str(user_id)
        return found[-1] if found else None

    @property
    def report(self) -> Utterance | None:
        """The agent's first text after the call, unless the customer speaks before it."""
        at = self.message_index
        report = next((said for said in self.talk.agent if said.message_index > at), None)
        end = report.message_index if report else at
        return None if any(at < each.message_index < end for each in self.talk.user) else report


retail = Policy("retail", RetailCall)

_STATUS = dict.fromkeys((CANCEL, MODIFY_ITEMS, MODIFY_ADDRESS, MODIFY_PAYMENT), "pending")
_STATUS |= dict.fromkeys((RETURN, EXCHANGE), "delivered")


def _has_status(call: RetailCall) -> Iterator[Answer]:
    """A pending order is cancelled or modified, a delivered one returned or exchanged."""
    order, status = call.order, _STATUS[call.tool]
    if order is not None and order.status != status:
        yield Broken(f"order {order.order_id} is {order.status!r} and not {status!r}")


_STATUS_RULES = (
    ("cancel.status", "Cancel pending order: 1st paragraph", CANCEL),
    (
        "modify.status",
        "Modify pending order: 1st paragraph; Modify items: 1st paragraph",
        MODIFY_ITEMS,
        MODIFY_ADDRESS,
        MODIFY_PAYMENT,
    ),
    ("return.status", "Return delivered order: 1st paragraph", RETURN),
    ("exchange.status", "Exchange delivered order: 1st paragraph", EXCHANGE),
)
_TO_CANCEL, _TO_MODIFY, _TO_RETURN, _TO_EXCHANGE = (
    retail.state(*each)(_has_status) for each in _STATUS_RULES
)


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
    changed = [each for each in call.earlier_calls if each.call["name"] in REPLACING]
    if any(one.call["arguments"].get("order_id") == order_id and not one.failed for one in changed):
        yield Broken(f"the items of order {order_id} were already changed")


@retail.state("items.ordered", "Modify items, Return and Exchange delivered order", *OF_ITEMS)
def items_are_ordered(call: RetailCall) -> Iterator[Answer]:
    """Only items of the order are changed or returned, and each as often as it was ordered."""
    listed = call.ids("item_ids")
    if call.order is None:
        return
    excess = Counter(listed) - Counter(item.item_id for item in call.order.items)
    if excess:
        text = ", ".join(sorted(excess.elements()))
        yield Broken(f"{text} is not in order {call.order.order_id}, or not so often")
    if not listed:
        yield Broken(f"order {call.order.order_id} would be changed without any item")


@retail.state("items.pairs", _REPLACED, *REPLACING)
def every_item_is_replaced(call: RetailCall) -> Iterator[Answer]:
    """Each item gets one new item in its place: none is removed, none is added."""
    old, new = call.ids("item_ids"), call.ids("new_item_ids")
    if len(old) != len(new):
        yield Broken(f"{len(old)} items are replaced by {len(new)}")


@retail.state("items.product", _REPLACED, *REPLACING)
def product_stays(call: RetailCall) -> Iterator[Answer]:
    """The new item is of the same product as the old one."""
    for item, new in call.pairs:
        if new not in call.variants(item):
            yield Broken(f"{new} is no {item.name}")


@retail.state("items.option", _REPLACED, *REPLACING)
def option_differs(call: RetailCall) -> Iterator[Answer]:
    """The new item is another option of the product, and not the old item again."""
    for item, variant in call.replacements:
        if item.item_id == variant.item_id:
            yield Broken(f"{item.name} {item.item_id} would be replaced by itself")


@retail.state("items.available", _REPLACED, *REPLACING)
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


@retail.state("payment.balance", ON_PAYMENT, *REPLACING, MODIFY_PAYMENT)
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


_EXAMPLE = "1008292230"
# Ids that end in zeros are the examples in our descriptions of the tools.
_NOBODYS = re.compile(r"\D0{5,}$")
_NUMBER = re.compile(r"\d+")
_ADDRESS_PARTS = ("address1", "address2", "city", "zip")
_USES = (_READ_ORDER, _READ_USER, *WRITES)


@retail.protocol("identity.first", "Introduction: 2nd and 3rd paragraph", *_USES)
def identity_comes_first(call: RetailCall) -> Iterator[Answer]:
    """The customer is found by email, or by name and zip code, before any record is used."""
    # Of several uses the first is reported.
    uses = (each for each in call.earlier_calls if each.call["name"] in (*_PROFILE, *_ORDERS))
    if not call.found_users and all(each.failed for each in uses):
        yield Broken(
            "records are used before the customer was found by email, or by name and zip code"
        )


@retail.flow("identity.said", "Introduction: 2nd paragraph", *FINDING)
def customer_said_who(call: RetailCall) -> Iterator[Answer]:
    """The customer is looked up by what the customer said, and by nothing guessed."""
    for name, value in call.arguments.items():
        if not isinstance(value, str) or not value or is_said(value, call.user_said):
            continue
        if _NUMBER.search(value) and has_spoken_numbers(call.user_said):
            yield CannotTell(f"the {name} may have been read out")
        else:
            yield Broken(f"the customer never said the {name} {value!r}")


@retail.flow("identity.one_user", "Introduction: 4th paragraph", _READ_USER, *WRITES)
def only_one_customer(call: RetailCall) -> Iterator[Answer]:
    """Only records of the customer who was identified are used."""
    helped, owner = call.helped_user, call.owner
    if owner is not None and helped is not None and owner.user_id != helped:
        yield Broken(f"the record belongs to {owner.user_id}, and the customer is {helped}")


@retail.protocol("order.read", "All changes of orders: 1st paragraph", *OF_ORDERS)
def status_was_checked(call: RetailCall) -> Iterator[Answer]:
    """The order's status is looked up before the order is changed."""
    order = call.order
    if order is None:
        return
    for made in call.calls_read:
        if made.call["name"] in _ORDERS and not made.failed:
            asked = made.call["arguments"].get("order_id")
            # The sign may be missing, which the lenient tools forgive.
            if isinstance(asked, str) and asked.lstrip("#") == order.order_id.lstrip("#"):
                return
    yield Broken(f"order {order.order_id} was never looked up")


@retail.flow("values.known", "Introduction: 6th paragraph", *WRITES)
def ids_are_known(call: RetailCall) -> Iterator[Answer]:
    """The ids of a call were read, or said by the customer, before."""
    named = [call.arguments.get(name) for name in ("order_id", "payment_method_id", "user_id")]
    for each in (*named, *call.ids("item_ids"), *call.ids("new_item_ids")):
        if not isinstance(each, str) or each.lstrip("#") in call.known:
            continue
        # What stands in the description of a tool as an example was read there.
        if each != _EXAMPLE and not _NOBODYS.search(each):
            yield Broken(f"{each} appears in nothing read or said before")


@retail.flow("address.known", "Introduction: 6th paragraph", *ADDRESSES)
def address_is_known(call: RetailCall) -> Iterator[Answer]:
    """Each part of a new address was said by the customer, or read."""
    for name in _ADDRESS_PARTS:
        value = call.arguments.get(name)
        if not isinstance(value, str) or not value.strip():
            continue
        if is_said(value, call.user_said) or is_said(value, call.known):
            continue
        is_read_apart = all(stands_in(call.known.lower(), word) for word in value.lower().split())
        if has_spoken_numbers(call.user_said) or is_read_apart:
            yield CannotTell(f"{value!r} may have been said in other words")
        else:
            yield Broken(f"{value!r} was neither said nor read")


@retail.form("details.order", "Cancel, Return: 2nd paragraph", CANCEL, RETURN)
def order_was_named(call: RetailCall) -> Iterator[Answer]:
    """The customer is asked to confirm the order by its id, so that one of both has named it."""
    order = call.order
    if order is None:
        return
    said = "\n".join(each.text for each in (*call.user_texts, *call.agent_texts))
    if is_said(order.order_id.lstrip("#"), said):
        return
    if has_spoken_numbers(said):
        yield CannotTell(f"order {order.order_id} may have been read out")
    else:
        yield Broken(f"order {order.order_id} was never named")


@retail.protocol("told.foreign", "Introduction: 4th paragraph", _READ_ORDER)
def strangers_order_is_not_told(call: RetailCall) -> Iterator[Answer]:
    """The agent does not tell one customer what stands in the order of another."""
    order, helped, report = call.order, call.helped_user, call.report
    if order is None or helped is None or report is None or order.user_id == helped:
        return
    facts = [order.address.address1, *(item.name for item in order.items)]
    told = [each for each in facts if each.lower() in report.lower]
    # Nothing is disclosed if the customer has named it before.
    if any(each.lower() not in call.user_said.lower() for each in told):
        yield Broken(
            f"order {order.order_id} of {order.user_id} is disclosed to {helped}",
            message_index=report.message_index,
        )


RULES = (
    *rules_in(globals()),
    explicit_yes("retail", "Introduction: 5th paragraph", WRITES),
    nothing_after_a_transfer("retail", "Introduction: 9th paragraph", WRITES),
    transfer_is_announced("retail", "Introduction: 9th paragraph"),
    one_call_at_a_time("retail", "Introduction: 7th paragraph"),
    no_text_beside_a_call("retail", "Introduction: 7th paragraph"),
)
