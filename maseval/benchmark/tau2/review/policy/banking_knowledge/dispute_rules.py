"""The bank's policy on disputes about transactions with credit and debit cards."""

from collections.abc import Iterator, Mapping

from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.benchmark.tau2.domains.banking_knowledge.values import NOW, last_4_digits
from maseval.benchmark.tau2.review.policy.banking_knowledge.credit_card_rules import CARD_TIERS
from maseval.benchmark.tau2.review.policy.banking_knowledge.debit_card_rules import tier_of
from maseval.benchmark.tau2.review.policy.banking_knowledge.inner_calls import (
    BankCall,
    bank,
    days_since,
    figure,
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


@bank.state("dispute.transaction", f"{_CREDIT}: 1", CREDIT_DISPUTE)
def check_disputed(call: BankCall) -> Iterator[Answer]:
    """A dispute is about a transaction that there is, on its date."""
    paid = _card_transaction(call)
    if paid is None:
        named = call.arguments.get("transaction_id")
        yield Broken(f"there is no transaction {named!r}")
        return
    date, given = read_date(paid.get("transaction_date")), call.text("purchase_date")
    if date is not None and read_date(given) != date:
        yield Broken(f"the purchase was on {paid.get('transaction_date')}, not {given}")


@bank.state("dispute.customer", f"{_CREDIT}: 4 to 8", CREDIT_DISPUTE)
def check_contact(call: BankCall) -> Iterator[Answer]:
    """A dispute gives the customer's name, phone, email and address as registered."""
    user = call.row("users", "user_id")
    for field, known in _ON_RECORD.items() if user else ():
        given, registered = call.arguments.get(field), (user or {}).get(known)
        if registered and not is_same(given, registered):
            yield Broken(f"the registered {known.replace('_', ' ')} is {registered}, not {given}")


@bank.state("dispute.digits", f"{_CREDIT}: 3", CREDIT_DISPUTE)
def check_digits(call: BankCall) -> Iterator[Answer]:
    """A dispute names the last digits of the card with which was paid."""
    paid = _card_transaction(call)
    card = _card_of(call, paid) if paid else None
    given = call.arguments.get("card_last_4_digits")
    if card is None:
        return
    known = (card.get("card_last_4_digits"), last_4_digits(str(card.get("account_id"))))
    if given not in known:
        yield Broken(f"the card does not end in {given}")


@bank.state("dispute.provisional", _PROVISIONAL, CREDIT_DISPUTE)
def check_provisional_credit(call: BankCall) -> Iterator[Answer]:
    """Provisional credit is given if card, amount, reason and history allow it, and only then."""
    paid = _card_transaction(call)
    card = _card_of(call, paid) if paid else None
    given = call.arguments.get("eligible_for_provisional_credit")
    if paid is None or not isinstance(given, bool):
        return
    if card is None:
        yield CannotTell("with which card was paid is not on record")
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


@bank.state("dispute.refund", f"{_CREDIT}: 13 and 14", CREDIT_DISPUTE)
def check_refund(call: BankCall) -> Iterator[Answer]:
    """A partial refund is a part of what was paid, and a full one names no part."""
    paid, part = _card_transaction(call), call.figure("partial_refund_amount")
    amount = figure(paid.get("transaction_amount")) if paid else None
    wanted = call.text("resolution_requested")
    if wanted == "partial_refund" and amount is not None and part is not None:
        if not 0 < part < amount:
            yield Broken(f"${part:g} are no part of the ${amount:g} that were paid")
    elif wanted == "full_refund" and part:
        yield Broken(f"a full refund is asked for, and ${part:g} are named")


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


@bank.state("debit_dispute.transaction", f"{_DEBIT}: 1 to 8", DEBIT_DISPUTE)
def check_debit_transaction(call: BankCall) -> Iterator[Answer]:
    """A dispute is about a booking of the account, on its date, and no more than its amount."""
    booking = _account_transaction(call)
    if booking is None:
        named = call.arguments.get("transaction_id")
        yield Broken(f"there is no transaction {named!r}")
        return
    if booking.get("account_id") != call.arguments.get("account_id"):
        named = booking.get("account_id")
        yield Broken(f"the transaction was booked on account {named}")
    date, given = read_date(booking.get("date")), read_date(call.arguments.get("transaction_date"))
    if date is not None and (given is None or given.date() != date.date()):
        yield Broken(f"the transaction was on {date:%m/%d/%Y}")
    booked, amount = figure(booking.get("amount")), call.figure("disputed_amount")
    deposit = call.text("dispute_category") == "atm_deposit_not_credited"
    if booked is not None and amount is not None and amount > abs(booked) and not deposit:
        yield Broken(f"${amount:g} are disputed, and ${abs(booked):g} were booked")


@bank.state("debit_dispute.eligible", f"{_DEBIT}: pre-filing", DEBIT_DISPUTE)
def check_debit_eligible(call: BankCall) -> Iterator[Answer]:
    """A transaction of at least a dollar is disputed within 60 days, on an open account."""
    booking, account = _account_transaction(call), call.row("accounts", "account_id")
    amount = abs(figure(booking.get("amount")) or 0.0) if booking else None
    if amount is not None and amount < 1:
        yield Broken(f"the transaction was about ${amount:.2f}")
    days = days_since(booking.get("date")) if booking else None
    if days is not None and days > 60:
        yield Broken(f"the transaction is {days} days old")
    yield from other_status("account", account, "OPEN")


@bank.state("debit_dispute.most", f"{_DEBIT}: pre-filing 4", DEBIT_DISPUTE)
def check_debit_count(call: BankCall) -> Iterator[Answer]:
    """An account has no more open disputes than its tier allows."""
    most = _MOST_OPEN.get(tier_of(call.row("accounts", "account_id")) or "")
    account_id = call.arguments.get("account_id")
    found = rows_with(call.db, "debit_card_disputes", "account_id", account_id)
    count = sum(each.get("status") in _OPEN for each in found)
    if most is not None and count >= most:
        yield Broken(f"{count} disputes of the account are open")


@bank.state("debit_dispute.card", f"{_DEBIT}: 3", DEBIT_DISPUTE)
def check_debit_card(call: BankCall) -> Iterator[Answer]:
    """The card of a dispute belongs to the account."""
    card = call.row("debit_cards", "card_id")
    if card is not None and card.get("account_id") != call.arguments.get("account_id"):
        named = card.get("account_id")
        yield Broken(f"the card belongs to account {named}")


@bank.state("debit_dispute.action", f"{_DEBIT}: card action", DEBIT_DISPUTE)
def check_card_action(call: BankCall) -> Iterator[Answer]:
    """The category of the dispute decides what happens to the card."""
    category, given = call.text("dispute_category"), call.text("card_action")
    due = _ACTION.get(category)
    if due is not None and given != due:
        yield Broken(f"{category} calls for {due}, not {given}")


@bank.state("debit_dispute.type", f"{_DEBIT}: 5 and 9", DEBIT_DISPUTE)
def check_debit_type(call: BankCall) -> Iterator[Answer]:
    """The type of a transaction fits the category of the dispute."""
    category, given = call.text("dispute_category"), call.text("transaction_type")
    fitting = _TYPES.get(category)
    if fitting is not None and given not in fitting:
        yield Broken(f"{category} does not fit a transaction of type {given}")


@bank.state("debit_dispute.earliest", _DEBIT, DEBIT_DISPUTE)
def check_earliest(call: BankCall) -> Iterator[Answer]:
    """The first of charges that were made twice is disputed."""
    booking = _account_transaction(call)
    if booking is None or call.text("dispute_category") != "duplicate_charge":
        return
    date = read_date(booking.get("date"))
    same = rows_with(
        call.db, "bank_account_transaction_history", "account_id", booking.get("account_id")
    )
    for other in same:
        earlier = read_date(other.get("date"))
        alike = all(other.get(key) == booking.get(key) for key in ("description", "amount"))
        if alike and earlier is not None and date is not None and earlier < date:
            near = (date - earlier).days <= 7
            named = other.get("transaction_id")
            if near:
                yield Broken(f"transaction {named} is the first of them")


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


@bank.state("debit_dispute.liability", _DEBIT, DEBIT_DISPUTE)
def check_liability(call: BankCall) -> Iterator[Answer]:
    """The customer's liability is 50 or 500 dollars at most, or the amount itself."""
    most, amount = call.figure("customer_max_liability_amount"), call.figure("disputed_amount")
    if most is not None and amount is not None and most not in (50, 500, amount):
        yield Broken(f"a liability of ${most:g} is not one of the steps")
