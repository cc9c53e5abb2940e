"""The bank's policy on accounts and their debit cards."""

import math
from collections.abc import Iterator, Mapping
from datetime import timedelta

from maseval.benchmark.tau2.domains.banking_knowledge.accounts import CLOSING_FEES
from maseval.benchmark.tau2.domains.banking_knowledge.debit_card_use import ACTIVATED_BY
from maseval.benchmark.tau2.domains.banking_knowledge.desk import NOW, TODAY
from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.banking_knowledge.records import (
    BankCall,
    balance_of,
    bank,
    bookings_of,
    days_since,
    figure,
    find_row,
    kind_of,
    level_of,
    money,
    other_kind,
    other_status,
    pending_bookings,
    product_of,
    read_date,
    recent,
    rows_with,
    too_young,
    wrong_amount,
)
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell

OPEN, CLOSE = "open_bank_account_4821", "close_bank_account_7392"
MOVE = "transfer_funds_between_bank_accounts_7291"
CHECKING_CREDIT = "apply_checking_account_credit_5829"
SAVINGS_CREDIT = "apply_savings_account_credit_6831"
REPORT = "submit_interest_discrepancy_report_7294"
HISTORY = "get_bank_account_transactions_9173"
ORDER, CLOSE_CARD = "order_debit_card_5739", "close_debit_card_4721"
FREEZE, UNFREEZE = "freeze_debit_card_3892", "unfreeze_debit_card_3893"
RESET_PIN, CHANGE_PIN = "reset_debit_card_pin_6284", "change_debit_card_pin_6285"
CLEAR_ALERT = "clear_debit_card_fraud_alert_4892"
RAISE_LIMIT = "request_temporary_debit_card_limit_increase_8374"
BLOCK = "set_debit_card_recurring_block_7382"

_OPENING, _CLOSING = "Opening accounts (internal)", "Closing accounts (internal)"
_CREDITS = "Applying credits (internal)"
_ORDERING = "Ordering a debit card (internal)"
_REPLACING = "Debit card replacement by tier (internal)"

# The products of each type, without "Account" at their end.
_PRODUCTS: Mapping[str, tuple[str, ...]] = {
    "checking": (
        *("Blue", "Bluest", "Dark Green", "Evergreen", "Gold Years", "Green"),
        *("Green Fee-Free", "Light Blue", "Light Green", "Purple"),
    ),
    "savings": (
        *("Bronze", "Diamond Elite", "Gold", "Gold Plus", "Green", "Platinum"),
        *("Platinum Plus", "Silver", "Silver Plus", "Gold Years"),
    ),
    "business_checking": (
        *("Beige", "Cobalt Blue", "Hunter Green", "Lime Green", "Navy Blue", "Sky Blue"),
        *("True Blue", "World Blue"),
    ),
    "business_savings": (
        *("Bronze Saver", "Diamond Vault", "Emerald Saver", "Gold Plus Saver", "Gold Saver"),
        *("Platinum Reserve", "Silver Plus Saver", "Silver Saver"),
    ),
}
_FULL_NAMES = ("checking", "savings")
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
# What a delivery costs whom; a tier without an option does not offer it for a replacement.
_DELIVERY: Mapping[str, Mapping[str, float]] = {
    "entry": {"STANDARD": 0},
    "mid": {"STANDARD": 0, "EXPEDITED": 15},
    "premium": {"STANDARD": 0, "EXPEDITED": 0, "RUSH": 35},
    "elite": {"STANDARD": 0, "EXPEDITED": 0, "RUSH": 0},
}
_FIRST_DELIVERY = {"STANDARD": 0.0, "EXPEDITED": 15.0, "RUSH": 35.0}
_DESIGN: Mapping[str, Mapping[str, float]] = {
    **{each: {"CLASSIC": 0, "PREMIUM": 10, "CUSTOM": 25} for each in ("entry", "mid")},
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
_SETS_A_PIN = {**dict.fromkeys(ACTIVATED_BY, "pin"), RESET_PIN: "new_pin", CHANGE_PIN: "new_pin"}
_EXPIRY = ("%m/%y", "%m/%Y", "%m/%d/%Y", "%Y-%m", "%m-%y")


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


@bank.state("open.product", f"{_OPENING}: account_class", OPEN)
def check_product(call: BankCall) -> Iterator[Answer]:
    """The account is opened under the full name of a product of its type."""
    kind, name = call.text("account_type"), call.text("account_class")
    known = _PRODUCTS.get(kind, ())
    if kind == "savings":  # the document about business savings gives their type as this, too
        known += _PRODUCTS["business_savings"]
    opened = {"level": name}
    if known and product_of(opened) not in known:
        yield Broken(f"there is no {kind} product {name!r}")
    elif kind in _FULL_NAMES and not level_of(opened).endswith("Account"):
        yield Broken(f"{name!r} is not the full name of the product")


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


@bank.state("move.accounts", "Transferring funds: preconditions", MOVE)
def check_move(call: BankCall) -> Iterator[Answer]:
    """Money moves between two open accounts, and no more than the first one holds."""
    source = call.row("accounts", "source_account_id")
    target = call.row("accounts", "destination_account_id")
    for account in filter(None, (source, target)):
        if account.get("status") not in ("OPEN", "ACTIVE"):
            yield Broken(f"account {account.get('account_id')} is {account.get('status')}")
    held = balance_of(source) if source else math.nan
    yield from wrong_amount(call.number("amount"), "moved", (held, "held"))
    if source and source is target:
        yield Broken("the accounts are the same")


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


@bank.state("interest.report", "Interest reports", REPORT)
def check_report(call: BankCall) -> Iterator[Answer]:
    """Wrong interest on savings is corrected first, and then reported with what was credited."""
    credited = [
        figure(row.get("amount"))
        for row in bookings_of(call.db, call.arguments.get("account_id"))
        if row.get("type") == "interest_correction" and row.get("date") == TODAY
    ]
    amount, expected = call.number("amount_difference"), call.number("expected_apy")
    if not credited:
        yield Broken("the interest was not corrected before the report")
    elif not math.isnan(amount) and amount not in credited:
        yield Broken(f"${amount:.2f} are reported, and ${credited[0]:.2f} were credited")
    if expected == call.number("actual_apy"):
        yield Broken(f"expected and actual rate are both {expected:g} %")
    yield from other_kind(call.account, "savings")


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


@bank.state(
    "card_order.fees", f"{_REPLACING}: shipping and design fees; {_ORDERING}: options", ORDER
)
def check_order_fees(call: BankCall) -> Iterator[Answer]:
    """Delivery and design of a debit card cost what the account's tier pays for them.

    A first card costs what the general list or that of the tier says.
    """
    tier, first = tier_of(call.account), not call.rows("debit_cards", "account_id")
    option, design = call.text("delivery_option").upper(), call.text("card_design").upper()
    if not tier:
        return
    if option in _FIRST_DELIVERY and option not in _DELIVERY[tier] and not first:
        yield Broken(f"{option} delivery is not offered in the {tier} tier")
    for name, chosen, rates, general in (
        ("delivery_fee", option, _DELIVERY[tier], _FIRST_DELIVERY),
        ("design_fee", design, _DESIGN[tier], _DESIGN["entry"]),
    ):
        charged = call.number(name)
        due = [table[chosen] for table in (rates, *[general] * first) if chosen in table]
        if due and charged not in due and not math.isnan(charged):
            text = f"the {name.replace('_', ' ')} is ${due[0]:g}, and ${charged:g} are charged"
            yield Broken(text)


@bank.state("card_order.replaced", f"{_REPLACING}: limits", ORDER)
def check_replacements(call: BankCall) -> Iterator[Answer]:
    """A card is replaced no more often in a year than the tier allows, or for the fee beyond."""
    most, fee = _REPLACEMENTS.get(tier_of(call.account), (math.nan, None))
    cards = call.rows("debit_cards", "account_id")
    replaced = (each for each in cards if each.get("issue_reason") in _REPLACED)
    made = len(recent(replaced, 364, "issue_date", "date_issued"))
    paid = money(call.arguments.get("excess_replacement_fee"))
    if made < most and paid:
        yield Broken(f"${paid:g} are charged beyond the limit, which is not reached")
    elif made >= most and fee is None:
        yield Broken(f"{made} cards were issued in their place within a year")
    elif made >= most and paid != fee:
        yield Broken(f"{made} cards were replaced within a year, and ${fee:g} are due for one more")


@bank.state("card_order.waiting", f"{_REPLACING}: waiting", ORDER)
def check_waiting(call: BankCall) -> Iterator[Answer]:
    """A card of the entry tier is replaced 48 hours after it was closed."""
    for card in recent(call.rows("debit_cards", "account_id"), 1, "closed_date"):
        if card.get("status") == "CLOSED" and tier_of(call.account) == "entry":
            yield Broken(f"card {card.get('card_id')} was closed on {card.get('closed_date')}")


def _linked_account(call: BankCall) -> Row:
    return find_row(call.db, "accounts", call.card.get("account_id"))


@bank.state("activate.allowed", "Activating a debit card", *ACTIVATED_BY)
def check_activation(call: BankCall) -> Iterator[Answer]:
    """A pending card of an open account is activated with the tool for the reason of its issue.

    Digits, code and date that the customer reads from it are those on record.
    """
    card = call.card
    reason = str(card.get("issue_reason", "new_account"))
    if card and reason not in ACTIVATED_BY[call.name]:
        yield Broken(f"the card was issued as {reason}")
    yield from other_status("card", card, "PENDING")
    yield from other_status("account", _linked_account(call), "OPEN")
    for field in ("last_4_digits", "cvv"):
        given, known = call.text(field), card.get(field)
        if given and known and given != known:
            yield Broken(f"the {field.replace('_', ' ')} {given} are not the card's")
    expires, given = read_date(card.get("expiration_date")), call.text("expiration_date")
    if expires is not None and expires < NOW:
        yield Broken("the card has expired")
    forms = {f"{expires:{form}}".lstrip("0") for form in _EXPIRY} if expires else {given}
    if given and given.lstrip("0") not in {form.lstrip("0") for form in forms}:
        yield Broken(f"the card does not expire {given}")


def is_weak(pin: str) -> bool:
    """Return True if a PIN is no four digits, a sequence, or one digit four times."""
    if len(pin) != 4 or not pin.isdigit() or len(set(pin)) == 1:
        return True
    return any(pin in sequence for sequence in ("0123456789", "9876543210"))


@bank.state(
    "pin.allowed", "Debit card PINs (internal): requirements; PIN lock investigation", *_SETS_A_PIN
)
def check_pin(call: BankCall) -> Iterator[Answer]:
    """A PIN is not easily guessed, and is reset or changed on an active card without a hold."""
    pin, card = call.text(_SETS_A_PIN[call.name]), call.card
    if is_weak(pin):
        yield Broken("the new PIN is too easily guessed, or has not four digits")
    if call.name in ACTIVATED_BY:
        return
    user, digits = find_row(call.db, "users", card.get("user_id")), call.text("last_4_digits")
    born = read_date(user.get("date_of_birth"))
    if born is not None and pin in (f"{born:%Y}", f"{born:%m%d}"):
        yield Broken("the new PIN is taken from the customer's date of birth")
    yield from other_status("card", card, "ACTIVE")
    if call.name == RESET_PIN and card and digits not in ("", card.get("last_4_digits")):
        yield Broken(f"the card does not end in {digits}")
    if card.get("pin_lock_reason") == "security_hold":
        yield Broken("the card is under a security hold")


@bank.state("freeze.status", "Freezing a debit card", FREEZE, UNFREEZE)
def check_freezing(call: BankCall) -> Iterator[Answer]:
    """An active card is frozen, and a frozen one of an open account is unfrozen."""
    wanted = "ACTIVE" if call.name == FREEZE else "FROZEN"
    yield from other_status("card", call.card, wanted, ends=f", not {wanted}")
    if call.name == UNFREEZE:
        yield from other_status("account", _linked_account(call), "OPEN")


@bank.state("alert.clear", "Debit card alerts and blocks", CLEAR_ALERT)
def check_alert(call: BankCall) -> Iterator[Answer]:
    """The agent lifts a block, or an alert that the customer set, and not one of the bank."""
    card, reason = call.card, call.text("reason") if call.card else ""
    if reason == "velocity_clear" and not card.get("velocity_blocked"):
        yield Broken("the card has no velocity block")
    if reason == "customer_verified" and not card.get("fraud_alert_active"):
        yield Broken("the card has no fraud alert")
    elif reason == "customer_verified" and card.get("alert_source") != "customer_initiated":
        yield Broken(f"the alert was raised by {card.get('alert_source')}")


@bank.state("limit_raise.allowed", "Temporary limit increase", RAISE_LIMIT)
def check_limit(call: BankCall) -> Iterator[Answer]:
    """The limit of an active card is raised by a half at most, and once a day.

    Its account is open, 60 days old, and without an overdraft fee for 30 days.
    """
    card, account = call.card, _linked_account(call)
    yield from other_status("card", card, "ACTIVE")
    yield from other_status("account", account, "OPEN")
    yield from too_young(account.get("date_opened"), 60)
    for booking in recent(bookings_of(call.db, card.get("account_id")), 30, "date"):
        if booking.get("type") == "overdraft_fee":
            yield Broken(f"an overdraft fee was charged on {booking.get('date')}")
    new, old = call.number("new_limit"), figure(card.get(f"daily_{call.text('limit_type')}_limit"))
    if new > 1.5 * old:
        yield Broken(f"${new:g} are more than 150 % of ${old:g}")
    if any(card.get(f"temporary_{each}_limit_expires") == TODAY for each in ("atm", "purchase")):
        yield Broken("a limit of the card was raised today already")


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
