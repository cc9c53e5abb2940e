"""The bank's policy on credit cards, and on disputes about credit and debit cards."""

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from maseval.benchmark.tau2.domains.banking_knowledge.desk import (
    TODAY,
)
from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.benchmark.tau2.review.policy.banking_knowledge.account_rules import (
    CLOSE_CARD,
    tier_of,
)
from maseval.benchmark.tau2.review.policy.banking_knowledge.records import (
    BankCall,
    bank,
    bookings_of,
    days_since,
    figure,
    find_row,
    inner_call,
    money,
    other_status,
    recent,
    rows_with,
    too_young,
)
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell

CLOSE_CREDIT, LOG_REASON = "close_credit_card_account_7834", "log_credit_card_closure_reason_4521"
STATEMENT_CREDIT, FLAG = "apply_statement_credit_8472", "apply_credit_card_account_flag_6147"
ASK_LIMIT = "submit_credit_limit_increase_request_7392"
APPROVE, DENY = "approve_credit_limit_increase_5847", "deny_credit_limit_increase_5848"
CREDIT_DISPUTE = "file_credit_card_transaction_dispute_4829"
DEBIT_DISPUTE = "file_debit_card_transaction_dispute_6281"

CLOSING, RETENTION = "Closing credit cards (internal)", "Credit card retention (internal)"
LIMIT = "Credit limit increases (internal)"
_CREDIT = "Filing a credit card dispute (internal)"
_DEBIT = "Filing a debit card dispute (internal)"
_PROVISIONAL = "Provisional credit (internal)"

_CARDS = {
    "entry": (
        *("Bronze Rewards Card", "EcoCard", "Business Bronze Rewards Card"),
        *("Crypto-Cash Back", "Crypto-Cash Back Card"),
    ),
    "mid": (
        *("Silver Rewards Card", "Business Silver Rewards Card", "Green Rewards Card"),
        "Silver Zoom Card",
    ),
    "premium": ("Gold Rewards Card", "Business Gold Rewards Card"),
    "elite": ("Platinum Rewards Card", "Business Platinum Rewards Card"),
    "invitation": ("Diamond Elite Card",),
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
_FRAUD, _NOT_RECEIVED = "unauthorized_fraudulent_charge", "goods_services_not_received"
_COVERED = (_FRAUD, "duplicate_charge", _NOT_RECEIVED)
_MOST_CREDITED = {"entry": 2500, "mid": 5000, "premium": 10000, "elite": 15000, "invitation": 25000}
_MOST_OPEN = {"entry": 2, "mid": 3, "premium": 4, "elite": 5}
_OPEN = ("OPEN", "PENDING_DOCUMENTATION", "UNDER_REVIEW", "PROVISIONAL_CREDIT_ISSUED")
_CARRIED_OUT_BY = {
    "close_and_reissue": (CLOSE_CARD,),
    "freeze_pending_investigation": ("freeze_debit_card_3892", CLOSE_CARD),
}


def _tier(card: Row) -> str:
    return next((tier for tier, cards in _CARDS.items() if card.get("card_type") in cards), "")


def broad_tier(card: Row) -> str:
    """Return the tier of a credit card where all above premium are one; empty for no known card."""
    tier = _tier(card)
    return "premium" if tier in ("elite", "invitation") else tier


def _debt_of(card: Row) -> float:
    return money(card.get("current_balance"))


def _of_card(call: BankCall, table: str) -> list[Row]:
    return call.rows(table, "credit_card_account_id")


def _open_orders(call: BankCall) -> list[Row]:
    orders = _of_card(call, "credit_card_orders")
    return [each for each in orders if str(each.get("status")).upper() not in _FINAL_ORDER]


def _open_disputes(call: BankCall) -> list[Row]:
    """Return the customer's disputes that are not decided, as far as they may be about a card."""
    card, bookings = call.credit_card, "credit_card_transaction_history"
    found = []
    for dispute in rows_with(call.db, "transaction_disputes", "user_id", card.get("user_id")):
        paid = find_row(call.db, bookings, dispute.get("transaction_id"))
        named, digits = paid.get("credit_card_account_id"), card.get("card_last_4_digits")
        if named:
            own = named == card.get("account_id")
        elif paid:
            own = paid.get("credit_card_type") == card.get("card_type")
        else:
            own = digits is None or dispute.get("card_last_4_digits") == digits
        if own and str(dispute.get("status")).upper() in _OPEN_DISPUTE:
            found.append(dispute)
    return found


@bank.state("cc_close.eligible", f"{CLOSING}; {RETENTION}: step 1", CLOSE_CREDIT, LOG_REASON)
def check_closing_card(call: BankCall) -> Iterator[Answer]:
    """A card is closed after 60 days, paid off, without dispute or replacement under way.

    A customer is held back only from a closing that could be made.
    """
    card = call.credit_card
    if not card:
        return
    for dispute in _open_disputes(call):
        yield Broken(f"dispute {dispute.get('dispute_id')} is not decided yet")
    for order in _open_orders(call):
        yield Broken(f"replacement order {order.get('order_id')} is {order.get('status')}")
    yield from too_young(card.get("date_of_account_open"), 60)
    if _debt_of(card):
        yield Broken(f"the balance is ${_debt_of(card):.2f}")


@bank.state(
    *("retention.steps", f"{RETENTION}: steps 2 to 5"),
    *(CLOSE_CREDIT, LOG_REASON, STATEMENT_CREDIT, FLAG),
)
def check_retention(call: BankCall) -> Iterator[Answer]:
    """The reason is logged before an offer or the closing, the offer is the tier's, and once."""
    logged = recent(_of_card(call, "credit_card_closure_reasons"), _YEAR, "logged_at")
    offer = call.text("reason")
    if call.name == CLOSE_CREDIT:
        if not logged:
            yield Broken("no reason for closing was logged within a year")
        return
    if call.name != LOG_REASON and offer not in ("retention_offer", "loyalty_benefit"):
        return
    earlier = [each for each in logged if each.get("logged_at") != TODAY]
    if earlier:
        yield Broken(f"a reason for closing was logged on {earlier[0].get('logged_at')}")
    if call.name != LOG_REASON and not logged:
        yield Broken("no reason for closing was logged before the offer")
    due, amount = _OFFERS.get(broad_tier(call.credit_card)), call.number("amount")
    offered = call.name == STATEMENT_CREDIT and offer == "retention_offer" and due
    if offered and amount != due and not math.isnan(amount):
        yield Broken(f"the offer for this card is ${due}, and ${amount:g} are credited")


def _obstacles(call: BankCall, card: Row, terms: _LimitTerms) -> dict[str, str]:
    """Return what keeps a limit from being raised, by the reason that a denial would give."""
    found, age = {}, days_since(card.get("date_of_account_open"))
    if age < terms.age:
        found["insufficient_account_age"] = f"the account is {age} days old"
    for request in _of_card(call, "credit_limit_increase_requests"):
        days = days_since(request.get("submitted_date") or request.get("submitted_at"))
        if str(request.get("status")).upper() == "APPROVED" and days < terms.cooldown:
            found["cooldown_period_active"] = f"a request was approved {days} days ago"
    if _open_disputes(call):
        found["pending_disputes"] = "a dispute is not decided yet"
    if _open_orders(call):
        found["pending_replacement_card"] = "a replacement is under way"
    if money(card.get("past_due_amount")):
        found["past_due_balance"] = f"{card.get('past_due_amount')} are past due"
    used = 100 * _debt_of(card) / (figure(card.get("credit_limit")) or math.nan)
    if used >= 100 * terms.utilization:
        found["high_utilization"] = f"{used:.0f} % of the limit are used"
    on_time = _payments_on_time(call, terms.payments)
    if on_time < terms.payments:
        found["insufficient_payment_history"] = f"{on_time} payments in a row were on time"
    return found


def _payments_on_time(call: BankCall, months: int) -> float:
    payments = _of_card(call, "payment_history")
    dated = [(days_since(each.get("payment_date")), each.get("status")) for each in payments]
    if any(math.isnan(age) for age, _ in dated):
        return math.nan
    latest = [status for _, status in sorted(dated, key=lambda each: each[0])[:months]]
    return next((n for n, status in enumerate(latest) if status != "ON_TIME"), len(latest))


@bank.state("cli.allowed", f"{LIMIT}: steps 0 to 4", ASK_LIMIT, APPROVE, DENY)
def check_increase(call: BankCall) -> Iterator[Answer]:
    """A higher limit is requested, within what the tier allows, and then decided by the records."""
    card, terms = call.credit_card, _TERMS.get(broad_tier(call.credit_card))
    limit, more = figure(card.get("credit_limit")), call.number("requested_increase_amount")
    raised = call.number("new_credit_limit") - limit
    more = more if math.isnan(raised) else raised
    if terms is not None and more > terms.most * limit:
        yield Broken(f"${more:g} are more than {100 * terms.most:g} % of ${limit:g}")
    if call.name == ASK_LIMIT:
        return
    requests = _of_card(call, "credit_limit_increase_requests")
    today = [each for each in requests if each.get("submitted_at") == TODAY]
    wanted = [figure(each.get("requested_increase_amount")) for each in today]
    if not today:
        yield Broken("no request was submitted before the decision")
    elif call.name == APPROVE and not math.isnan(more) and more not in wanted:
        yield Broken(f"${wanted[-1]:g} were requested, and ${more:g} are approved")
    obstacles = _obstacles(call, card, terms) if terms else {}
    reason = call.text("denial_reason")
    if call.name == APPROVE:
        yield from map(Broken, obstacles.values())
    elif terms and reason in ("other", "requested_amount_exceeds_limit"):
        if not obstacles:
            yield CannotTell(f"the records do not show why it was denied as {reason}")
    elif terms and reason not in obstacles:
        yield Broken(f"the records do not show {reason}")


@bank.state(
    *("cc_replace.allowed", "Replacement rejected: 1st and 2nd"),
    "order_replacement_credit_card_7291",
)
def check_replacement(call: BankCall) -> Iterator[Answer]:
    """A card is not replaced while another is under way, or too often in 60 days."""
    for order in _open_orders(call):
        yield Broken(f"order {order.get('order_id')} is {order.get('status')}")
    made = len(recent(_of_card(call, "credit_card_orders"), 60, "order_date"))
    if made >= _REPLACEMENTS.get(broad_tier(call.credit_card), math.inf):
        yield Broken(f"the card was replaced {made} times in 60 days")


def _card_transaction(call: BankCall) -> Row:
    return call.row("credit_card_transaction_history", "transaction_id")


def _card_of(call: BankCall, paid: Row) -> Row:
    """Return the credit card account with which a transaction was paid."""
    cards = rows_with(call.db, "credit_card_accounts", "user_id", paid.get("user_id"))
    named = paid.get("credit_card_account_id")
    if named:
        return next((each for each in cards if each.get("account_id") == named), {})
    alike = [each for each in cards if each.get("card_type") == paid.get("credit_card_type")]
    return alike[0] if len(alike) == 1 else {}


@bank.state("dispute.provisional", _PROVISIONAL, CREDIT_DISPUTE)
def check_provisional_credit(call: BankCall) -> Iterator[Answer]:
    """Provisional credit is given if card, amount, reason and history allow it, and only then."""
    paid, given = _card_transaction(call), call.arguments.get("eligible_for_provisional_credit")
    card = _card_of(call, paid)
    if not paid or not isinstance(given, bool):
        return
    if not card:
        yield CannotTell("the record does not show which card was used")
        return
    obstacles = list(_against_credit(call, paid, card))
    if given and obstacles:
        yield Broken(f"no provisional credit is due: {'; '.join(obstacles)}")
    elif not given and not obstacles:
        yield Broken("provisional credit is due, and was not given")


def _against_credit(call: BankCall, paid: Row, card: Row) -> Iterator[str]:
    reason, amount = call.text("dispute_reason"), figure(paid.get("transaction_amount"))
    if (age := days_since(card.get("date_of_account_open"))) < 60:
        yield f"the account is {age} days old"
    if reason not in _COVERED:
        yield f"the reason is {reason}"
    elif reason == _NOT_RECEIVED and (days := days_since(paid.get("transaction_date"))) <= 30:
        yield f"the purchase was {days} days ago"
    if amount < 25 or amount > _MOST_CREDITED.get(_tier(card), math.inf):
        yield f"the amount is ${amount:.2f}"
    earlier = rows_with(call.db, "transaction_disputes", "user_id", paid.get("user_id"))
    filed = len(recent(earlier, _YEAR, "submitted_at"))
    if filed > 2:
        yield f"{filed} disputes were filed within a year"
    if reason != _FRAUD and call.arguments.get("contacted_merchant") is not True:
        yield "the merchant was not contacted"


@bank.state("debit_dispute.facts", f"{_DEBIT}: pre-filing and 1 to 8", DEBIT_DISPUTE)
def check_debit_transaction(call: BankCall) -> Iterator[Answer]:
    """A booking of the open account is disputed within 60 days, and few disputes are open."""
    account, account_id = call.account, call.arguments.get("account_id")
    yield from other_status("account", account, "OPEN")
    filed = call.rows("debit_card_disputes", "account_id")
    count = sum(each.get("status") in _OPEN for each in filed)
    if count >= _MOST_OPEN.get(tier_of(account), math.inf):
        yield Broken(f"{count} disputes of the account are open")
    booking = call.row("bank_account_transaction_history", "transaction_id")
    if not booking:
        yield Broken(f"there is no transaction {call.arguments.get('transaction_id')!r}")
    elif booking.get("account_id") != account_id:
        yield Broken(f"the transaction was booked on account {booking.get('account_id')}")
    if booking and (booked := abs(money(booking.get("amount")))) < 1:
        yield Broken(f"the transaction was about ${booked:.2f}")
    if (days := days_since(booking.get("date"))) > 60:
        yield Broken(f"the transaction is {days} days old")
    if call.text("dispute_category") != "duplicate_charge":
        return
    for other in bookings_of(call.db, booking.get("account_id")):
        alike = all(other.get(key) == booking.get(key) for key in ("description", "amount"))
        if alike and 0 < days_since(other.get("date")) - days <= 7:
            yield Broken(f"transaction {other.get('transaction_id')} is the first of them")


@bank.state("debit_dispute.action", f"{_DEBIT}: card action", DEBIT_DISPUTE)
def check_card_action(call: BankCall) -> Iterator[Answer]:
    """The card action of a dispute is carried out by a call of its own."""
    card, action = call.card, call.text("card_action")
    wanted = _CARRIED_OUT_BY.get(action)
    if wanted is None or not card or card.get("status") in ("FROZEN", "CLOSED"):
        return
    made = [inner_call(each.call) for each in call.moment.talk.calls if not each.failed]
    if not any(name in wanted and call.text("card_id") == e.get("card_id") for name, e in made):
        yield Broken(f"the dispute says {action}, and the card was left as it was")
