"""The bank's policy on accounts and their debit cards.

Rules say who may have what and when. Those about the values of a write, such as fees, are not here:
the verdict compares them.
"""

import math
from collections.abc import Iterator, Mapping
from datetime import timedelta

from maseval.benchmark.tau2.domains.banking_knowledge.accounts import CLOSING_FEES
from maseval.benchmark.tau2.domains.banking_knowledge.desk import NOW
from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.banking_knowledge.records import (
    BankCall,
    balance_of,
    bank,
    bookings_of,
    days_since,
    kind_of,
    level_of,
    other_kind,
    other_status,
    pending_bookings,
    product_of,
    read_date,
    recent,
    rows_with,
)
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell

OPEN, CLOSE = "open_bank_account_4821", "close_bank_account_7392"
CHECKING_CREDIT = "apply_checking_account_credit_5829"
SAVINGS_CREDIT = "apply_savings_account_credit_6831"
REPORT = "submit_interest_discrepancy_report_7294"
HISTORY = "get_bank_account_transactions_9173"
ORDER, CLOSE_CARD = "order_debit_card_5739", "close_debit_card_4721"
BLOCK = "set_debit_card_recurring_block_7382"

_OPENING, _CLOSING = "Opening accounts (internal)", "Closing accounts (internal)"
_CREDITS = "Applying credits (internal)"
_ORDERING = "Ordering a debit card (internal)"
_REPLACING = "Debit card replacement by tier (internal)"

# So many accounts of a type at most; whether the new one counts is said of savings only.
_MOST = {"checking": 4, "savings": 5, "business_checking": 6, "business_savings": 4}
_SAVINGS = ("savings", "business_savings")
# The account that a further one rests on, the days it must be old, and what it must hold.
_RESTS_ON = {
    "savings": ("checking", 14, 0),
    "business_checking": ("checking", 0, 500),
    "business_savings": ("business_checking", 30, 2500),
}
# The fee for closing an account early, and within how many days it is due.
_EARLY: Mapping[str, Mapping[str, tuple[int, int]]] = {
    **{
        kind: {name.removesuffix(" Account"): terms for name, terms in fees.items()}
        for kind, fees in CLOSING_FEES.items()
    },
    "business_checking": {
        "Navy Blue": (50, 60),
        **dict.fromkeys(("True Blue", "Sky Blue"), (100, 90)),
        "Cobalt Blue": (200, 180),
    },
    "business_savings": {
        "Bronze Saver": (75, 90),
        "Silver Saver": (125, 120),
        "Gold Saver": (250, 180),
        "Platinum Reserve": (500, 270),
    },
}
_NEEDS_A_SUPERIOR = {
    "savings": ("Platinum", "Platinum Plus", "Diamond Elite"),
    "business_checking": ("Cobalt Blue",),
    "business_savings": ("Gold Saver", "Platinum Reserve"),
}
_GOODWILL = 25

_TIERS = {
    **dict.fromkeys(("Light Blue", "Light Green", "Green Fee-Free"), "entry"),
    **dict.fromkeys(("Blue", "Green"), "mid"),
    "Evergreen": "premium",
    "Bluest": "elite",
}


def _held_by(call: BankCall, user_id: object) -> list[Row]:
    return rows_with(call.db, "accounts", "user_id", user_id)


def _of_kind(accounts: list[Row], kind: str) -> list[Row]:
    held = (each for each in accounts if kind_of(each) == kind)
    return [each for each in held if each.get("status") in ("OPEN", "ACTIVE")]


def _minor(call: BankCall) -> Iterator[Answer]:
    if (years := days_since(call.user.get("date_of_birth")) / 365.2425) < 18:
        yield Broken(f"the customer is {years:.0f} years old")


@bank.state("open.eligible", f"{_OPENING}: eligibility", OPEN)
def check_opening(call: BankCall) -> Iterator[Answer]:
    """An account is opened for an adult who has no more than the bank allows, and what it needs."""
    kind, accounts = call.text("account_type"), _held_by(call, call.arguments.get("user_id"))
    if kind == "checking":
        yield from _minor(call)
    most, count = _MOST.get(kind, math.inf), len(_of_kind(accounts, kind))
    if count > most or (count == most and kind in _SAVINGS):
        yield Broken(f"the customer has {count} {kind} accounts already")
    elif count == most:
        yield CannotTell(f"{count} {kind} accounts are held, and {most} may not be exceeded")
    for account in accounts:
        named = account.get("account_id")
        if kind in _SAVINGS and balance_of(account) < 0:
            yield Broken(f"account {named} is overdrawn")
        if kind == "business_checking" and account.get("status") == "CLOSED":
            yield Broken(f"account {named} was closed")
    needed, days, least = _RESTS_ON.get(kind, ("", 0, 0))
    base = _of_kind(accounts, needed)
    if needed and not base:
        yield Broken(f"the customer has no open {needed} account")
    oldest = max((days_since(each.get("date_opened")) for each in base), default=math.nan)
    if oldest < days:
        yield Broken(f"the {needed} account is {oldest} days old, and {days} are needed")
    holding = max(map(balance_of, base), default=math.nan)
    if holding < least:
        yield Broken(f"the {needed} account holds ${holding:.2f}, and ${least} are needed")


@bank.state("close.allowed", _CLOSING, CLOSE)
def check_closing(call: BankCall) -> Iterator[Answer]:
    """An open account is closed when it is empty, or covers the fee, and nothing is under way."""
    account, named = call.account, call.account.get("account_id")
    if not account:
        return
    kind, product, balance = kind_of(account), product_of(account), balance_of(account)
    fee, days = _EARLY.get(kind, {}).get(product, (0, 0))
    if not days_since(account.get("date_opened")) < days:
        fee = 0
    yield from other_status("account", account, "OPEN", ends=", not OPEN")
    if fee and balance < fee:
        yield Broken(f"a fee of ${fee} is due, and the account holds ${balance:.2f}")
    elif not fee and balance:
        yield Broken(f"the account still holds ${balance:.2f}")
    if fee and call.arguments.get("waive_early_closure_fee") is True:
        yield Broken(f"the fee of ${fee} is waived without a rule for it")
    yield from pending_bookings(call.db, named)
    for card in call.rows("debit_cards", "account_id"):
        if card.get("status") in ("ACTIVE", "PENDING", "FROZEN"):
            yield Broken(f"debit card {card.get('card_id')} is still {card.get('status')}")
    held = _held_by(call, account.get("user_id"))
    others = [each for each in held if each.get("account_id") != named]
    if kind == "business_checking" and _of_kind(others, "business_savings"):
        yield Broken("a business savings account of the customer is still open")
    if kind == "business_savings" and not _of_kind(others, "business_checking"):
        yield Broken("the customer has no open business checking account")
    if product in _NEEDS_A_SUPERIOR.get(kind, ()):
        text = "the record does not show if a superior approved closing the"
        yield CannotTell(f"{text} {level_of(account)}")


@bank.state("credit.allowed", _CREDITS, CHECKING_CREDIT, SAVINGS_CREDIT)
def check_credit(call: BankCall) -> Iterator[Answer]:
    """A credit is booked with the tool for the account, a checking account's once in two weeks.

    More than 25 dollars of goodwill need a supervisor, whom the agent has not.
    """
    wanted = "checking" if call.name == CHECKING_CREDIT else "savings"
    yield from other_kind(call.account, wanted, ends=f", not a {wanted} one")
    if call.name == SAVINGS_CREDIT:
        amount = call.number("amount")
        if call.text("credit_type") == "goodwill_credit" and amount > _GOODWILL:
            yield Broken(f"${amount:.2f} are credited as goodwill")
        return
    for booking in recent(bookings_of(call.db, call.arguments.get("account_id")), 14, "date"):
        if str(booking.get("description", "")).endswith("CUSTOMER SERVICE"):
            yield Broken(f"the account was credited on {booking.get('date')} already")


@bank.flow(
    "credit.read", f"{_CREDITS}: transaction history", CHECKING_CREDIT, SAVINGS_CREDIT, REPORT
)
def check_history_read(call: BankCall) -> Iterator[Answer]:
    """The bookings of an account are read before a credit or a report about it."""
    account_id = call.arguments.get("account_id")
    if not call.has_read(HISTORY, account_id=account_id):
        yield Broken(f"the bookings of {account_id} were not read before")


def tier_of(account: Row) -> str:
    """Return the tier of a checking account; empty where the documents give none."""
    return _TIERS.get(product_of(account), "")


def _business_days_since(value: object) -> float:
    opened = read_date(value)
    if opened is None:
        return math.nan
    days = ((opened + timedelta(days=each)) for each in range(1, min((NOW - opened).days, 30) + 1))
    return sum(day.weekday() < 5 for day in days)


@bank.state("card_order.eligible", f"{_ORDERING}: eligibility", ORDER)
def check_order(call: BankCall) -> Iterator[Answer]:
    """A card is ordered for an adult in the United States with a checking account without one.

    The account is open, three business days old, and holds 25 dollars.
    """
    account, address = call.account, str(call.user.get("address", ""))
    kinds = ("checking", "business_checking")
    yield from other_kind(account, *kinds, ends=", which has no debit cards")
    yield from other_status("account", account, "OPEN")
    if (days := _business_days_since(account.get("date_opened"))) < 3:
        yield Broken(f"the account is {days} business days old")
    if account and balance_of(account) < 25:
        yield Broken(f"the account holds ${balance_of(account):.2f}")
    for card in call.rows("debit_cards", "account_id"):
        if card.get("status") in ("ACTIVE", "PENDING"):
            yield Broken(f"card {card.get('card_id')} is {card.get('status')}")
    yield from _minor(call)
    if address and not phrases.US.search(address):
        yield Broken(f"the address on file is {address}")


@bank.state("card_order.waiting", f"{_REPLACING}: waiting", ORDER)
def check_waiting(call: BankCall) -> Iterator[Answer]:
    """A card of the entry tier is replaced 48 hours after it was closed."""
    for card in recent(call.rows("debit_cards", "account_id"), 1, "closed_date"):
        if card.get("status") == "CLOSED" and tier_of(call.account) == "entry":
            yield Broken(f"card {card.get('card_id')} was closed on {card.get('closed_date')}")


@bank.state("card_close.allowed", "Closing a debit card", CLOSE_CARD, BLOCK)
def check_card_closing(call: BankCall) -> Iterator[Answer]:
    """A card in use is closed after 14 days and without pending transactions, unless unsafe."""
    card = call.card
    pending = ("PENDING",) if call.name == CLOSE_CARD else ()
    yield from other_status("card", card, "ACTIVE", *pending)
    if call.name == BLOCK or call.text("reason").lower() in ("lost", "stolen", "fraud_suspected"):
        return
    if (days := days_since(card.get("issue_date") or card.get("date_issued"))) < 14:
        yield Broken(f"the card was issued {max(days, 0)} days ago")
    yield from pending_bookings(call.db, card.get("account_id")) if card else ()
