"""The bank's policy on disputes about transactions with credit and debit cards."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from maseval.benchmark.tau2.domains.banking_knowledge.desk import NOW, last_4_digits
from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.benchmark.tau2.review.policy.banking_knowledge.credit_card_rules import CARD_TIERS
from maseval.benchmark.tau2.review.policy.banking_knowledge.debit_card_rules import (
    CLOSE_CARD,
    FREEZE,
    tier_of,
)
from maseval.benchmark.tau2.review.policy.banking_knowledge.inner_calls import (
    BankCall,
    bank,
    days_since,
    figure,
    inner_call,
    is_same,
    other_status,
    read_date,
    rows_with,
)
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell

CREDIT_DISPUTE = "file_credit_card_transaction_dispute_4829"
DEBIT_DISPUTE = "file_debit_card_transaction_dispute_6281"

_CREDIT = "Filing a credit card dispute (internal)"
_DEBIT = "Filing a debit card dispute (internal)"
_PROVISIONAL = "Provisional credit (internal)"

_FRAUD = "unauthorized_fraudulent_charge"
_NOT_RECEIVED = "goods_services_not_received"
_COVERED = (_FRAUD, "duplicate_charge", _NOT_RECEIVED)
_MOST_CREDITED = {"entry": 2500, "mid": 5000, "premium": 10000, "elite": 15000, "invitation": 25000}
_ON_RECORD = {"full_name": "name", "phone": "phone_number", "email": "email", "address": "address"}

_MOST_OPEN = {"entry": 2, "mid": 3, "premium": 4, "elite": 5}
_OPEN = ("OPEN", "PENDING_DOCUMENTATION", "UNDER_REVIEW", "PROVISIONAL_CREDIT_ISSUED")
_ACTION: Mapping[str, str] = {
    "card_present_fraud": "close_and_reissue",
    "card_not_present_fraud": "close_and_reissue",
    "unauthorized_transaction": "freeze_pending_investigation",
    **dict.fromkeys(
        (
            *("atm_cash_discrepancy", "atm_deposit_not_credited", "duplicate_charge"),
            *("incorrect_amount", _NOT_RECEIVED, "recurring_charge_after_cancellation"),
        ),
        "keep_active",
    ),
}
_CARRIED_OUT_BY = {
    "close_and_reissue": (CLOSE_CARD,),
    "freeze_pending_investigation": (FREEZE, CLOSE_CARD),
}
_IN_PERSON = ("pin_purchase", "signature_purchase", "atm_withdrawal", "atm_deposit")
_TYPES: Mapping[str, tuple[str, ...]] = {
    "atm_cash_discrepancy": ("atm_withdrawal",),
    "atm_deposit_not_credited": ("atm_deposit",),
    "card_present_fraud": _IN_PERSON,
    "card_not_present_fraud": ("online_purchase", "recurring_payment", "person_to_person"),
    "recurring_charge_after_cancellation": ("recurring_payment",),
}
_REQUIRED = (
    *("unauthorized_transaction", "card_present_fraud", "card_not_present_fraud"),
    *("atm_cash_discrepancy", "duplicate_charge"),
)
_FRAUDS = _REQUIRED[:3]


def _card_transaction(call: BankCall) -> Row | None:
    return call.row("credit_card_transaction_history", "transaction_id")


def _card_of(call: BankCall, paid: Row) -> Row | None:
    """Return the credit card account with which a transaction was paid."""
    cards = rows_with(call.db, "credit_card_accounts", "user_id", paid.get("user_id"))
    named = paid.get("credit_card_account_id")
    if named:
        return next((each for each in cards if each.get("account_id") == named), None)
    alike = [each for each in cards if each.get("card_type") == paid.get("credit_card_type")]
    return alike[0] if len(alike) == 1 else None


@bank.state("dispute.facts", f"{_CREDIT}: 1 to 14", CREDIT_DISPUTE)
def check_disputed(call: BankCall) -> Iterator[Answer]:
    """A dispute is about a transaction that there is, with its date, card and customer as known.

    A partial refund is a part of what was paid, and a full one names no part.
    """
    user = call.row("users", "user_id")
    for field, known in _ON_RECORD.items() if user else ():
        given, registered = call.arguments.get(field), (user or {}).get(known)
        if registered and not is_same(given, registered):
            yield Broken(f"the registered {known.replace('_', ' ')} is {registered}, not {given}")
    paid, part = _card_transaction(call), call.figure("partial_refund_amount")
    wanted = call.text("resolution_requested")
    if wanted == "full_refund" and part:
        yield Broken(f"a full refund is asked for, and ${part:g} are named")
    if paid is None:
        yield Broken(f"there is no transaction {call.arguments.get('transaction_id')!r}")
        return
    date, given = read_date(paid.get("transaction_date")), call.text("purchase_date")
    if date is not None and read_date(given) != date:
        yield Broken(f"the purchase was on {paid.get('transaction_date')}, not {given}")
    card, digits = _card_of(call, paid), call.arguments.get("card_last_4_digits")
    if card is not None:
        known_digits = (card.get("card_last_4_digits"), last_4_digits(str(card.get("account_id"))))
        if digits not in known_digits:
            yield Broken(f"the card does not end in {digits}")
    amount = figure(paid.get("transaction_amount"))
    partial = wanted == "partial_refund" and amount is not None and part is not None
    if partial and not 0 < (part or 0) < (amount or 0):
        yield Broken(f"${part:g} are no part of the ${amount:g} that were paid")


@bank.state("dispute.provisional", _PROVISIONAL, CREDIT_DISPUTE)
def check_provisional_credit(call: BankCall) -> Iterator[Answer]:
    """Provisional credit is given if card, amount, reason and history allow it, and only then."""
    paid = _card_transaction(call)
    card = _card_of(call, paid) if paid else None
    given = call.arguments.get("eligible_for_provisional_credit")
    if paid is None or not isinstance(given, bool):
        return
    if card is None:
        yield CannotTell("the record does not show which card was used")
        return
    obstacles = list(_obstacles(call, paid, card))
    if given and obstacles:
        yield Broken(f"no provisional credit is due: {'; '.join(obstacles)}")
    elif not given and not obstacles:
        yield Broken("provisional credit is due, and was not given")


def _obstacles(call: BankCall, paid: Row, card: Row) -> Iterator[str]:
    reason, age = call.text("dispute_reason"), days_since(card.get("date_of_account_open"))
    if age is not None and age < 60:
        yield f"the account is {age} days old"
    bought = days_since(paid.get("transaction_date"))
    if reason not in _COVERED:
        yield f"the reason is {reason}"
    elif reason == _NOT_RECEIVED and bought is not None and bought <= 30:
        yield f"the purchase was {bought} days ago"
    amount = figure(paid.get("transaction_amount"))
    most = _MOST_CREDITED.get(CARD_TIERS.get(str(card.get("card_type")), ""))
    if amount is not None and (amount < 25 or (most is not None and amount > most)):
        yield f"the amount is ${amount:.2f}"
    earlier = rows_with(call.db, "transaction_disputes", "user_id", paid.get("user_id"))
    ages = (days_since(each.get("submitted_at")) for each in earlier)
    filed = sum(each is not None and each <= 365 for each in ages)
    if filed > 2:
        yield f"{filed} disputes were filed within a year"
    if reason != _FRAUD and call.arguments.get("contacted_merchant") is not True:
        yield "the merchant was not contacted"


@bank.state("dispute.noticed", f"{_CREDIT}: 11; {_DEBIT}: 7", CREDIT_DISPUTE, DEBIT_DISPUTE)
def check_noticed(call: BankCall) -> Iterator[Answer]:
    """An issue is noticed after the transaction, and not in the future."""
    credit = call.name == CREDIT_DISPUTE
    bought = read_date(call.arguments.get("purchase_date" if credit else "transaction_date"))
    noticed = read_date(call.arguments.get("issue_noticed_date" if credit else "discovery_date"))
    if noticed is None or bought is None:
        return
    if noticed.date() < bought.date() or noticed > NOW:
        yield Broken(f"noticed on {noticed:%m/%d/%Y}, paid on {bought:%m/%d/%Y}")


def _account_transaction(call: BankCall) -> Row | None:
    return call.row("bank_account_transaction_history", "transaction_id")


@bank.state("debit_dispute.facts", f"{_DEBIT}: pre-filing and 1 to 8", DEBIT_DISPUTE)
def check_debit_transaction(call: BankCall) -> Iterator[Answer]:
    """A booking of the open account is disputed within 60 days, for a dollar up to its amount."""
    account, card = call.row("accounts", "account_id"), call.row("debit_cards", "card_id")
    account_id, amount = call.arguments.get("account_id"), call.figure("disputed_amount")
    yield from other_status("account", account, "OPEN")
    if card is not None and card.get("account_id") != account_id:
        yield Broken(f"the card belongs to account {card.get('account_id')}")
    most = _MOST_OPEN.get(tier_of(account) or "")
    filed = rows_with(call.db, "debit_card_disputes", "account_id", account_id)
    count = sum(each.get("status") in _OPEN for each in filed)
    if most is not None and count >= most:
        yield Broken(f"{count} disputes of the account are open")
    liability = call.figure("customer_max_liability_amount")
    if liability is not None and amount is not None and liability not in (50, 500, amount):
        yield Broken(f"a liability of ${liability:g} is not one of the steps")
    booking = _account_transaction(call)
    if booking is None:
        yield Broken(f"there is no transaction {call.arguments.get('transaction_id')!r}")
    else:
        yield from _booking_faults(call, booking, amount)


def _booking_faults(call: BankCall, booking: Row, amount: float | None) -> Iterator[Answer]:
    """Yield what speaks against a dispute about a booking."""
    category = call.text("dispute_category")
    if booking.get("account_id") != call.arguments.get("account_id"):
        yield Broken(f"the transaction was booked on account {booking.get('account_id')}")
    date, given = read_date(booking.get("date")), read_date(call.arguments.get("transaction_date"))
    if date is not None and (given is None or given.date() != date.date()):
        yield Broken(f"the transaction was on {date:%m/%d/%Y}")
    booked = abs(figure(booking.get("amount")) or 0.0)
    if amount is not None and amount > booked and category != "atm_deposit_not_credited":
        yield Broken(f"${amount:g} are disputed, and ${booked:g} were booked")
    if booked < 1:
        yield Broken(f"the transaction was about ${booked:.2f}")
    days = days_since(booking.get("date"))
    if days is not None and days > 60:
        yield Broken(f"the transaction is {days} days old")
    if category == "duplicate_charge" and date is not None:
        yield from _earlier_charges(call, booking, date)


def _earlier_charges(call: BankCall, booking: Row, date: datetime) -> Iterator[Answer]:
    """Yield the same charge of the days before: the first of them is disputed."""
    account_id = booking.get("account_id")
    for other in rows_with(call.db, "bank_account_transaction_history", "account_id", account_id):
        earlier = read_date(other.get("date"))
        alike = all(other.get(key) == booking.get(key) for key in ("description", "amount"))
        if alike and earlier is not None and earlier < date and (date - earlier).days <= 7:
            yield Broken(f"transaction {other.get('transaction_id')} is the first of them")


@bank.state("debit_dispute.category", f"{_DEBIT}: 5, 9 and card action", DEBIT_DISPUTE)
def check_category(call: BankCall) -> Iterator[Answer]:
    """The category of a dispute fits the transaction, and decides what happens to the card."""
    category, action = call.text("dispute_category"), call.text("card_action")
    due, kind = _ACTION.get(category), call.text("transaction_type")
    if due is not None and action != due:
        yield Broken(f"{category} calls for {due}, not {action}")
    if category in _TYPES and kind not in _TYPES[category]:
        yield Broken(f"{category} does not fit a transaction of type {kind}")


@bank.state("debit_dispute.provisional", f"Debit {_PROVISIONAL}", DEBIT_DISPUTE)
def check_debit_provisional(call: BankCall) -> Iterator[Answer]:
    """Provisional credit is given where it is required, and not without a written statement."""
    given, category = (
        call.arguments.get("provisional_credit_eligible"),
        call.text("dispute_category"),
    )
    written = call.arguments.get("written_statement_provided")
    if given is True and written is False:
        yield Broken("provisional credit is given without a written statement")
    account = call.row("accounts", "account_id")
    days = days_since(account.get("date_opened")) if account else None
    young = days is not None and days < 30 and category == "card_not_present_fraud"
    excused = young or call.text("pin_compromised") == "yes_shared"
    merchant = category in _FRAUDS or call.arguments.get("contacted_merchant") is True
    due = category in _REQUIRED and written is True and merchant and not excused
    age = days_since((_account_transaction(call) or {}).get("date"))
    stands = age is not None and age <= 60 and (account or {}).get("status") == "OPEN"
    if given is False and due and stands:
        yield Broken(f"provisional credit is required for {category}")


@bank.state("debit_dispute.action", f"{_DEBIT}: card action", DEBIT_DISPUTE)
def check_card_action(call: BankCall) -> Iterator[Answer]:
    """The card action of a dispute is carried out by a call of its own."""
    card, action = call.row("debit_cards", "card_id"), call.text("card_action")
    wanted = _CARRIED_OUT_BY.get(action)
    if wanted is None or card is None or card.get("status") in ("FROZEN", "CLOSED"):
        return
    made = [inner_call(each.call) for each in call.moment.talk.calls if not each.failed]
    if not any(name in wanted and call.text("card_id") == e.get("card_id") for name, e in made):
        yield Broken(f"the dispute says {action}, and the card was left as it was")
