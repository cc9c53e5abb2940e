"""The bank's policy on credit cards: closing, keeping a customer, limits, replacements, rewards."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.benchmark.tau2.domains.banking_knowledge.values import NOW, TODAY, dispute_id
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
_POINTS = re.compile(r"\d+ points")


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
    card = call.arguments.get("credit_card_account_id")
    orders = rows_with(call.db, "credit_card_orders", "credit_card_account_id", card)
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


def _objections(call: BankCall, card: Row) -> Iterator[Broken]:
    """Yield what keeps a card from being closed."""
    for dispute in _open_disputes(call, card):
        named = dispute.get("dispute_id")
        yield Broken(f"dispute {named} is not decided yet")
    for order in _open_orders(call):
        named = order.get("order_id")
        yield Broken(f"replacement order {named} is {order.get('status')}")
    age = _age(card)
    if age is not None and age < 60:
        yield Broken(f"the account is {age} days old")
    if _debt_of(card):
        yield Broken(f"the balance is ${_debt_of(card):.2f}")


@bank.state("cc_close.eligible", f"{_CLOSING}: eligibility", CLOSE_CREDIT)
def check_closing_card(call: BankCall) -> Iterator[Answer]:
    """A credit card is closed after 60 days, paid off, without dispute or replacement under way."""
    card = _card(call)
    if card is not None:
        yield from _objections(call, card)


@bank.state("cc_close.retention", f"{_RETENTION}: step 3", CLOSE_CREDIT)
def check_reason_logged(call: BankCall) -> Iterator[Answer]:
    """The reason for closing a card is on record before the card is closed."""
    if not _reasons(call):
        yield Broken("no reason for closing was logged within a year")


def _reasons(call: BankCall, *, before_today: bool = False) -> list[Row]:
    """Return the reasons for closing a card that were logged within a year."""
    card = call.arguments.get("credit_card_account_id")
    found = rows_with(call.db, "credit_card_closure_reasons", "credit_card_account_id", card)
    ages = ((each, days_since(each.get("logged_at"))) for each in found)
    recent = [each for each, age in ages if age is not None and age <= _YEAR]
    return [each for each in recent if not (before_today and each.get("logged_at") == TODAY)]


@bank.state("retention.eligible", f"{_RETENTION}: step 1", LOG_REASON)
def check_retention_order(call: BankCall) -> Iterator[Answer]:
    """A customer is held back only from a closing that could be made."""
    card = _card(call)
    if card is not None:
        yield from _objections(call, card)


def _is_offer(call: BankCall) -> bool:
    return call.name == LOG_REASON or call.text("reason") in ("retention_offer", "loyalty_benefit")


@bank.state("retention.repeated", f"{_RETENTION}: step 2", LOG_REASON, STATEMENT_CREDIT, FLAG)
def check_retention_once(call: BankCall) -> Iterator[Answer]:
    """A customer who wanted to close the card within the last year is not held back again."""
    earlier = _reasons(call, before_today=True) if _is_offer(call) else []
    for each in earlier[:1]:
        date = each.get("logged_at")
        yield Broken(f"a reason for closing was logged on {date}")


@bank.state("retention.amount", f"{_RETENTION}: step 5", STATEMENT_CREDIT)
def check_offer(call: BankCall) -> Iterator[Answer]:
    """The credit that keeps a customer is the one for the card's tier."""
    due, amount = _OFFERS.get(broad_tier(_card(call)) or ""), call.figure("amount")
    if call.text("reason") == "retention_offer" and None not in (due, amount) and amount != due:
        yield Broken(f"the offer for this card is ${due}, and ${amount:g} are credited")


@bank.state("retention.logged", f"{_RETENTION}: step 3", STATEMENT_CREDIT, FLAG)
def check_offer_after_reason(call: BankCall) -> Iterator[Answer]:
    """The customer's reason is logged before an offer is made."""
    if _is_offer(call) and not _reasons(call):
        yield Broken("no reason for closing was logged before the offer")


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
        yield Broken(f"the customer has been one for {oldest} days")


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
    for request in _approved_requests(call):
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


def _approved_requests(call: BankCall) -> list[Row]:
    card = call.arguments.get("credit_card_account_id")
    found = rows_with(call.db, "credit_limit_increase_requests", "credit_card_account_id", card)
    return [each for each in found if str(each.get("status")).upper() == "APPROVED"]


def _payments_on_time(call: BankCall, months: int) -> int | None:
    card = call.arguments.get("credit_card_account_id")
    payments = rows_with(call.db, "payment_history", "credit_card_account_id", card)
    dated = [(read_date(each.get("payment_date")), each) for each in payments]
    if any(date is None for date, _ in dated):
        return None
    latest = sorted(dated, key=lambda each: each[0] or NOW, reverse=True)[:months]
    late = (n for n, (_, each) in enumerate(latest) if each.get("status") != "ON_TIME")
    return next(late, len(latest))


@bank.state("cli.most", f"{_LIMIT}: step 0", ASK_LIMIT, APPROVE)
def check_increase(call: BankCall) -> Iterator[Answer]:
    """A credit limit is raised by no more than the card's tier allows."""
    card, terms = _card(call), _TERMS.get(broad_tier(_card(call)) or "")
    limit = figure(card.get("credit_limit")) if card else None
    if terms is None or limit is None:
        return
    asked = call.figure("requested_increase_amount")
    new = call.figure("new_credit_limit")
    more = asked if asked is not None else None if new is None else new - limit
    if more is not None and more > terms.most * limit:
        yield Broken(f"${more:g} are more than {100 * terms.most:g} % of ${limit:g}")


@bank.state("cli.eligible", f"{_LIMIT}: steps 2 and 3", APPROVE)
def check_approval(call: BankCall) -> Iterator[Answer]:
    """An increase is approved when age, use, payments and standing of the card allow it."""
    card, terms = _card(call), _TERMS.get(broad_tier(_card(call)) or "")
    if card is not None and terms is not None:
        for text in _obstacles(call, card, terms).values():
            yield Broken(text)


@bank.state("cli.denial", f"{_LIMIT}: step 4", DENY)
def check_denial(call: BankCall) -> Iterator[Answer]:
    """An increase is denied for a reason that the records bear out."""
    card, terms = _card(call), _TERMS.get(broad_tier(_card(call)) or "")
    reason = call.text("denial_reason")
    if card is None or terms is None:
        return
    found = _obstacles(call, card, terms)
    if reason in ("other", "requested_amount_exceeds_limit"):
        if not found:
            yield CannotTell(f"the records do not show why it was denied as {reason}")
    elif reason not in found:
        yield Broken(f"the records do not show {reason}")


@bank.state("cli.submitted", f"{_LIMIT}: step 1", APPROVE, DENY)
def check_submitted(call: BankCall) -> Iterator[Answer]:
    """A request for a higher limit is submitted before it is decided."""
    card = call.arguments.get("credit_card_account_id")
    found = rows_with(call.db, "credit_limit_increase_requests", "credit_card_account_id", card)
    if not any(each.get("submitted_at") == TODAY for each in found):
        yield Broken("no request was submitted before the decision")


@bank.state("cli.amount", f"{_LIMIT}: step 4", APPROVE)
def check_approved_amount(call: BankCall) -> Iterator[Answer]:
    """The limit is raised by what was requested."""
    card, new = _card(call), call.figure("new_credit_limit")
    limit = figure(card.get("credit_limit")) if card else None
    account = call.arguments.get("credit_card_account_id")
    requests = rows_with(
        call.db, "credit_limit_increase_requests", "credit_card_account_id", account
    )
    asked = [
        figure(each.get("requested_increase_amount"))
        for each in requests
        if each.get("submitted_at") == TODAY
    ]
    if asked and limit is not None and new is not None and new - limit not in asked:
        yield Broken(f"${asked[-1]:g} were requested, and ${new - limit:g} are approved")


@bank.flow("cli.checked", f"{_LIMIT}: step 2", APPROVE, DENY)
def check_criteria_read(call: BankCall) -> Iterator[Answer]:
    """Disputes, orders, earlier requests and payments are looked up before a decision."""
    card = call.arguments.get("credit_card_account_id")
    missing = [
        tool
        for tool in (ORDERS, LIMITS, PAYMENTS)
        if not call.has_read(tool, credit_card_account_id=card)
    ]
    if not call.has_read(DISPUTES, user_id=call.arguments.get("user_id")):
        missing.append(DISPUTES)
    if missing:
        yield Broken(f"not looked up before the decision: {', '.join(missing)}")


@bank.flow("cc_close.checked", f"{_CLOSING}; {_RETENTION}", CLOSE_CREDIT)
def check_closing_read(call: BankCall) -> Iterator[Answer]:
    """Disputes, orders and earlier reasons are looked up before a card is closed."""
    card = call.arguments.get("credit_card_account_id")
    missing = [
        tool for tool in (ORDERS, REASONS) if not call.has_read(tool, credit_card_account_id=card)
    ]
    if not call.has_read(DISPUTES, user_id=call.arguments.get("user_id")):
        missing.append(DISPUTES)
    if missing:
        yield Broken(f"not looked up before the closing: {', '.join(missing)}")


@bank.state("cc_replace.pending", "Replacement rejected: 1st", REPLACE)
def check_replacement_pending(call: BankCall) -> Iterator[Answer]:
    """A credit card is not replaced while a replacement is under way."""
    for order in _open_orders(call):
        named = order.get("order_id")
        yield Broken(f"order {named} is {order.get('status')}")


@bank.state("cc_replace.most", "Replacement rejected: 2nd", REPLACE)
def check_replacement_count(call: BankCall) -> Iterator[Answer]:
    """A credit card is not replaced more often in 60 days than its tier allows."""
    card = call.arguments.get("credit_card_account_id")
    orders = rows_with(call.db, "credit_card_orders", "credit_card_account_id", card)
    ages = (days_since(each.get("order_date")) for each in orders)
    made = sum(age is not None and age <= 60 for age in ages)
    most = _REPLACEMENTS.get(broad_tier(_card(call)) or "")
    if most is not None and made >= most:
        yield Broken(f"the card was replaced {made} times in 60 days")


@bank.state("rewards.resolved", "Resolved cash back disputes", REWARDS)
def check_rewards_dispute(call: BankCall) -> Iterator[Answer]:
    """Rewards are corrected after a dispute about them was resolved."""
    booking = call.row("credit_card_transaction_history", "transaction_id")
    if booking is None:
        return
    key = dispute_id(str(booking.get("user_id")), call.text("transaction_id"))
    disputes = call.db.cash_back_disputes
    status = disputes.view(key).get("status") if key in disputes else None
    if status != "RESOLVED":
        yield Broken(f"the dispute is {status}" if status else "there is no dispute about it")


@bank.state("rewards.form", "Resolved cash back disputes: step 4", REWARDS)
def check_rewards_form(call: BankCall) -> Iterator[Answer]:
    """Rewards are written as a whole number of points."""
    given = call.text("new_rewards_earned")
    if not _POINTS.fullmatch(given):
        yield Broken(f"{given!r} is no whole number of points")
