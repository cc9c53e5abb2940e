"""The bank's policy on debit cards: ordering, activating, PINs, blocks, limits and closing."""

import math
from collections.abc import Iterator, Mapping
from datetime import timedelta

from maseval.benchmark.tau2.domains.banking_knowledge.debit_card_use import ACTIVATED_BY
from maseval.benchmark.tau2.domains.banking_knowledge.desk import NOW, TODAY
from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.banking_knowledge.account_rules import age_of, product_of
from maseval.benchmark.tau2.review.policy.banking_knowledge.inner_calls import (
    BankCall,
    balance_of,
    bank,
    days_since,
    find_row,
    kind_of,
    other_status,
    pending_bookings,
    read_date,
    rows_with,
)
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken

ORDER, CLOSE_CARD = "order_debit_card_5739", "close_debit_card_4721"
FREEZE, UNFREEZE = "freeze_debit_card_3892", "unfreeze_debit_card_3893"
RESET_PIN, CHANGE_PIN = "reset_debit_card_pin_6284", "change_debit_card_pin_6285"
CLEAR_ALERT = "clear_debit_card_fraud_alert_4892"
RAISE_LIMIT = "request_temporary_debit_card_limit_increase_8374"
BLOCK = "set_debit_card_recurring_block_7382"
DEBIT_CARD_WRITES = (
    *(ORDER, CLOSE_CARD, FREEZE, UNFREEZE, RESET_PIN, CHANGE_PIN, CLEAR_ALERT, RAISE_LIMIT),
    *(BLOCK, *ACTIVATED_BY),
)

_ORDERING = "Ordering a debit card (internal)"
_REPLACING = "Debit card replacement by tier (internal)"
_PINS = "Debit card PINs (internal)"

_TIERS = {
    **dict.fromkeys(("Light Blue", "Light Green", "Green Fee-Free"), "entry"),
    **dict.fromkeys(("Blue", "Green"), "mid"),
    "Evergreen": "premium",
    "Bluest": "elite",
}
# What a delivery costs whom; a tier without an option does not offer it for a replacement.
_DELIVERY: Mapping[str, Mapping[str, float]] = {
    "entry": {"STANDARD": 0},
    "mid": {"STANDARD": 0, "EXPEDITED": 15},
    "premium": {"STANDARD": 0, "EXPEDITED": 0, "RUSH": 35},
    "elite": {"STANDARD": 0, "EXPEDITED": 0, "RUSH": 0},
}
_FIRST_DELIVERY = {"STANDARD": 0.0, "EXPEDITED": 15.0, "RUSH": 35.0}
_DESIGN: Mapping[str, Mapping[str, float]] = {
    "entry": {"CLASSIC": 0, "PREMIUM": 10, "CUSTOM": 25},
    "mid": {"CLASSIC": 0, "PREMIUM": 10, "CUSTOM": 25},
    "premium": {"CLASSIC": 0, "PREMIUM": 0, "CUSTOM": 15},
    "elite": {"CLASSIC": 0, "PREMIUM": 0, "CUSTOM": 0},
}
# Replacements in a year, and what one more costs; None where it is not to be had.
_REPLACEMENTS: Mapping[str, tuple[float, float | None]] = {
    "entry": (2, 25),
    "mid": (3, 15),
    "premium": (5, None),
    "elite": (math.inf, None),
}
_REPLACED = ("lost", "stolen", "fraud", "damaged")
_UNSAFE = ("lost", "stolen", "fraud_suspected")
_LEAST_BALANCE = 25
_SEQUENCES = ("0123456789", "9876543210")


def tier_of(account: Row | None) -> str | None:
    """Return the tier of a checking account; None where the documents give none."""
    return None if account is None else _TIERS.get(product_of(account))


def _cards_of(call: BankCall) -> list[Row]:
    return rows_with(call.db, "debit_cards", "account_id", call.arguments.get("account_id"))


def _linked_account(call: BankCall, card: Row) -> Row | None:
    return find_row(call.db, "accounts", card.get("account_id"))


def _business_days_since(value: object) -> int | None:
    opened = read_date(value)
    if opened is None:
        return None
    days = ((opened + timedelta(days=each)) for each in range(1, min((NOW - opened).days, 30) + 1))
    return sum(day.weekday() < 5 for day in days)


@bank.state("card_order.eligible", f"{_ORDERING}: eligibility", ORDER)
def check_order(call: BankCall) -> Iterator[Answer]:
    """A card is ordered for an adult in the United States with a checking account without one.

    The account is open, three business days old, and holds 25 dollars.
    """
    account, user, age = (
        call.row("accounts", "account_id"),
        call.row("users", "user_id"),
        age_of(call),
    )
    if account is not None:
        if kind_of(account) not in ("checking", "business_checking"):
            yield Broken(f"this is a {kind_of(account)} account, which has no debit cards")
        yield from other_status("account", account, "OPEN")
        days = _business_days_since(account.get("date_opened"))
        if days is not None and days < 3:
            yield Broken(f"the account is {days} business days old")
        if balance_of(account) < _LEAST_BALANCE:
            yield Broken(f"the account holds ${balance_of(account):.2f}")
    for card in _cards_of(call):
        if card.get("status") in ("ACTIVE", "PENDING"):
            yield Broken(f"card {card.get('card_id')} is {card.get('status')}")
    age = age_of(call)
    if age is not None and age < 18:
        yield Broken(f"the customer is {age:.0f} years old")
    address = str(user.get("address", "")) if user else ""
    if address and not phrases.US.search(address):
        yield Broken(f"the address on file is {address}")


@bank.state(
    "card_order.fees", f"{_REPLACING}: shipping and design fees; {_ORDERING}: options", ORDER
)
def check_order_fees(call: BankCall) -> Iterator[Answer]:
    """Delivery and design of a debit card cost what the account's tier pays for them."""
    tier = tier_of(call.row("accounts", "account_id"))
    if tier is None:
        return
    option, design = call.text("delivery_option").upper(), call.text("card_design").upper()
    first = not _cards_of(call)
    rates, designs = _DELIVERY[tier], _DESIGN[tier]
    if option in _FIRST_DELIVERY and option not in rates and not first:
        yield Broken(f"{option} delivery is not offered in the {tier} tier")
    # A first card costs what the general list or that of the tier says.
    general = (_FIRST_DELIVERY.get(option), _DESIGN["entry"].get(design)) if first else (None, None)
    for name, due, other in (
        ("delivery_fee", rates.get(option), general[0]),
        ("design_fee", designs.get(design), general[1]),
    ):
        charged, right = call.figure(name), due if due is not None else other
        if right is not None and charged is not None and charged not in (due, other):
            text = f"the {name.replace('_', ' ')} is ${right:g}, and ${charged:g} are charged"
            yield Broken(text)


def _replacements(call: BankCall) -> int:
    cards = (each for each in _cards_of(call) if each.get("issue_reason") in _REPLACED)
    ages = (days_since(each.get("issue_date") or each.get("date_issued")) for each in cards)
    return sum(age is not None and age < 365 for age in ages)


@bank.state("card_order.replaced", f"{_REPLACING}: limits", ORDER)
def check_replacements(call: BankCall) -> Iterator[Answer]:
    """A card is replaced no more often in a year than the tier allows, or for the fee beyond."""
    tier = tier_of(call.row("accounts", "account_id"))
    most, fee = _REPLACEMENTS.get(tier or "", (None, None))
    made, paid = _replacements(call), call.figure("excess_replacement_fee") or 0.0
    if most is None:
        return
    if made < most:
        if paid:
            yield Broken(f"${paid:g} are charged beyond the limit, which is not reached")
    elif fee is None:
        yield Broken(f"{made} cards were issued in their place within a year")
    elif paid != fee:
        yield Broken(f"{made} cards were replaced within a year, and ${fee:g} are due for one more")


@bank.state("card_order.waiting", f"{_REPLACING}: waiting", ORDER)
def check_waiting(call: BankCall) -> Iterator[Answer]:
    """A card of the entry tier is replaced 48 hours after it was closed."""
    if tier_of(call.row("accounts", "account_id")) != "entry":
        return
    for card in _cards_of(call):
        days = days_since(card.get("closed_date"))
        if card.get("status") == "CLOSED" and days is not None and days < 2:
            named, closed = card.get("card_id"), card.get("closed_date")
            yield Broken(f"card {named} was closed on {closed}")


@bank.state("activate.allowed", "Activating a debit card", *ACTIVATED_BY)
def check_activation(call: BankCall) -> Iterator[Answer]:
    """A pending card of an open account is activated with the tool for the reason of its issue.

    Digits, code and date that the customer reads from it are those on record.
    """
    card = call.row("debit_cards", "card_id")
    if card is None:
        return
    reason = str(card.get("issue_reason", "new_account"))
    if reason not in ACTIVATED_BY[call.name]:
        yield Broken(f"the card was issued as {reason}")
    yield from other_status("card", card, "PENDING")
    yield from other_status("account", _linked_account(call, card), "OPEN")
    for field in ("last_4_digits", "cvv"):
        given, known = call.text(field), card.get(field)
        if given and known and given != known:
            yield Broken(f"the {field.replace('_', ' ')} {given} are not the card's")
    expires, given = read_date(card.get("expiration_date")), call.text("expiration_date")
    if expires is None:
        return
    if expires < NOW:
        yield Broken("the card has expired")
    forms = {expires.strftime(form) for form in ("%m/%y", "%m/%Y", "%m/%d/%Y", "%Y-%m", "%m-%y")}
    if given and given.lstrip("0") not in {form.lstrip("0") for form in forms}:
        yield Broken(f"the card does not expire {given}")


_SETS_A_PIN = {**dict.fromkeys(ACTIVATED_BY, "pin"), RESET_PIN: "new_pin", CHANGE_PIN: "new_pin"}


def is_weak(pin: str) -> bool:
    """Return True if a PIN is no four digits, a sequence, or one digit four times."""
    if len(pin) != 4 or not pin.isdigit() or len(set(pin)) == 1:
        return True
    return any(pin in sequence for sequence in _SEQUENCES)


@bank.state("pin.allowed", f"{_PINS}: requirements; PIN lock investigation", *_SETS_A_PIN)
def check_pin(call: BankCall) -> Iterator[Answer]:
    """A PIN is not easily guessed, and is reset or changed on an active card without a hold."""
    pin, card = call.text(_SETS_A_PIN[call.name]), call.row("debit_cards", "card_id")
    if is_weak(pin):
        yield Broken("the new PIN is too easily guessed, or has not four digits")
    if card is None or call.name in ACTIVATED_BY:
        return
    user, digits = find_row(call.db, "users", card.get("user_id")), call.text("last_4_digits")
    born = read_date(user.get("date_of_birth")) if user else None
    if born is not None and pin in (born.strftime("%Y"), born.strftime("%m%d")):
        yield Broken("the new PIN is taken from the customer's date of birth")
    yield from other_status("card", card, "ACTIVE")
    if call.name == RESET_PIN and digits and digits != card.get("last_4_digits"):
        yield Broken(f"the card does not end in {digits}")
    if card.get("pin_lock_reason") == "security_hold":
        yield Broken("the card is under a security hold")


@bank.state("freeze.status", "Freezing a debit card", FREEZE, UNFREEZE)
def check_freezing(call: BankCall) -> Iterator[Answer]:
    """An active card is frozen, and a frozen one of an open account is unfrozen."""
    card = call.row("debit_cards", "card_id")
    if card is None:
        return
    wanted = "ACTIVE" if call.name == FREEZE else "FROZEN"
    if card.get("status") != wanted:
        status = card.get("status")
        yield Broken(f"the card is {status}, not {wanted}")
    if call.name == UNFREEZE:
        yield from other_status("account", _linked_account(call, card), "OPEN")


@bank.state("alert.clear", "Debit card alerts and blocks", CLEAR_ALERT)
def check_alert(call: BankCall) -> Iterator[Answer]:
    """The agent lifts a block, or an alert that the customer set, and not one of the bank."""
    card = call.row("debit_cards", "card_id")
    if card is None:
        return
    reason, source = call.text("reason"), card.get("alert_source")
    if reason == "velocity_clear" and not card.get("velocity_blocked"):
        yield Broken("the card has no velocity block")
    if reason == "customer_verified" and card.get("fraud_alert_active"):
        if source != "customer_initiated":
            yield Broken(f"the alert was raised by {source}")
    elif reason == "customer_verified":
        yield Broken("the card has no fraud alert")


@bank.state("limit_raise.allowed", "Temporary limit increase", RAISE_LIMIT)
def check_limit(call: BankCall) -> Iterator[Answer]:
    """The limit of an active card is raised by a half at most, and once a day.

    Its account is open, 60 days old, and without an overdraft fee for 30 days.
    """
    card, kind = call.row("debit_cards", "card_id"), call.text("limit_type")
    if card is None:
        return
    yield from other_status("card", card, "ACTIVE")
    account, account_id = _linked_account(call, card), card.get("account_id")
    yield from other_status("account", account, "OPEN")
    age = days_since(account.get("date_opened")) if account else None
    if age is not None and age < 60:
        yield Broken(f"the account is {age} days old")
    for booking in rows_with(call.db, "bank_account_transaction_history", "account_id", account_id):
        days = days_since(booking.get("date"))
        if booking.get("type") == "overdraft_fee" and days is not None and days <= 30:
            yield Broken(f"an overdraft fee was charged on {booking.get('date')}")
    new, old = call.figure("new_limit"), card.get(f"daily_{kind}_limit")
    if new is not None and isinstance(old, int | float) and new > 1.5 * old:
        yield Broken(f"${new:g} are more than 150 % of ${old:g}")
    if any(card.get(f"temporary_{each}_limit_expires") == TODAY for each in ("atm", "purchase")):
        yield Broken("a limit of the card was raised today already")


@bank.state("card_close.allowed", "Closing a debit card", CLOSE_CARD, BLOCK)
def check_card_closing(call: BankCall) -> Iterator[Answer]:
    """A card in use is closed after 14 days and without pending transactions, unless unsafe."""
    card = call.row("debit_cards", "card_id")
    yield from other_status(
        "card", card, *(("ACTIVE", "PENDING") if call.name == CLOSE_CARD else ("ACTIVE",))
    )
    if card is None or call.name == BLOCK or call.text("reason").lower() in _UNSAFE:
        return
    days = days_since(card.get("issue_date") or card.get("date_issued"))
    if days is not None and days < 14:
        yield Broken(f"the card was issued {max(days, 0)} days ago")
    yield from pending_bookings(call.db, card.get("account_id"))
