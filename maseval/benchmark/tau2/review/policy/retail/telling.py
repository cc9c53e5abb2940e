"""Rules of the shop about what the agent tells: only what a record or the policy has."""

import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from maseval.benchmark.tau2.domains.retail import CANCEL, MODIFY_PAYMENT
from maseval.benchmark.tau2.domains.retail.models import GiftCard
from maseval.benchmark.tau2.formats.message import record_in
from maseval.benchmark.tau2.review.policy.confirming import TRANSFER_TOOL
from maseval.benchmark.tau2.review.policy.retail.agreement import amounts_in, report_of
from maseval.benchmark.tau2.review.policy.retail.eligibility import order_of, owner_of, paid_with
from maseval.benchmark.tau2.review.policy.retail.identity import FINDING, helped_user
from maseval.benchmark.tau2.review.policy.rules import (
    Answer,
    Broken,
    CallMade,
    CallMoment,
    CannotTell,
    Kind,
    Rule,
    Talk,
    Utterance,
    rule,
    talk_rule,
)
from maseval.benchmark.tau2.review.words import refusal, sentences

# All digits in a row: a look behind them would be taken at every letter.
_LONG_NUMBER = re.compile(r"\d\d{6,}")
_OWNED = re.compile(r"(?:gift_card|credit_card|paypal)_$")
_EXAMPLE = re.compile(r"\bexample|\be\.g|\bsuch as|\blike #?W\d|\bformat", re.IGNORECASE)
_SPAN = re.compile(
    r"\b(\d+)(?: ?(?:-|to|\u2013|\u2014|or|and) ?(\d+))? (?:business |working )?"
    r"(?:days?|hours?|weeks?)\b",
    re.IGNORECASE,
)
_MOST_IN_A_SUM = 10
_UNITS = (" day", " hour", " week")
_PRODUCT_TIME = re.compile(r"\bbattery|\blife\b|\bcharg|\bplay", re.IGNORECASE)
_SOON = re.compile(r"\b(?:immediate|instant|right away|at once)", re.IGNORECASE)
_DELIVERY = re.compile(r"\b(?:arriv|deliver|ship)", re.IGNORECASE)
_REFUND = re.compile(r"\brefund|\bcredit|\bmoney", re.IGNORECASE)
_IN_SCOPE = re.compile(r"\b(?:return|exchang|cancel|modif|chang|updat|track|status)", re.IGNORECASE)
_STUCK = re.compile(r'"status": "(?:processed|cancelled|.* requested|pending \(item)')
_BEYOND = re.compile(
    r"\b(?:remove|add |adding|part of|partial|email address|phone|exception|store credit|except"
    r"|adjust|already|just the|only the|swear|angry"
    r"|undo|un-?cancel|reinstat|reactivat|restor|human|person|supervisor|manager|represent"
    r"|transfer|complain|match|coupon|discount|new order|place an|lost|missing|damag|broken"
    r"|warrant|split|delet|password|compensat|stolen|fraud|invoice|legal|job|reorder)",
    re.IGNORECASE,
)
_KNOWN_SPAN = ("5", "7")


@talk_rule(
    "retail.told.ids", Kind.DATA_FLOW, place="Introduction: 6th paragraph", reads_words=False
)
def ids_told_exist(talk: Talk) -> Iterator[Answer]:
    """The numbers of orders, items, parcels and payments that the agent tells were read or said."""
    seen: set[str] = set()
    for said in talk.agent:
        told = [each for each in _ids_in(said.text) if each not in seen]
        seen.update(told)
        for each in told:
            known = talk.is_known_before(each, said.message_index)
            if not known and not _is_example(each, said.text):
                yield Broken(
                    f"{each} stands in nothing that was read or said before",
                    {"told": each},
                    said.message_index,
                )


def _ids_in(text: str) -> list[str]:
    """Return the ids of orders, payment methods, items and parcels in a text."""
    found = []
    for number in _LONG_NUMBER.finditer(text):
        before, after = text[max(0, number.start() - 12) : number.start()], text[number.end() :][:1]
        if len(number[0]) == 7 and before.endswith("W"):
            found.append(f"W{number[0]}")
        elif len(number[0]) == 7 and (kind := _OWNED.search(before)):
            found.append(f"{kind[0]}{number[0]}")
        elif len(number[0]) in (10, 12) and not before.endswith(("-", ".", "_")) and after != "-":
            found.append(number[0])
    return found


def _is_example(value: str, text: str) -> bool:
    return any(_EXAMPLE.search(each) for each in sentences(text) if value in each)


@talk_rule("retail.told.amount", Kind.DATA_FLOW, place="Introduction: 6th paragraph")
def amounts_told_are_known(talk: Talk) -> Iterator[Answer]:
    """The amounts of money that the agent tells were read or said, or follow from such."""
    for said in talk.agent:
        if "$" not in said.text and "dollar" not in said.text:
            continue
        told = list(dict.fromkeys(amount for _, amount in amounts_in(said.text)))
        unknown = [each for each in told if not _is_read(each, said.message_index, talk)]
        for amount in unknown:
            others = [each for each in told if each != amount]
            if amount in _combine(others) or _follows(amount, said, talk):
                continue
            if _names_many(said, talk):
                yield CannotTell(f"whether {amount:.2f} is the sum of several changes")
            else:
                yield Broken(
                    f"{amount:.2f} follows from nothing that was read or said before",
                    {"told": amount},
                    said.message_index,
                )


def _names_many(said: Utterance, talk: Talk) -> bool:
    """Tell whether a text names three items of an order or more: their changes may add up."""
    text = said.text.lower()
    for made in talk.calls_before(said.message_index):
        items = record_in(made.answer).get("items", ()) if '"items"' in made.answer else ()
        if sum(item["item_id"] in text or item["name"].lower() in text for item in items) > 2:
            return True
    return False


def _is_read(amount: float, at: int, talk: Talk) -> bool:
    forms = (str(amount), f"{amount:.2f}", f"{amount:,.2f}", f"{amount:g}")
    return any(talk.is_known_before(form, at) for form in forms)


def _follows(amount: float, said: Utterance, talk: Talk) -> bool:
    """Tell whether an amount can be worked out from what was read before.

    It may be what a call of the conversation books, the sum of some items of an order, or a
    difference of prices, also added to what was paid or taken from what is on a gift card.
    """
    read = [record_in(made.answer) for made in talk.calls_before(said.message_index)]
    orders = [each for each in read if "items" in each]
    if not orders:
        return True  # nothing to work with: the agent does not speak of this customer's money
    variants = {k: v["price"] for each in read for k, v in each.get("variants", {}).items()}
    items = [item for order in orders for item in order["items"]]
    price_of = variants | {item["item_id"]: item["price"] for item in items}
    if any(abs(_price_change(made, price_of)) == amount for made in talk.calls):
        return True
    prices = {each.get("product_id"): _prices_in(each) for each in read if "variants" in each}
    changes = [
        {round(price - item["price"], 2) for price in prices.get(item["product_id"], ())}
        for item in items
    ]
    moved = {each for some in changes for each in some}
    moved |= {each for order in orders for each in _combine(_prices_in(order))}
    if amount in moved or -amount in moved or amount in map(abs, _sums_of_two(changes)):
        return True
    paid = {entry["amount"] for order in orders for entry in order["payment_history"]}
    held = paid | {each for record in read for each in _balances(record)}
    return any(
        round(abs(one + sign * other), 2) == amount
        for one in held
        for other in moved | paid
        for sign in (1, -1)
    )


def _prices_in(record: Mapping[str, Any]) -> list[float]:
    found = record.get("items") or record.get("variants", {}).values()
    return [each["price"] for each in found]


def _balances(record: Mapping[str, Any]) -> list[float]:
    methods = record.get("payment_methods", {}).values()
    return [each["balance"] for each in methods if "balance" in each]


def _price_change(made: CallMade, price_of: Mapping[str, float]) -> float:
    """Return by how much the new items of a call cost more than the old ones, as far as known."""
    sums = []
    for name in ("new_item_ids", "item_ids"):
        listed = made.call["arguments"].get(name)
        known = listed if isinstance(listed, list) else []
        sums.append(sum(price_of.get(each, 0) for each in known if isinstance(each, str)))
    return round(sums[0] - sums[1], 2)


def _sums_of_two(changes: list[set[float]]) -> set[float]:
    pairs = combinations(changes, 2)
    return {round(one + other, 2) for some, others in pairs for one in some for other in others}


def _combine(amounts: list[float]) -> set[float]:
    """Return the sums of some amounts, and the differences of two."""
    few = amounts[:_MOST_IN_A_SUM]
    sums = {round(sum(some), 2) for n in range(1, len(few) + 1) for some in combinations(few, n)}
    return sums | {round(abs(one - other), 2) for one, other in combinations(amounts, 2)}


@talk_rule("retail.told.time", Kind.PROTOCOL, place="Introduction: 6th paragraph")
def times_told_are_known(talk: Talk) -> Iterator[Answer]:
    """The agent tells no other time than the policy has: five to seven days for a refund."""
    for said in talk.agent:
        if not any(unit in said.text for unit in _UNITS) or not _SPAN.search(said.text):
            continue
        for sentence in sentences(said.text):
            for found in _SPAN.finditer(sentence):
                right = found.groups() == _KNOWN_SPAN and not _of_a_delivery(sentence)
                if not right and not _is_known(sentence, found, said, talk):
                    yield Broken(
                        f"neither the policy nor a record gives the time {found[0]!r}",
                        {"told": sentence},
                        said.message_index,
                    )


def _of_a_delivery(sentence: str) -> bool:
    return _DELIVERY.search(sentence) is not None and _REFUND.search(sentence) is None


def _is_known(sentence: str, found: re.Match[str], said: Utterance, talk: Talk) -> bool:
    """Tell whether a time is that of a product, or was said by the customer or read."""
    if _PRODUCT_TIME.search(sentence):
        return True
    times = (found[0], f"{found[1]} hours")
    return any(talk.is_known_before(each, said.message_index) for each in times)


@rule(
    "retail.refund.time",
    Kind.PROTOCOL,
    place="Cancel pending order: 3rd paragraph; Modify payment: 3rd paragraph",
    tools=(CANCEL, MODIFY_PAYMENT),
)
def refund_time_is_right(moment: CallMoment) -> Iterator[Answer]:
    """A refund is told to be immediate on a gift card, and in five to seven days otherwise."""
    user, order = owner_of(moment), order_of(moment)
    if user is None or order is None or not paid_with(order):
        return
    method = user.payment_methods.get(paid_with(order)[0])
    question, _ = moment.question_and_reply
    report = report_of(moment)
    if method is None or _calls_beside(moment) > 1:
        return
    for said in filter(None, (question, report)):
        for sentence in sentences(said.text):
            if not _REFUND.search(sentence):
                continue
            late = _SPAN.search(sentence) is not None and _SOON.search(sentence) is None
            soon = _SOON.search(sentence) is not None and _SPAN.search(sentence) is None
            if late if isinstance(method, GiftCard) else soon:
                yield Broken(
                    f"the refund goes to {method.id}, and another time was told",
                    {"told": sentence, "payment": method.id},
                    said.message_index,
                )
                return


def _calls_beside(moment: CallMoment) -> int:
    """Count the calls of the same message: then it is open to which of them a text belongs."""
    return sum(made.message_index == moment.message_index for made in moment.talk.calls)


@rule(
    "retail.told.foreign",
    Kind.PROTOCOL,
    place="Introduction: 4th paragraph",
    tools=("get_order_details",),
)
def strangers_order_is_not_told(moment: CallMoment) -> Iterator[Answer]:
    """The agent does not tell one customer about the order of another."""
    order, helped = order_of(moment), helped_user(moment)
    if order is None or helped is None or order.user_id == helped:
        return
    report = report_of(moment)
    if report is None or refusal(report.text):
        return
    named = [item.name for item in order.items if item.name.lower() in report.text.lower()]
    if named or order.address.address1 in report.text:
        yield Broken(
            f"order {order.order_id} of {order.user_id} is told to {helped}",
            {"order": order.order_id, "told": named},
            report.message_index,
        )


@rule(
    "retail.transfer.scope",
    Kind.PROTOCOL,
    place="Introduction: 9th paragraph",
    tools=(TRANSFER_TOOL,),
)
def transfer_is_needed(moment: CallMoment) -> Iterator[Answer]:
    """The customer is handed over only with a request that the agent cannot handle.

    A refusal, or a call that a tool refused, shows that there was one.
    """
    at, talk = moment.message_index, moment.talk
    earlier = talk.calls_before(at)
    refused = any(made.failed and made.call["name"] not in FINDING for made in earlier)
    if refused or any(refusal(said.text) for said in talk.agent_before(at)):
        return
    stuck = any(_STUCK.search(m.answer) for m in earlier if m.call["name"] == "get_order_details")
    told = moment.user_said
    if not stuck and _IN_SCOPE.search(told) and not _BEYOND.search(told):
        yield Broken("the customer is handed over with a request that the agent can handle")
    else:
        yield CannotTell("whether the agent could have handled the request")


TELLING: tuple[Rule, ...] = (
    *(ids_told_exist, amounts_told_are_known, times_told_are_known, refund_time_is_right),
    *(strangers_order_is_not_told, transfer_is_needed),
)
