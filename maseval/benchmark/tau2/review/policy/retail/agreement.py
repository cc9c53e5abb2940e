"""Rules of the shop about the money of a change: the figure told, and the payment agreed to.

The agent's last text before the customer's reply is the question, and both together are what was
agreed to. Where that leaves something open, earlier texts since the last change count as well.
"""

import re
from collections.abc import Iterable, Iterator

from maseval.benchmark.tau2.domains.retail import (
    CANCEL,
    MODIFY_PAYMENT,
    OF_ITEMS,
    PAYING,
    REPLACING,
    RETURN,
    WRITES,
)
from maseval.benchmark.tau2.domains.retail.models import CreditCard, GiftCard, Order, User
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.absence import found_in, missing
from maseval.benchmark.tau2.review.policy.retail.eligibility import RetailCall, retail
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell
from maseval.benchmark.tau2.review.talk import Utterance
from maseval.benchmark.tau2.review.words import asks, mentions

_BRANDS = {
    "visa": re.compile(r"\bvisa\b"),
    "mastercard": re.compile(r"\b(?:master ?card|mc)\b"),
    "amex": re.compile(r"\bamex\b|\bamerican express\b"),
    "discover": re.compile(r"\bdiscover card\b"),
}
_OF_PAYMENT = (
    *("card", "paypal", "visa", "amex", "express", "pay", "paid", "used", "bought", "same"),
    *("original", "purchased", "existing", " on ", "initial", "mc "),
)
_OF_ORIGINAL = ("origin", "same", "initial", "used", "paid", "bought", "purchased")


def _last_change(call: RetailCall) -> int:
    """Return the message of the last change that was made before, in an earlier message."""
    for made in reversed(call.calls_read):
        if made.call["name"] in WRITES and not made.failed:
            return made.message_index
    return -1


def _figures_told(
    call: RetailCall, said: Utterance, about: re.Pattern[str], *, done: bool = False
) -> list[tuple[str, float]]:
    """Return the amounts that a text says will be moved, or were, each with its sentence.

    Prices and balances are no such amounts.
    """
    if "$" not in said.text:
        return []
    prices = _prices(call)
    return [
        (sentence, float(found[1]))
        for sentence in said.sentences
        if "$" in sentence
        if about.search(sentence) and bool(phrases.RETAIL_REPORTS.search(sentence)) is done
        for found in phrases.AMOUNT.finditer(sentence)
        if float(found[1]) not in prices or phrases.MOVED.search(sentence[: found.start()])
    ]


def _prices(call: RetailCall) -> set[float]:
    """Return the amounts that may stand beside a figure without being one."""
    user, order = call.owner, call.order
    methods = user.payment_methods.values() if user else ()
    known = {method.balance for method in methods if isinstance(method, GiftCard)}
    if order is not None and call.tool in REPLACING:
        known |= {item.price for item in order.items}
        known |= {entry.amount for entry in order.payment_history}
        known |= {pair.variant.price for pair in call.replacements}
    return known


def _parts(call: RetailCall) -> set[float]:
    """Return the amounts of the items of a change that add up to its own."""
    if call.tool in REPLACING:
        return {abs(round(new.price - old.price, 2)) for old, new in call.replacements}
    return {item.price for item in call.items}


@retail.flow(
    "amount.told",
    "Introduction: 5th paragraph; Modify items, Return, Exchange: on payment",
    *OF_ITEMS,
    CANCEL,
    MODIFY_PAYMENT,
    words=True,
)
def figure_is_the_one_told(call: RetailCall) -> Iterator[Answer]:
    """The amount that the customer agreed to is the amount that is booked."""
    booked = call.booked
    question, _ = call.question_and_reply
    if booked is None or question is None or not _is_well_formed(call):
        return
    figures = _figures_told(call, question, _words_about(call))
    if not figures:
        return
    parts = _parts(call)
    right = [(text, told) for text, told in figures if _same_amount(told, abs(booked))]
    told = [amount for _, amount in figures]
    if not right and not all(amount in parts for amount in told):
        said = list(dict.fromkeys(text for text, _ in figures))
        if call.changes_on_this_reply > 1:
            yield CannotTell(f"{_money(told)} was given for several changes at once")
        elif any(map(phrases.SUPPOSED.search, said)):
            yield CannotTell(f"{_money(told)} may depend on something")
        else:
            text = f"{_money(told)} was given, but {abs(booked):.2f} is booked"
            shown = " ".join(map(question.quote, said))
            yield Broken(text, {"said": shown}, question.message_index)
    elif right and all(_wrong_way(text, call, booked) for text, _ in right):
        way = "charged" if booked > 0 else "given back"
        yield Broken(
            f"{abs(booked):.2f} is {way}, but the customer was told the opposite",
            message_index=question.message_index,
        )


@retail.flow(
    "amount.reported", "Introduction: 6th paragraph", *OF_ITEMS, CANCEL, MODIFY_PAYMENT, words=True
)
def figure_reported_is_right(call: RetailCall) -> Iterator[Answer]:
    """The amount that the agent reports after a change is the amount that was booked."""
    booked, report = call.booked, call.report
    if booked is None or call.failed or report is None or not _is_well_formed(call):
        return
    if call.changes_on_this_reply > 1:
        return  # nobody knows whose figure it is, and often a sum is reported
    about = _words_about(call)
    figures = _figures_told(call, report, about, done=True)
    if not report.asks:
        figures += _figures_told(call, report, about)
    told = [amount for _, amount in figures]
    parts = _parts(call)
    if not told or any(_same_amount(each, abs(booked)) or each in parts for each in told):
        return
    yield Broken(
        f"{_money(told)} was reported, and {abs(booked):.2f} was booked",
        message_index=report.message_index,
    )


def _words_about(call: RetailCall) -> re.Pattern[str]:
    return phrases.OF_A_REFUND if call.tool in (CANCEL, RETURN) else phrases.OF_A_CHANGE


def _is_well_formed(call: RetailCall) -> bool:
    listed = call.arguments.get("item_ids")
    if call.tool not in OF_ITEMS:
        return True
    found = call.replacements if call.tool in REPLACING else call.items
    return isinstance(listed, list) and len(found) == len(listed) > 0


def _same_amount(told: float, booked: float) -> bool:
    return abs(told - booked) < 0.006 or (told == int(told) and told == round(booked))


def _wrong_way(text: str, call: RetailCall, booked: float) -> bool:
    """Return True if a text gives back what is taken, or the other way round."""
    if call.tool == MODIFY_PAYMENT:
        return False  # one method gets back what the other pays
    back, taken = bool(phrases.GIVES_BACK.search(text)), bool(phrases.TAKES.search(text))
    return back != taken and (back if booked > 0 else taken) and booked != 0


def _money(amounts: Iterable[float]) -> str:
    return ", ".join(dict.fromkeys(f"{each:.2f}" for each in amounts))


def _methods_named(text: str, user: User, original: list[str]) -> set[str]:
    """Return the ids of the payment methods that a text may mean.

    A kind that the customer does not have stands for itself.
    """
    if not any(word in text for word in _OF_PAYMENT):
        return set()
    if "nstead" in text or "rather" in text or "insted" in text:
        text = phrases.INSTEAD.sub(" ", text)
    named = {each for each in user.payment_methods if each in text}
    if named:
        return named
    for kind, mark in (("gift_card", "gift"), ("paypal", "paypal")):
        if mark in text and (mark == "paypal" or phrases.GIFT_CARD.search(text)):
            own = {each.id for each in user.payment_methods.values() if each.source == kind}
            named |= own or {kind.replace("_", " ")}
    named |= _cards_named(text, user)
    if any(word in text for word in _OF_ORIGINAL) and phrases.ORIGINAL.search(text):
        named |= set(original)
    if not named and phrases.ON_FILE.search(text):
        named |= set(user.payment_methods)
    return named


def _cards_named(text: str, user: User) -> set[str]:
    cards = [each for each in user.payment_methods.values() if isinstance(each, CreditCard)]
    exact = {each.id for each in cards if mentions(text, each.last_four)}
    if exact:
        return exact
    unknown = phrases.ENDING.findall(text)
    if unknown:
        return {f"card ending in {each}" for each in unknown}
    by_brand = {
        each.id
        for each in cards
        if (brand := _BRANDS.get(each.brand.lower())) is not None and brand.search(text)
    }
    if by_brand:
        return by_brand
    without_gifts = phrases.GIFT_CARD.sub(" ", text)
    if phrases.CARD.search(without_gifts):
        return {each.id for each in cards} or (
            {"credit card"} if phrases.CREDIT_CARD.search(without_gifts) else set()
        )
    return set()


@retail.flow(
    "payment.confirmed",
    "Introduction: 5th paragraph; Modify payment, Modify items, Return, Exchange: on payment",
    *PAYING,
    words=True,
)
def payment_is_the_one_agreed(call: RetailCall) -> Iterator[Answer]:
    """The payment method that is used is the one that was agreed to."""
    user, order, method = call.owner, call.order, call.method
    if user is None or order is None or method is None:
        return
    original, changed = call.paid_with[:1], _last_change(call)
    for said in call.texts_backwards:
        if said.message_index < changed:
            return
        named = _methods_named(said.lower, user, original)
        if not named:
            continue
        if method.id in named:
            return
        if call.changes_on_this_reply > 1:
            yield CannotTell(f"{', '.join(sorted(named))} was named for several changes at once")
        elif any(
            phrases.SUPPOSED.search(each) and _methods_named(each, user, original)
            for each in said.sentences
        ):
            yield CannotTell(f"{', '.join(sorted(named))} may depend on something")
        elif not named & set(user.payment_methods) and _question_names(call, user, method.id):
            yield CannotTell(f"{', '.join(sorted(named))} was asked for; the account has none")
        else:
            text = f"{', '.join(sorted(named))} was agreed to, and {method.id} is used"
            yield Broken(text, {"said": said.text})
        return


def _about(order: Order, text: str) -> str:
    """Return a text without the lines about another order alone."""
    own, lines = order.order_id.lstrip("#").lower(), text.splitlines()
    return "\n".join(
        line for line in lines if own in line or not phrases.ORDER_ID.search(line) or asks(line)
    )


def _question_names(call: RetailCall, user: User, method_id: str) -> bool:
    question = call.question_and_reply[0]
    original = call.paid_with[:1]
    return question is not None and method_id in _methods_named(question.lower, user, original)


@retail.protocol(
    "payment.provided", "Modify payment, Modify items, Return, Exchange: on payment", *PAYING
)
def customer_chose_the_payment(call: RetailCall) -> Iterator[Answer]:
    """The customer says, or agrees to, how the money goes, where there is a choice."""
    user, order, method = call.owner, call.order, call.method
    if user is None or order is None or method is None or len(user.payment_methods) < 2:
        return
    original = call.paid_with[:1]
    for said in call.texts_backwards:
        if method.id in _methods_named(_about(order, said.lower), user, original):
            return
    question, _ = call.question_and_reply
    breach = f"nobody named {method.id}, one of {len(user.payment_methods)} payment methods"
    yield missing(breach, found_in(phrases.OF_PAYMENT, question.lower) if question else "")
