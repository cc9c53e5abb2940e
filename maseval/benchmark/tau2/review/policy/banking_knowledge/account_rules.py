"""The bank's policy on accounts: who may open one, close one, and have money booked on it."""

from collections.abc import Iterator, Mapping
from datetime import timedelta

from maseval.benchmark.tau2.domains.banking_knowledge.accounts import CLOSING_FEES
from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.benchmark.tau2.domains.banking_knowledge.values import NOW, TODAY
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


@bank.state("open.age", f"{_OPENING}: personal checking", OPEN)
def check_age(call: BankCall) -> Iterator[Answer]:
    """A personal checking account is opened for an adult."""
    age = age_of(call)
    if call.text("account_type") == "checking" and age is not None and age < 18:
        yield Broken(f"the customer is {age:.0f} years old")


@bank.state("open.most", f"{_OPENING}: how many", OPEN)
def check_count(call: BankCall) -> Iterator[Answer]:
    """A customer has no more accounts of a type than the bank allows."""
    kind = call.text("account_type")
    most, count = _MOST.get(kind), len(_of_kind(_held_by(call), kind))
    if most is None or count < most:
        return
    if count > most or kind in _COUNTS_THE_NEW_ONE:
        yield Broken(f"the customer has {count} {kind} accounts already")
    else:
        yield CannotTell(f"{count} {kind} accounts are held, and {most} may not be exceeded")


@bank.state("open.base", f"{_OPENING}: account held before", OPEN)
def check_base_account(call: BankCall) -> Iterator[Answer]:
    """A further account is opened for who has had the account it rests on long enough."""
    kind, accounts = call.text("account_type"), _held_by(call)
    needed, days = {
        "savings": ("checking", 14),
        "business_checking": ("checking", 0),
        "business_savings": ("business_checking", 30),
    }.get(kind, ("", 0))
    if not needed:
        return
    base = _of_kind(accounts, needed)
    if not base:
        yield Broken(f"the customer has no open {needed} account")
    elif all((days_since(each.get("date_opened")) or 0) < days for each in base):
        oldest = max(days_since(each.get("date_opened")) or 0 for each in base)
        yield Broken(f"the {needed} account is {oldest} days old, and {days} are needed")


@bank.state("open.balance", f"{_OPENING}: balance held", OPEN)
def check_base_balance(call: BankCall) -> Iterator[Answer]:
    """A business account is opened for who holds enough on the account it rests on."""
    needed, least = {
        "business_checking": ("checking", 500),
        "business_savings": ("business_checking", 2500),
    }.get(call.text("account_type"), ("", 0))
    base = _of_kind(_held_by(call), needed)
    if needed and base and all(balance_of(each) < least for each in base):
        most = max(map(balance_of, base))
        yield Broken(f"the {needed} account holds ${most:.2f}, and ${least} are needed")


@bank.state("open.standing", f"{_OPENING}: standing", OPEN)
def check_standing(call: BankCall) -> Iterator[Answer]:
    """No overdrawn or closed account stands against a new one."""
    kind = call.text("account_type")
    for account in _held_by(call):
        named = account.get("account_id")
        if kind in ("savings", "business_savings") and balance_of(account) < 0:
            yield Broken(f"account {named} is overdrawn")
        if kind == "business_checking" and account.get("status") == "CLOSED":
            yield Broken(f"account {named} was closed")


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


@bank.state("close.fee", f"{_CLOSING}: balance and fee", CLOSE)
def check_closing_balance(call: BankCall) -> Iterator[Answer]:
    """An account is closed when it is empty, or covers the fee for closing it early."""
    account = call.row("accounts", "account_id")
    if account is None:
        return
    fee, balance = early_fee(account), balance_of(account)
    if fee and balance < fee:
        yield Broken(f"a fee of ${fee} is due, and the account holds ${balance:.2f}")
    elif not fee and balance:
        yield Broken(f"the account still holds ${balance:.2f}")


@bank.state("close.waiver", f"{_CLOSING}: fees by tier", CLOSE)
def check_waiver(call: BankCall) -> Iterator[Answer]:
    """The fee for closing an account early is not waived."""
    account = call.row("accounts", "account_id")
    if account is not None and call.arguments.get("waive_early_closure_fee") is True:
        fee = early_fee(account)
        if fee:
            yield Broken(f"the fee of ${fee} is waived without a rule for it")


@bank.state("close.open", f"{_CLOSING}: status", CLOSE)
def check_closing_status(call: BankCall) -> Iterator[Answer]:
    """Only an open account is closed."""
    account = call.row("accounts", "account_id")
    if account is not None and account.get("status") != "OPEN":
        status = account.get("status")
        yield Broken(f"the account is {status}, not OPEN")


@bank.state("close.pending", f"{_CLOSING}: pending transactions", CLOSE)
def check_closing_bookings(call: BankCall) -> Iterator[Answer]:
    """No account is closed while a transaction on it is pending."""
    return pending_bookings(call.db, call.arguments.get("account_id"))


@bank.state("close.cards", "Closing a debit card: notes", CLOSE)
def check_closing_cards(call: BankCall) -> Iterator[Answer]:
    """The debit cards of an account are closed before the account."""
    account_id = call.arguments.get("account_id")
    for card in rows_with(call.db, "debit_cards", "account_id", account_id):
        if card.get("status") in _IN_USE:
            named = card.get("card_id")
            yield Broken(f"debit card {named} is still {card.get('status')}")


@bank.state("close.linked", f"{_CLOSING}: business accounts", CLOSE)
def check_closing_linked(call: BankCall) -> Iterator[Answer]:
    """Business savings are closed before the business checking account they rest on."""
    account = call.row("accounts", "account_id")
    if account is None:
        return
    others = [
        each
        for each in rows_with(call.db, "accounts", "user_id", account.get("user_id"))
        if each.get("account_id") != account.get("account_id")
    ]
    if kind_of(account) == "business_checking" and _of_kind(others, "business_savings"):
        yield Broken("a business savings account of the customer is still open")
    if kind_of(account) == "business_savings" and not _of_kind(others, "business_checking"):
        yield Broken("the customer has no open business checking account")


@bank.state("close.approval", f"{_CLOSING}: approval", CLOSE)
def check_closing_approval(call: BankCall) -> Iterator[Answer]:
    """An account of a high tier is closed with the approval of a superior."""
    account = call.row("accounts", "account_id")
    if account is not None and product_of(account) in _NEEDS_A_SUPERIOR.get(kind_of(account), ()):
        yield CannotTell(f"whether a superior approved closing the {level_of(account)} is not seen")


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


@bank.state("credit.kind", f"{_CREDITS}: account types", CHECKING_CREDIT, SAVINGS_CREDIT)
def check_credited_kind(call: BankCall) -> Iterator[Answer]:
    """A credit is booked with the tool that is made for the type of the account."""
    account = call.row("accounts", "account_id")
    wanted = "checking" if call.name == CHECKING_CREDIT else "savings"
    if account is not None and kind_of(account) != wanted:
        kind = kind_of(account)
        yield Broken(f"this is a {kind} account, not a {wanted} one")


@bank.state("credit.once", f"{_CREDITS}: once per account", CHECKING_CREDIT)
def check_single_credit(call: BankCall) -> Iterator[Answer]:
    """A checking account is credited once in two weeks."""
    since = NOW - timedelta(days=_COOLDOWN)
    account_id = call.arguments.get("account_id")
    for booking in rows_with(call.db, "bank_account_transaction_history", "account_id", account_id):
        date = read_date(booking.get("date"))
        by_hand = str(booking.get("description", "")).endswith("CUSTOMER SERVICE")
        if by_hand and date is not None and date >= since:
            yield Broken(f"the account was credited on {booking.get('date')} already")


@bank.state("credit.goodwill", f"{_CREDITS}: goodwill", SAVINGS_CREDIT)
def check_goodwill(call: BankCall) -> Iterator[Answer]:
    """A goodwill credit of more than 25 dollars needs a supervisor, whom the agent has not."""
    amount = call.figure("amount")
    if call.text("credit_type") == "goodwill_credit" and amount and amount > _GOODWILL:
        yield Broken(f"${amount:.2f} are credited as goodwill")


@bank.flow(
    "credit.read", f"{_CREDITS}: transaction history", CHECKING_CREDIT, SAVINGS_CREDIT, REPORT
)
def check_history_read(call: BankCall) -> Iterator[Answer]:
    """The bookings of an account are read before a credit or a report about it."""
    account_id = call.arguments.get("account_id")
    if not call.has_read(HISTORY, account_id=account_id):
        yield Broken(f"the bookings of {account_id} were not read before")


def _corrections(call: BankCall) -> list[Row]:
    account_id = call.arguments.get("account_id")
    return [
        row
        for row in rows_with(call.db, "bank_account_transaction_history", "account_id", account_id)
        if row.get("type") == "interest_correction" and row.get("date") == TODAY
    ]


@bank.state("interest.first", "Interest reports: order", REPORT)
def check_credit_first(call: BankCall) -> Iterator[Answer]:
    """Wrong interest is corrected on the account before it is reported."""
    if not _corrections(call):
        yield Broken("the interest was not corrected before the report")


@bank.state("interest.amount", "Interest reports: parameters", REPORT)
def check_reported_amount(call: BankCall) -> Iterator[Answer]:
    """The report names the difference that was credited."""
    amount = call.figure("amount_difference")
    credited = [figure(row.get("amount")) for row in _corrections(call)]
    if credited and amount is not None and amount not in credited:
        yield Broken(f"${amount:.2f} are reported, and ${credited[0]:.2f} were credited")


@bank.state("interest.rates", "Interest reports: parameters", REPORT)
def check_reported_rates(call: BankCall) -> Iterator[Answer]:
    """A report is about a savings account whose rate should have been another."""
    expected, actual = call.figure("expected_apy"), call.figure("actual_apy")
    account = call.row("accounts", "account_id")
    if expected is not None and expected == actual:
        yield Broken(f"expected and actual rate are both {expected:g} %")
    if account is not None and kind_of(account) != "savings":
        yield Broken(f"this is a {kind_of(account)} account")
