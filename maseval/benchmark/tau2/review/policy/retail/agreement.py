"""Rules of the shop about the money of a change: the figure told, and the payment agreed to.

The agent's last text before the customer's reply is the question, and both together are what was
agreed to. Where that leaves something open, earlier texts since the last change count as well.
"""

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
from maseval.benchmark.tau2.domains.retail.models import GiftCard, Order
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.absence import found_in, missing
from maseval.benchmark.tau2.review.policy.retail.eligibility import (
    BEFORE_A_YES,
    ON_PAYMENT,
    RetailCall,
    retail,
)
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell
from maseval.benchmark.tau2.review.talk import Utterance
from maseval.benchmark.tau2.review.words import asks


def _figures_told(
    call: RetailCall, said: Utterance, *, done: bool = False
) -> list[tuple[str, float]]:
    """Return the amounts that a text says will be moved, or were, each with its sentence.

    Prices and balances are no such amounts.
    """
    if "$" not in said.text:
        return []
    about = phrases.OF_A_REFUND if call.tool in (CANCEL, RETURN) else phrases.OF_A_CHANGE
    prices = _prices(call)
    answered = None if done else call.talk.amount_answered(said)
    if answered is not None and answered not in prices:
        return [(said.sentences[0], answered)]
    return [
        (sentence, float(found[1]))
        for sentence in said.sentences
        if "$" in sentence
        if about.search(sentence) and bool(phrases.REPORTS_DONE.search(sentence)) is done
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
        known |= {variant.price for _, variant in call.replacements}
    return known


def _parts(call: RetailCall) -> set[float]:
    """Return the amounts of the items of a change that add up to its own."""
    if call.tool in REPLACING:
        return {abs(round(new.price - old.price, 2)) for old, new in call.replacements}
    return {item.price for item in call.items}


_MOVING = (*OF_ITEMS, CANCEL, MODIFY_PAYMENT)


@retail.spoken_flow("amount.told", f"{BEFORE_A_YES}; {ON_PAYMENT}", *_MOVING)
def figure_is_the_one_told(call: RetailCall) -> Iterator[Answer]:
    """The amount that the customer agreed to is the amount that is booked."""
    booked = call.booked
    question, _ = call.question_and_reply
    if booked is None or question is None:
        return
    figures, parts = _figures_told(call, question), _parts(call)
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
        yield Broken(_say_opposite(booked), message_index=question.message_index)


@retail.spoken_flow("amount.reported", "Introduction: 6th paragraph", *_MOVING)
def figure_reported_is_right(call: RetailCall) -> Iterator[Answer]:
    """The amount that the agent reports after a change is the amount that was booked."""
    booked, report = call.booked, call.report
    if booked is None or call.failed or report is None:
        return
    if call.changes_on_this_reply > 1:
        return  # nobody knows whose figure it is, and often a sum is reported
    figures = _figures_told(call, report, done=True)
    if not report.asks:
        figures += _figures_told(call, report)
    told, parts = [amount for _, amount in figures], _parts(call)
    if told and not any(_same_amount(each, abs(booked)) or each in parts for each in told):
        text = f"{_money(told)} was reported, and {abs(booked):.2f} was booked"
        yield Broken(text, message_index=report.message_index)
    elif told and all(_wrong_way(text, call, booked) for text, _ in figures):
        yield Broken(_say_opposite(booked), message_index=report.message_index)


def _same_amount(told: float, booked: float) -> bool:
    return abs(told - booked) < 0.006 or (told == int(told) and told == round(booked))


def _wrong_way(text: str, call: RetailCall, booked: float) -> bool:
    """Return True if a text gives back what is taken, or the other way round."""
    if call.tool == MODIFY_PAYMENT:
        return False  # one method gets back what the other pays
    back, taken = bool(phrases.GIVES_BACK.search(text)), bool(phrases.TAKES.search(text))
    return back != taken and (back if booked > 0 else taken) and booked != 0


def _say_opposite(booked: float) -> str:
    """Say that what was told is the other way round."""
    way = "charged" if booked > 0 else "given back"
    return f"{abs(booked):.2f} is {way}, but the customer was told the opposite"


def _money(amounts: Iterable[float]) -> str:
    return ", ".join(dict.fromkeys(f"{each:.2f}" for each in amounts))


@retail.spoken_flow("payment.confirmed", f"{BEFORE_A_YES}; {ON_PAYMENT}", *PAYING)
def payment_is_the_one_agreed(call: RetailCall) -> Iterator[Answer]:
    """The payment method that is used is the one that was agreed to."""
    user, order, method = call.owner, call.order, call.method
    if user is None or order is None or method is None:
        return
    changes = (m for m in call.calls_read if m.call["name"] in WRITES and not m.failed)
    changed = max((each.message_index for each in changes), default=-1)
    for said in call.texts_backwards:
        if said.message_index < changed:
            return
        named = call.methods_in(said.lower)
        if not named:
            continue
        if method.id in named:
            return
        question, agreed = call.question_and_reply[0], ", ".join(sorted(named))
        if call.changes_on_this_reply > 1:
            yield CannotTell(f"{agreed} was named for several changes at once")
        elif any(phrases.SUPPOSED.search(s) and call.methods_in(s) for s in said.sentences):
            yield CannotTell(f"{agreed} may depend on something")
        elif (
            named.isdisjoint(user.payment_methods)
            and question is not None
            and method.id in call.methods_in(question.lower)
        ):
            yield CannotTell(f"{agreed} was asked for; the account has none")
        else:
            yield Broken(f"{agreed} was agreed to, and {method.id} is used", {"said": said.text})
        return


def _about(order: Order, text: str) -> str:
    """Return a text without the lines about another order alone."""
    own, lines = order.order_id.lstrip("#").lower(), text.splitlines()
    return "\n".join(
        line for line in lines if own in line or not phrases.ORDER_ID.search(line) or asks(line)
    )


@retail.protocol("payment.provided", ON_PAYMENT, *PAYING)
def customer_chose_the_payment(call: RetailCall) -> Iterator[Answer]:
    """The customer says, or agrees to, how the money goes."""
    user, order, method = call.owner, call.order, call.method
    if user is None or order is None or method is None:
        return
    if any(method.id in call.methods_in(_about(order, s.lower)) for s in call.texts_backwards):
        return
    question, _ = call.question_and_reply
    count = len(user.payment_methods)
    which = f"one of {count} payment methods" if count > 1 else "the account's one payment method"
    breach = f"nobody named {method.id}, {which}"
    yield missing(breach, found_in(phrases.OF_PAYMENT, question.lower) if question else "")
