"""The bank's policy on credit cards: closing, keeping a customer, limits, replacements, rewards."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from maseval.benchmark.tau2.domains.banking_knowledge.desk import NOW, TODAY, dispute_id
from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.banking_knowledge.inner_calls import (
    BankCall,
    balance_of,
    bank,
    days_since,
    figure,
    kind_of,
    read_date,
    rows_with,
)
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell

CLOSE_CREDIT, LOG_REASON = "close_credit_card_account_7834", "log_credit_card_closure_reason_4521"
STATEMENT_CREDIT, FLAG = "apply_statement_credit_8472", "apply_credit_card_account_flag_6147"
PAY = "pay_credit_card_from_checking_9182"
ASK_LIMIT = "submit_credit_limit_increase_request_7392"
APPROVE, DENY = "approve_credit_limit_increase_5847", "deny_credit_limit_increase_5848"
REPLACE = "order_replacement_credit_card_7291"
REWARDS = "update_transaction_rewards_3847"
CREDIT_CARD_WRITES = (
    *(CLOSE_CREDIT, LOG_REASON, STATEMENT_CREDIT, FLAG, PAY, ASK_LIMIT, APPROVE, DENY),
    *(REPLACE, REWARDS),
)
DISPUTES, ORDERS = "get_user_dispute_history_7291", "get_pending_replacement_orders_5765"
REASONS, LIMITS = "get_closure_reason_history_8293", "get_credit_limit_increase_history_4829"
PAYMENTS = "get_payment_history_6183"

_CLOSING = "Closing credit cards (internal)"
_RETENTION = "Credit card retention (internal)"
_LIMIT = "Credit limit increases (internal)"

CARD_TIERS = {
    **dict.fromkeys(
        (
            *("Bronze Rewards Card", "EcoCard", "Business Bronze Rewards Card"),
            *("Crypto-Cash Back", "Crypto-Cash Back Card"),
        ),
        "entry",
    ),
    **dict.fromkeys(
        (
            *("Silver Rewards Card", "Business Silver Rewards Card", "Green Rewards Card"),
            "Silver Zoom Card",
        ),
        "mid",
    ),
    **dict.fromkeys(("Gold Rewards Card", "Business Gold Rewards Card"), "premium"),
    **dict.fromkeys(("Platinum Rewards Card", "Business Platinum Rewards Card"), "elite"),
    "Diamond Elite Card": "invitation",
}


class _LimitTerms(NamedTuple):
    """The conditions of a higher credit limit in one tier."""

    age: int
    cooldown: int
    utilization: float
    payments: int
    most: float


_TERMS: Mapping[str, _LimitTerms] = {
    "entry": _LimitTerms(120, 120, 0.7, 6, 0.25),
    "mid": _LimitTerms(90, 90, 0.8, 3, 0.5),
    "premium": _LimitTerms(60, 60, 0.9, 3, 0.5),
}
_OFFERS = {"entry": 5, "mid": 20, "premium": 50}
_REPLACEMENTS = {"entry": 2, "mid": 3, "premium": 4}
_OPEN_DISPUTE = ("SUBMITTED", "UNDER_REVIEW", "PENDING", "OPEN", "ACTIVE")
_FINAL_ORDER = ("DELIVERED", "CANCELLED", "CANCELED", "ACTIVATED", "RECEIVED")
_YEAR = 365


def broad_tier(card: Row | None) -> str | None:
    """Return the tier of a credit card where all above premium are one."""
    tier = CARD_TIERS.get(str(card.get("card_type"))) if card else None
    return "premium" if tier in ("elite", "invitation") else tier


def _card(call: BankCall) -> Row | None:
    return call.row("credit_card_accounts", "credit_card_account_id")


def _age(card: Row) -> int | None:
    return days_since(card.get("date_of_account_open"))


def _debt_of(card: Row) -> float:
    return figure(card.get("current_balance")) or 0.0


def _open_orders(call: BankCall) -> list[Row]:
    orders = _of_card(call, "credit_card_orders")
    return [each for each in orders if str(each.get("status")).upper() not in _FINAL_ORDER]


def _open_disputes(call: BankCall, card: Row) -> list[Row]:
    """Return the customer's disputes that are not decided, as far as they may be about a card."""
    digits = card.get("card_last_4_digits")
    disputes = rows_with(call.db, "transaction_disputes", "user_id", card.get("user_id"))
    return [
        each
        for each in disputes
        if str(each.get("status")).upper() in _OPEN_DISPUTE and _is_about(call, each, card, digits)
    ]


def _is_about(call: BankCall, dispute: Row, card: Row, digits: object) -> bool:
    bookings = call.db.credit_card_transaction_history
    booking = dispute.get("transaction_id")
    if booking in bookings:
        paid: Row = bookings.view(str(booking))
        named = paid.get("credit_card_account_id")
        if named:
            return bool(named == card.get("account_id"))
        return bool(paid.get("credit_card_type") == card.get("card_type"))
    return digits is None or dispute.get("card_last_4_digits") == digits


@bank.state("cc_close.eligible", f"{_CLOSING}; {_RETENTION}: step 1", CLOSE_CREDIT, LOG_REASON)
def check_closing_card(call: BankCall) -> Iterator[Answer]:
    """A card is closed after 60 days, paid off, without dispute or replacement under way.

    A customer is held back only from a closing that could be made.
    """
    card = _card(call)
    if card is None:
        return
    for dispute in _open_disputes(call, card):
        yield Broken(f"dispute {dispute.get('dispute_id')} is not decided yet")
    for order in _open_orders(call):
        yield Broken(f"replacement order {order.get('order_id')} is {order.get('status')}")
    age = _age(card)
    if age is not None and age < 60:
        yield Broken(f"the account is {age} days old")
    if _debt_of(card):
        yield Broken(f"the balance is ${_debt_of(card):.2f}")


def _of_card(call: BankCall, table: str) -> list[Row]:
    card = call.arguments.get("credit_card_account_id")
    return rows_with(call.db, table, "credit_card_account_id", card)


def _reasons(call: BankCall) -> list[Row]:
    """Return the reasons for closing a card that were logged within a year."""
    ages = (
        (each, days_since(each.get("logged_at")))
        for each in _of_card(call, "credit_card_closure_reasons")
    )
    return [each for each, age in ages if age is not None and age <= _YEAR]


@bank.state(
    "retention.steps",
    f"{_RETENTION}: steps 2 to 5",
    CLOSE_CREDIT,
    LOG_REASON,
    STATEMENT_CREDIT,
    FLAG,
)
def check_retention(call: BankCall) -> Iterator[Answer]:
    """The reason is logged before an offer or the closing, the offer is the tier's, and once."""
    logged, reason = _reasons(call), call.text("reason")
    if call.name == CLOSE_CREDIT:
        if not logged:
            yield Broken("no reason for closing was logged within a year")
        return
    if call.name != LOG_REASON and reason not in ("retention_offer", "loyalty_benefit"):
        return
    earlier = [each for each in logged if each.get("logged_at") != TODAY]
    if earlier:
        yield Broken(f"a reason for closing was logged on {earlier[0].get('logged_at')}")
    if call.name != LOG_REASON and not logged:
        yield Broken("no reason for closing was logged before the offer")
    due, amount = _OFFERS.get(broad_tier(_card(call)) or ""), call.figure("amount")
    offered = call.name == STATEMENT_CREDIT and reason == "retention_offer"
    if offered and None not in (due, amount) and amount != due:
        yield Broken(f"the offer for this card is ${due}, and ${amount:g} are credited")


@bank.state("waiver.terms", f"{_RETENTION}: step 4", FLAG)
def check_waiver(call: BankCall) -> Iterator[Answer]:
    """An annual fee is waived for one year, to who has been a customer for two."""
    card = _card(call)
    if call.text("flag_type") != "annual_fee_waived" or card is None:
        return
    ends = read_date(call.arguments.get("expiration_date"))
    if ends is None or ends.date() != NOW.date().replace(year=NOW.year + 1):
        given = call.arguments.get("expiration_date")
        yield Broken(f"the waiver ends on {given}, not after a year")
    if call.text("reason") != "loyalty_benefit":
        yield Broken("the waiver is not marked as a loyalty benefit")
    user = card.get("user_id")
    opened = [
        *(_age(each) for each in rows_with(call.db, "credit_card_accounts", "user_id", user)),
        *(
            days_since(each.get("date_opened"))
            for each in rows_with(call.db, "accounts", "user_id", user)
        ),
    ]
    oldest = max((age for age in opened if age is not None), default=None)
    if oldest is not None and oldest < 2 * _YEAR:
        yield Broken(f"the customer has been with the bank for only {oldest} days")


@bank.state("cc_pay.amount", "Paying a card from checking", PAY)
def check_payment(call: BankCall) -> Iterator[Answer]:
    """A payment exceeds neither what the checking account holds nor what the card owes."""
    account, card = call.row("accounts", "checking_account_id"), _card(call)
    amount = call.figure("amount")
    if amount is None:
        return
    if account is not None and kind_of(account) != "checking":
        yield Broken(f"this is a {kind_of(account)} account")
    if account is not None and amount > balance_of(account):
        yield Broken(f"${amount:.2f} are paid, and ${balance_of(account):.2f} are held")
    if card is not None and amount > _debt_of(card):
        yield Broken(f"${amount:.2f} are paid, and ${_debt_of(card):.2f} are owed")
    if amount <= 0:
        yield Broken(f"the amount {amount:g} is not positive")


def _obstacles(call: BankCall, card: Row, terms: _LimitTerms) -> dict[str, str]:
    """Return what keeps a limit from being raised, by the reason that a denial would give."""
    found, age, limit = {}, _age(card), figure(card.get("credit_limit"))
    if age is not None and age < terms.age:
        found["insufficient_account_age"] = f"the account is {age} days old"
    for request in _of_card(call, "credit_limit_increase_requests"):
        if str(request.get("status")).upper() != "APPROVED":
            continue
        days = days_since(request.get("submitted_date") or request.get("submitted_at"))
        if days is not None and days < terms.cooldown:
            found["cooldown_period_active"] = f"a request was approved {days} days ago"
    if _open_disputes(call, card):
        found["pending_disputes"] = "a dispute is not decided yet"
    if _open_orders(call):
        found["pending_replacement_card"] = "a replacement is under way"
    if figure(card.get("past_due_amount")):
        found["past_due_balance"] = f"{card.get('past_due_amount')} are past due"
    if limit and _debt_of(card) / limit >= terms.utilization:
        share = 100 * _debt_of(card) / limit
        found["high_utilization"] = f"{share:.0f} % of the limit are used"
    on_time = _payments_on_time(call, terms.payments)
    if on_time is not None and on_time < terms.payments:
        found["insufficient_payment_history"] = f"{on_time} payments in a row were on time"
    return found


def _payments_on_time(call: BankCall, months: int) -> int | None:
    payments = _of_card(call, "payment_history")
    dated = [(read_date(each.get("payment_date")), each) for each in payments]
    if any(date is None for date, _ in dated):
        return None
    latest = sorted(dated, key=lambda each: each[0] or NOW, reverse=True)[:months]
    late = (n for n, (_, each) in enumerate(latest) if each.get("status") != "ON_TIME")
    return next(late, len(latest))


@bank.state("cli.allowed", f"{_LIMIT}: steps 0 to 4", ASK_LIMIT, APPROVE, DENY)
def check_increase(call: BankCall) -> Iterator[Answer]:
    """A higher limit is requested, within what the tier allows, and then decided by the records."""
    card, terms = _card(call), _TERMS.get(broad_tier(_card(call)) or "")
    limit = figure(card.get("credit_limit")) if card else None
    asked, new = call.figure("requested_increase_amount"), call.figure("new_credit_limit")
    more = asked if new is None or limit is None else new - limit
    if terms is not None and limit is not None and more is not None and more > terms.most * limit:
        yield Broken(f"${more:g} are more than {100 * terms.most:g} % of ${limit:g}")
    if call.name == ASK_LIMIT:
        return
    requests = _of_card(call, "credit_limit_increase_requests")
    today = [each for each in requests if each.get("submitted_at") == TODAY]
    wanted = [figure(each.get("requested_increase_amount")) for each in today]
    if not today:
        yield Broken("no request was submitted before the decision")
    elif call.name == APPROVE and more is not None and more not in wanted:
        yield Broken(f"${wanted[-1]:g} were requested, and ${more:g} are approved")
    if card is not None and terms is not None:
        obstacles = _obstacles(call, card, terms)
        yield from _approval(obstacles) if call.name == APPROVE else _denial(call, obstacles)


def _approval(obstacles: Mapping[str, str]) -> Iterator[Answer]:
    return map(Broken, obstacles.values())


def _denial(call: BankCall, obstacles: Mapping[str, str]) -> Iterator[Answer]:
    """Yield a breach if the records do not bear out the reason of a denial."""
    reason = call.text("denial_reason")
    if reason in ("other", "requested_amount_exceeds_limit"):
        if not obstacles:
            yield CannotTell(f"the records do not show why it was denied as {reason}")
    elif reason not in obstacles:
        yield Broken(f"the records do not show {reason}")


_READ_BEFORE = {
    CLOSE_CREDIT: (ORDERS, REASONS),
    **dict.fromkeys((APPROVE, DENY), (ORDERS, LIMITS, PAYMENTS)),
}


@bank.flow("card.checked", f"{_LIMIT}: step 2; {_CLOSING}; {_RETENTION}", *_READ_BEFORE)
def check_records_read(call: BankCall) -> Iterator[Answer]:
    """Disputes, orders and the card's history are looked up before it is decided about."""
    card = call.arguments.get("credit_card_account_id")
    wanted = _READ_BEFORE[call.name]
    missing = [each for each in wanted if not call.has_read(each, credit_card_account_id=card)]
    if not call.has_read(DISPUTES, user_id=call.arguments.get("user_id")):
        missing.append(DISPUTES)
    if missing:
        yield Broken(f"not looked up before the decision: {', '.join(missing)}")


@bank.state("cc_replace.allowed", "Replacement rejected: 1st and 2nd", REPLACE)
def check_replacement(call: BankCall) -> Iterator[Answer]:
    """A card is not replaced while another is under way, or too often in 60 days."""
    for order in _open_orders(call):
        yield Broken(f"order {order.get('order_id')} is {order.get('status')}")
    ages = (days_since(each.get("order_date")) for each in _of_card(call, "credit_card_orders"))
    made = sum(age is not None and age <= 60 for age in ages)
    most = _REPLACEMENTS.get(broad_tier(_card(call)) or "")
    if most is not None and made >= most:
        yield Broken(f"the card was replaced {made} times in 60 days")


@bank.state("rewards.allowed", "Resolved cash back disputes", REWARDS)
def check_rewards(call: BankCall) -> Iterator[Answer]:
    """Rewards are corrected after a dispute about them was resolved, by whole points."""
    booking = call.row("credit_card_transaction_history", "transaction_id")
    if booking is not None:
        key = dispute_id(str(booking.get("user_id")), call.text("transaction_id"))
        disputes = call.db.cash_back_disputes
        status = disputes.view(key).get("status") if key in disputes else None
        if status != "RESOLVED":
            yield Broken(f"the dispute is {status}" if status else "there is no dispute about it")
    given = call.text("new_rewards_earned")
    if not phrases.POINTS.fullmatch(given):
        yield Broken(f"{given!r} is no whole number of points")
