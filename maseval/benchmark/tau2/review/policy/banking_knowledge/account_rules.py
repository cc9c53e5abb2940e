"""The bank's policy on accounts: who may open one, close one, and have money booked on it."""

from collections.abc import Iterator, Mapping

from maseval.benchmark.tau2.domains.banking_knowledge.accounts import CLOSING_FEES
from maseval.benchmark.tau2.domains.banking_knowledge.desk import NOW, TODAY
from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.benchmark.tau2.review.policy.banking_knowledge.inner_calls import (
    BankCall,
    balance_of,
    bank,
    days_since,
    figure,
    is_open,
    kind_of,
    level_of,
    pending_bookings,
    read_date,
    rows_with,
)
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell

OPEN, CLOSE = "open_bank_account_4821", "close_bank_account_7392"
MOVE = "transfer_funds_between_bank_accounts_7291"
CHECKING_CREDIT = "apply_checking_account_credit_5829"
SAVINGS_CREDIT = "apply_savings_account_credit_6831"
REPORT = "submit_interest_discrepancy_report_7294"
HISTORY = "get_bank_account_transactions_9173"

_OPENING = "Opening accounts (internal)"
_CLOSING = "Closing accounts (internal)"
_CREDITS = "Applying credits (internal)"

# The products of each type, without "Account" at their end.
_PRODUCTS: Mapping[str, frozenset[str]] = {
    "checking": frozenset(
        {
            *("Blue", "Bluest", "Dark Green", "Evergreen", "Gold Years", "Green"),
            *("Green Fee-Free", "Light Blue", "Light Green", "Purple"),
        }
    ),
    "savings": frozenset(
        {
            *("Bronze", "Diamond Elite", "Gold", "Gold Plus", "Green", "Platinum"),
            *("Platinum Plus", "Silver", "Silver Plus", "Gold Years"),
        }
    ),
    "business_checking": frozenset(
        {
            *("Beige", "Cobalt Blue", "Hunter Green", "Lime Green", "Navy Blue", "Sky Blue"),
            *("True Blue", "World Blue"),
        }
    ),
    "business_savings": frozenset(
        {
            *("Bronze Saver", "Diamond Vault", "Emerald Saver", "Gold Plus Saver", "Gold Saver"),
            *("Platinum Reserve", "Silver Plus Saver", "Silver Saver"),
        }
    ),
}
_FULL_NAMES = ("checking", "savings")
# So many accounts of a type at most; whether the new one counts is said of savings only.
_MOST = {"checking": 4, "savings": 5, "business_checking": 6, "business_savings": 4}
_COUNTS_THE_NEW_ONE = ("savings", "business_savings")
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
_IN_USE = ("ACTIVE", "PENDING", "FROZEN")
_GOODWILL = 25
_COOLDOWN = 14


def product_of(account: Row) -> str:
    """Return the name of an account's product without "Account" at its end."""
    return level_of(account).removesuffix("Account").strip()


def _held_by(call: BankCall) -> list[Row]:
    return rows_with(call.db, "accounts", "user_id", call.arguments.get("user_id"))


def _of_kind(accounts: list[Row], kind: str) -> list[Row]:
    return [each for each in accounts if kind_of(each) == kind and is_open(each)]


def age_of(call: BankCall) -> float | None:
    """Return the years of the customer whom a call names."""
    user = call.row("users", "user_id")
    born = read_date(user.get("date_of_birth")) if user else None
    return None if born is None else (NOW - born).days / 365.2425


@bank.state("open.eligible", f"{_OPENING}: eligibility", OPEN)
def check_opening(call: BankCall) -> Iterator[Answer]:
    """An account is opened for an adult who has no more than the bank allows, and what it needs."""
    kind, accounts, age = call.text("account_type"), _held_by(call), age_of(call)
    if kind == "checking" and age is not None and age < 18:
        yield Broken(f"the customer is {age:.0f} years old")
    most, count = _MOST.get(kind), len(_of_kind(accounts, kind))
    if most is not None and (count > most or (count == most and kind in _COUNTS_THE_NEW_ONE)):
        yield Broken(f"the customer has {count} {kind} accounts already")
    elif count == most:
        yield CannotTell(f"{count} {kind} accounts are held, and {most} may not be exceeded")
    for account in accounts:
        named = account.get("account_id")
        if kind in ("savings", "business_savings") and balance_of(account) < 0:
            yield Broken(f"account {named} is overdrawn")
        if kind == "business_checking" and account.get("status") == "CLOSED":
            yield Broken(f"account {named} was closed")
    if kind in _RESTS_ON:
        yield from _base_account(accounts, *_RESTS_ON[kind])


def _base_account(accounts: list[Row], needed: str, days: int, least: int) -> Iterator[Answer]:
    """Yield what the account that a further one rests on lacks of age and balance."""
    base = _of_kind(accounts, needed)
    if not base:
        yield Broken(f"the customer has no open {needed} account")
        return
    oldest = max(days_since(each.get("date_opened")) or 0 for each in base)
    if oldest < days:
        yield Broken(f"the {needed} account is {oldest} days old, and {days} are needed")
    most = max(map(balance_of, base))
    if least and most < least:
        yield Broken(f"the {needed} account holds ${most:.2f}, and ${least} are needed")


@bank.state("open.product", f"{_OPENING}: account_class", OPEN)
def check_product(call: BankCall) -> Iterator[Answer]:
    """The account is opened under the full name of a product of its type."""
    kind, name = call.text("account_type"), call.text("account_class")
    bare = name.replace(" (checking)", "").replace(" (savings)", "")
    known = _PRODUCTS.get(kind)
    if known is None:
        return
    if kind == "savings":  # the document about business savings gives their type as this, too
        known |= _PRODUCTS["business_savings"]
    if bare.removesuffix("Account").strip() not in known:
        yield Broken(f"there is no {kind} product {name!r}")
    elif kind in _FULL_NAMES and not bare.endswith("Account"):
        yield Broken(f"{name!r} is not the full name of the product")


def early_fee(account: Row) -> int:
    """Return the fee that is due if an account is closed today."""
    fee, days = _EARLY.get(kind_of(account), {}).get(product_of(account), (0, 0))
    age = days_since(account.get("date_opened"))
    return fee if age is not None and age < days else 0


@bank.state("close.allowed", _CLOSING, CLOSE)
def check_closing(call: BankCall) -> Iterator[Answer]:
    """An open account is closed when it is empty, or covers the fee, and nothing is under way."""
    account = call.row("accounts", "account_id")
    if account is None:
        return
    kind, status = kind_of(account), account.get("status")
    fee, balance = early_fee(account), balance_of(account)
    if status != "OPEN":
        yield Broken(f"the account is {status}, not OPEN")
    if fee and balance < fee:
        yield Broken(f"a fee of ${fee} is due, and the account holds ${balance:.2f}")
    elif not fee and balance:
        yield Broken(f"the account still holds ${balance:.2f}")
    if fee and call.arguments.get("waive_early_closure_fee") is True:
        yield Broken(f"the fee of ${fee} is waived without a rule for it")
    yield from pending_bookings(call.db, account.get("account_id"))
    for card in rows_with(call.db, "debit_cards", "account_id", account.get("account_id")):
        if card.get("status") in _IN_USE:
            yield Broken(f"debit card {card.get('card_id')} is still {card.get('status')}")
    held = rows_with(call.db, "accounts", "user_id", account.get("user_id"))
    others = [each for each in held if each.get("account_id") != account.get("account_id")]
    if kind == "business_checking" and _of_kind(others, "business_savings"):
        yield Broken("a business savings account of the customer is still open")
    if kind == "business_savings" and not _of_kind(others, "business_checking"):
        yield Broken("the customer has no open business checking account")
    if product_of(account) in _NEEDS_A_SUPERIOR.get(kind, ()):
        yield CannotTell(
            f"the record does not show if a superior approved closing the {level_of(account)}"
        )


@bank.state("move.accounts", "Transferring funds: preconditions", MOVE)
def check_move(call: BankCall) -> Iterator[Answer]:
    """Money moves between two open accounts, and no more than the first one holds."""
    source = call.row("accounts", "source_account_id")
    target = call.row("accounts", "destination_account_id")
    for account in (source, target):
        if account is not None and not is_open(account):
            named = account.get("account_id")
            yield Broken(f"account {named} is {account.get('status')}")
    amount = call.figure("amount")
    if source is not None and amount is not None and amount > balance_of(source):
        yield Broken(f"${amount:.2f} are moved, and ${balance_of(source):.2f} are held")
    if amount is not None and amount <= 0:
        yield Broken(f"the amount {amount:g} is not positive")
    if source is not None and source is target:
        yield Broken("the accounts are the same")


@bank.state("credit.allowed", _CREDITS, CHECKING_CREDIT, SAVINGS_CREDIT)
def check_credit(call: BankCall) -> Iterator[Answer]:
    """A credit is booked with the tool for the account, a checking account's once in two weeks.

    More than 25 dollars of goodwill need a supervisor, whom the agent has not.
    """
    account, amount = call.row("accounts", "account_id"), call.figure("amount")
    wanted = "checking" if call.name == CHECKING_CREDIT else "savings"
    if account is not None and kind_of(account) != wanted:
        yield Broken(f"this is a {kind_of(account)} account, not a {wanted} one")
    if call.name == SAVINGS_CREDIT:
        if call.text("credit_type") == "goodwill_credit" and amount and amount > _GOODWILL:
            yield Broken(f"${amount:.2f} are credited as goodwill")
        return
    for booking in _bookings(call):
        days = days_since(booking.get("date"))
        by_hand = str(booking.get("description", "")).endswith("CUSTOMER SERVICE")
        if by_hand and days is not None and days <= _COOLDOWN:
            yield Broken(f"the account was credited on {booking.get('date')} already")


def _bookings(call: BankCall) -> list[Row]:
    account_id = call.arguments.get("account_id")
    return rows_with(call.db, "bank_account_transaction_history", "account_id", account_id)


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
        for row in _bookings(call)
        if row.get("type") == "interest_correction" and row.get("date") == TODAY
    ]
    amount, account = call.figure("amount_difference"), call.row("accounts", "account_id")
    if not credited:
        yield Broken("the interest was not corrected before the report")
    elif amount is not None and amount not in credited:
        yield Broken(f"${amount:.2f} are reported, and ${credited[0]:.2f} were credited")
    expected, actual = call.figure("expected_apy"), call.figure("actual_apy")
    if expected is not None and expected == actual:
        yield Broken(f"expected and actual rate are both {expected:g} %")
    if account is not None and kind_of(account) != "savings":
        yield Broken(f"this is a {kind_of(account)} account")
