"""Rules about adding data to a line: needed or asked for, within the limit, at the price named.

The records that a call is about, for these and other rules, are found here, or are None, whatever
the arguments are.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from maseval.benchmark.tau2.domains.telecom.models import (
    Bill,
    BillStatus,
    Customer,
    Line,
    LineStatus,
    Plan,
)
from maseval.benchmark.tau2.domains.telecom.tools import TODAY
from maseval.benchmark.tau2.domains.telecom.user_models import TelecomUserDB
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.confirming import declines
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell, policy_of
from maseval.benchmark.tau2.review.replies import agrees
from maseval.benchmark.tau2.review.talk import CallMoment
from maseval.benchmark.tau2.review.words import sentences

telecom = policy_of("telecom")
Row = TypeVar("Row", Bill, Customer, Line, Plan)
UNPAID = (BillStatus.OVERDUE, BillStatus.AWAITING_PAYMENT)


def _find(rows: Iterable[Row], field: str, wanted: object) -> Row | None:
    return next((each for each in rows if getattr(each, field) == wanted), None)


def customer_of(moment: CallMoment) -> Customer | None:
    """Return the customer whom a call names."""
    rows: list[Customer] = moment.tools.db.customers
    return _find(rows, "customer_id", moment.arguments.get("customer_id"))


def line_of(moment: CallMoment) -> Line | None:
    """Return the line that a call names, whosoever it is."""
    rows: list[Line] = moment.tools.db.lines
    return _find(rows, "line_id", moment.arguments.get("line_id"))


def bill_of(moment: CallMoment) -> Bill | None:
    """Return the bill that a call names, whosoever it is."""
    rows: list[Bill] = moment.tools.db.bills
    return _find(rows, "bill_id", moment.arguments.get("bill_id"))


def plan_of(moment: CallMoment, line: Line) -> Plan | None:
    """Return the plan of a line."""
    rows: list[Plan] = moment.tools.db.plans
    return _find(rows, "plan_id", line.plan_id)


def unpaid_bills(moment: CallMoment, customer: Customer) -> list[Bill]:
    """Return a customer's bills that are overdue, also those for which payment was asked."""
    bills = moment.tools.db.bills
    return [each for each in bills if each.bill_id in customer.bill_ids and each.status in UNPAID]


def phone_of(moment: CallMoment) -> TelecomUserDB | None:
    """Return the customer's side of the world."""
    db = getattr(moment.user_tools, "db", None)
    return db if isinstance(db, TelecomUserDB) else None


def has_ended(line: Line) -> bool:
    return line.contract_end_date is not None and line.contract_end_date < TODAY


def is_cut_off(line: Line) -> bool:
    """Return True if a line is suspended and no agent may resume it."""
    return line.status == LineStatus.SUSPENDED and has_ended(line)


def amount_of(moment: CallMoment) -> float | None:
    """Return the GB of a call, if they are a number."""
    value = moment.arguments.get("gb_amount")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


_REFUELING = "Data Refueling"
MOST_GB = 2.0
_MOST_NAMED = 5.0
_NUMERALS = {
    **{
        "a": 1.0,
        "half": 0.5,
        "single": 1.0,
        "one": 1.0,
        "two": 2.0,
        "three": 3.0,
        "four": 4.0,
        "five": 5.0,
    },
    **{"six": 6.0, "eight": 8.0, "ten": 10.0, "twelve": 12.0},
}


@telecom.state("refuel.most", f"{_REFUELING}: the most that may be added", "refuel_data")
def check_data_limit(moment: CallMoment) -> Iterator[Answer]:
    """At most 2 GB are added to a line."""
    amount, line = amount_of(moment), line_of(moment)
    before = 0.0 if line is None else line.data_refueling_gb
    if amount is not None and amount > 0 and amount + before > MOST_GB + 1e-9:
        already = f" to {before:g} GB added before" if before else ""
        yield Broken(f"{amount:g} GB are added{already}, but only {MOST_GB:g} GB are allowed")


@telecom.state(
    "refuel.need",
    f"{_REFUELING}: 2nd sentence; Data Plan Limits Reached",
    "refuel_data",
    hears=True,
)
def check_data_need(moment: CallMoment) -> Iterator[Answer]:
    """Data is added where the plan's limit was reached, or the user asks for it unprompted."""
    line = line_of(moment)
    plan = None if line is None else plan_of(moment, line)
    if line is None or plan is None:
        return
    limit = plan.data_limit_gb + line.data_refueling_gb
    if line.data_used_gb >= limit or asks_for_data_first(moment):
        return
    text = f"line {line.line_id} has used {line.data_used_gb:g} of {limit:g} GB"
    if moment.ticket is None and not moment.talk.is_english:
        yield CannotTell(f"{text}; unclear if the user asked for more (not in English)")
        return
    yield Broken(text)


@telecom.state("refuel.permitted", f"{_REFUELING} (solo): 1st step", "refuel_data")
def check_data_permission(moment: CallMoment) -> Iterator[Answer]:
    """An agent that works alone adds the data that the ticket names."""
    amount = amount_of(moment)
    if moment.ticket is None or amount is None:
        return
    named = gigabytes(moment.ticket)
    if amount not in named:
        said = " or ".join(f"{each:g}" for each in named) or "no"
        yield Broken(
            f"{amount:g} GB are added, but the ticket says {said} GB",
            {"said": named},
        )


def gigabytes(text: str) -> list[float]:
    """Return the amounts of data that a text names, without repetition."""
    lower = text.lower()
    found = phrases.GB.findall(text) if "gb" in lower or "gig" in lower else ()
    return list(dict.fromkeys(map(_number, found)))


def _number(word: str) -> float:
    return _NUMERALS.get(word.lower()) or float(word)


def read_price(found: re.Match[str]) -> float:
    """Return the amount of a price that was found in a text."""
    return _number(found[found.lastindex or 0])


def asks_for_data_first(moment: CallMoment) -> bool:
    """Return True if the user spoke of adding data before the agent did."""
    if moment.ticket is not None:
        return False
    said = moment.user_texts
    asked = next((each for each in said if any(map(_asks_for_data, sentences(each.text)))), None)
    if asked is None:
        return False
    return not any(
        phrases.DATA.search(each.text) for each in moment.talk.agent_before(asked.message_index)
    )


def _asks_for_data(sentence: str) -> bool:
    return bool(phrases.DATA.search(sentence)) and not phrases.IF_NEEDED.search(sentence)


@telecom.flow("refuel.amount", "Data Refueling: 1st step", "refuel_data", words=True)
def check_amount(moment: CallMoment) -> Iterator[Answer]:
    """The data added is as much as the user wanted."""
    amount = amount_of(moment)
    if amount is None:
        return
    said = moment.user_texts
    wanted = [(each, named) for each in said if (named := _small(gigabytes(each.text)))]
    if wanted and amount in wanted[-1][1]:
        return
    question, reply = moment.question_and_reply
    offered = [] if question is None else gigabytes(question.text)
    if wanted and (wanted[-1][0] == reply or amount not in offered):
        text = f"the user said {wanted[-1][1][0]:g} GB, and {amount:g} GB are added"
        yield Broken(text, {"said": wanted[-1][1]})
    elif reply is not None and phrases.ALL_OF_IT.search(reply.text):
        return
    elif reply is None or amount not in offered:
        yield Broken(f"{amount:g} GB are added, and no amount was agreed")
    elif not agrees(reply.text):
        yield CannotTell("the reply to the offer names no amount")


def _small(amounts: list[float]) -> list[float]:
    """Leave out what can only be the use or the limit of a plan."""
    return [each for each in amounts if each <= _MOST_NAMED]


@telecom.flow("refuel.price", "Data Refueling: 2nd step", "refuel_data", words=True)
def check_price(moment: CallMoment) -> Iterator[Answer]:
    """The user is told what the data costs before agreeing to it."""
    line, amount = line_of(moment), amount_of(moment)
    plan = None if line is None else plan_of(moment, line)
    replies = moment.user_texts
    if plan is None or amount is None or not replies:
        return
    unit = plan.data_refueling_price_per_gb
    others = [each for each in moment.tools.db.plans if each.plan_id != plan.plan_id]
    told = [
        prices
        for each in moment.talk.agent_before(replies[-1].message_index)
        if phrases.TELECOM_PRICE.search(each.text)
        and (prices := list(_data_prices(each.text, plan, amount, others)))
    ]
    if not told:
        yield Broken(f"no price was given before {amount:g} GB were added")
        return
    wrong = [price for price, is_right in told[-1] if not is_right]
    if wrong:
        text = f"the price given was ${wrong[0]:.2f}, but ${unit * amount:.2f} is charged"
        yield Broken(text, {"said": wrong[0]})


def _data_prices(
    text: str, plan: Plan, amount: float, others: Sequence[Plan]
) -> Iterator[tuple[float, bool]]:
    """Yield the prices of data that a text names, and whether each is right."""
    unit = plan.data_refueling_price_per_gb
    monthly = [each.price_per_month for each in (plan, *others)]
    is_about = False
    for sentence in sentences(text):
        # "Want 2 GB more? 4 bucks."
        is_about = _is_about_data(sentence) or (is_about and len(sentence.split()) < 5)
        if not is_about:
            continue
        is_mixed = any(each.name in sentence for each in others)
        offers = gigabytes(sentence)
        totals = [unit * each for each in (*offers, amount)]
        each_gb = [unit] if phrases.EACH_GB.search(sentence) or not offers else []
        for found in phrases.TELECOM_PRICE.finditer(sentence):
            after = sentence[found.end() : found.end() + 12]
            price = read_price(found)
            if phrases.PER_MONTH.search(after) or (
                price in monthly and phrases.OF_A_PLAN.search(sentence)
            ):
                continue
            right = [unit] if phrases.EACH.search(after) else [*each_gb, *totals]
            is_right = any(abs(price - each) < 0.005 for each in right)
            if is_right or not is_mixed:
                yield price, is_right


def _is_about_data(sentence: str) -> bool:
    """Return True if the prices in a sentence can be those of data, and not of a bill or a plan."""
    if phrases.OF_A_BILL.search(sentence):
        return phrases.DATA.search(sentence) is not None
    if phrases.OF_DATA.search(sentence):
        return True
    return phrases.OF_COST.search(sentence) is not None and not phrases.OF_A_PLAN.search(sentence)


@telecom.protocol("refuel.yes", "Data Refueling: steps", "refuel_data")
def check_wish_for_data(moment: CallMoment) -> Iterator[Answer]:
    """The user wants the data before it is added and charged."""
    replies = [
        (question, reply)
        for question, reply in moment.exchanges()
        if phrases.OF_DATA.search(question.text) or phrases.OF_DATA.search(reply.text)
    ]
    if not replies:
        yield Broken("the user was not asked before data was added")
    elif declines(*replies[0], moment) and not gigabytes(replies[0][1].text):
        yield Broken("the user does not want the data", {"reply": replies[0][1].text})
    elif not any(gigabytes(reply.text) or agrees(reply.text) for _, reply in replies):
        yield CannotTell("the user's reply is neither a yes nor a no")
