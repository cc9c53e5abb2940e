"""The bank's records as its rules ask about them, and the demands that many rules share.

A tool that is found by reading is called through another one. A rule names the tool that does the
work, and sees that tool's arguments, however it is called. What is not on record is an empty row or
not a number, which no limit is above or below: so a demand about it is not broken.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any

from maseval.benchmark.tau2.domains.banking_knowledge.desk import NOW
from maseval.benchmark.tau2.domains.banking_knowledge.models import BankingDB, Row
from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.rules import INNER_TOOL, Answer, Broken, Policy
from maseval.benchmark.tau2.review.talk import CallMade, CallMoment

AGENT_CALL, USER_CALL = "call_discoverable_agent_tool", "call_discoverable_user_tool"
_NAMED_BY = {AGENT_CALL: INNER_TOOL, USER_CALL: "discoverable_tool_name"}
_DATES = ("%m/%d/%Y", "%Y-%m-%d", "%m/%d/%Y %H:%M:%S")


def inner_call(call: Tau2ToolCall) -> tuple[str, Mapping[str, Any]]:
    """Return the tool that does the work, and its arguments; none where they cannot be read."""
    given = call["arguments"]
    field = _NAMED_BY.get(call["name"])
    if field is None:
        return call["name"], given
    written = given.get("arguments")
    arguments = _parse(written) if isinstance(written, str) else written
    return str(given.get(field)), arguments if isinstance(arguments, Mapping) else {}


@lru_cache(maxsize=1024)
def _parse(written: str) -> object:
    """Return the arguments in a text, which nobody may change; every later call looks at them."""
    try:
        return json.loads(written)
    except ValueError:
        return None


@dataclass(frozen=True)
class BankCall:
    """A call that is about to be made: the tool that does the work, and what it is given."""

    name: str
    arguments: Mapping[str, Any]
    moment: CallMoment

    @property
    def db(self) -> BankingDB:
        db: BankingDB = self.moment.tools.db
        return db

    def text(self, field: str) -> str:
        """Return an argument as a text, empty if it is none."""
        value = self.arguments.get(field)
        return value if isinstance(value, str) else ""

    def number(self, field: str) -> float:
        return figure(self.arguments.get(field))

    def row(self, table: str, field: str) -> Row:
        """Return the record that an argument names."""
        return find_row(self.db, table, self.arguments.get(field))

    @property
    def account(self) -> Row:
        return self.row("accounts", "account_id")

    @property
    def card(self) -> Row:
        """The debit card."""
        return self.row("debit_cards", "card_id")

    @property
    def credit_card(self) -> Row:
        return self.row("credit_card_accounts", "credit_card_account_id")

    @property
    def user(self) -> Row:
        return self.row("users", "user_id")

    def rows(self, table: str, field: str) -> list[Row]:
        """Return the records of a table with the value of an argument in the field of its name."""
        return rows_with(self.db, table, field, self.arguments.get(field))

    @cached_property
    def earlier(self) -> list[tuple[str, Mapping[str, Any], CallMade]]:
        """The calls that were made before, by the tool that did the work."""
        return [(*inner_call(made.call), made) for made in self.moment.earlier_calls]

    def has_read(self, tool: str, **arguments: object) -> bool:
        """Return True if a tool answered before, with these arguments."""
        return any(
            name == tool
            and not made.failed
            and all(given.get(key) == value for key, value in arguments.items())
            for name, given, made in self.earlier
        )


def _bank_call(moment: CallMoment, tools: frozenset[str]) -> BankCall | None:
    """Return the call of one of these tools; unlocking a tool names it, and does not call it."""
    call: BankCall | None = moment.notes.get(BankCall)
    if call is None:
        call = moment.notes[BankCall] = BankCall(*inner_call(moment.call), moment)
    return call if call.name in tools else None


bank = Policy("banking", _bank_call)


def find_row(db: BankingDB, table: str, key: object) -> Row:
    """Return a record by its id; an empty one for what is no id of one."""
    rows = db.table(table)
    row: Row = rows.view(key) if isinstance(key, str) and key in rows else {}
    return row


def rows_with(db: BankingDB, table: str, field: str, value: object) -> list[Row]:
    """Return the records of a table whose field has a value."""
    return [row for row in db.table(table).values() if row.get(field) == value]


def other_status(what: str, row: Row, *allowed: str, ends: str = "") -> Iterator[Answer]:
    """Yield a breach if a record has none of the allowed statuses."""
    if row and row.get("status") not in allowed:
        yield Broken(f"the {what} is {row.get('status')}{ends}")


def other_kind(account: Row, *allowed: str, ends: str = "") -> Iterator[Answer]:
    """Yield a breach if an account is of none of the allowed types."""
    if account and kind_of(account) not in allowed:
        yield Broken(f"this is a {kind_of(account)} account{ends}")


def too_young(date: object, least: int) -> Iterator[Answer]:
    """Yield a breach if an account is not as many days old as it must be."""
    if (age := days_since(date)) < least:
        yield Broken(f"the account is {age} days old")


def pending_bookings(db: BankingDB, account_id: object) -> Iterator[Answer]:
    """Yield a breach for each transaction on an account that is pending."""
    for booking in bookings_of(db, account_id):
        if booking.get("status") == "pending":
            yield Broken(f"transaction {booking.get('transaction_id')} is pending")


def bookings_of(db: BankingDB, account_id: object) -> list[Row]:
    return rows_with(db, "bank_account_transaction_history", "account_id", account_id)


def figure(value: object) -> float:
    """Return a number, also out of a text of money."""
    if isinstance(value, str):
        try:
            value = float(value.replace("$", "").replace(",", ""))
        except ValueError:
            return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return math.nan
    return float(value)


def money(value: object) -> float:
    """Return an amount on record; one that is not there is zero."""
    amount = figure(value)
    return 0.0 if math.isnan(amount) else amount


def read_date(value: object) -> datetime | None:
    """Return a date in one of the forms that the records have."""
    return _parse_date(str(value))


@lru_cache(maxsize=4096)
def _parse_date(text: str) -> datetime | None:
    for form in _DATES:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    return None


def days_since(value: object) -> float:
    """Return the whole days since a date of a record."""
    date = read_date(value)
    return math.nan if date is None else (NOW - date).days


def recent(rows: Iterable[Row], days: int, *fields: str) -> list[Row]:
    """Return the records that are so many days old at most, by the first field with a date."""
    dates = ((next(filter(None, map(row.get, fields)), None), row) for row in rows)
    return [row for date, row in dates if days_since(date) <= days]


def is_same(given: object, known: object) -> bool:
    """Return True if a value is the one on record, however it is punctuated."""
    one, other = (str(each).casefold() for each in (given, known))
    if one == other or (read_date(given) is not None and read_date(given) == read_date(known)):
        return True
    bare = [phrases.SEPARATORS.sub("", each) for each in (one, other)]
    return bare[0] == bare[1] != ""


def balance_of(account: Row) -> float:
    """Return what a bank account holds."""
    return money(account.get("current_holdings", account.get("balance")))


def kind_of(account: Row) -> str:
    """Return the type of a bank account: the data and the tools write it differently."""
    kind = str(account.get("account_type") or account.get("class") or "")
    return {"saving": "savings", "personal_checking": "checking"}.get(kind, kind)


def level_of(account: Row) -> str:
    """Return the product that a bank account is."""
    level = str(account.get("level") or account.get("account_class") or "")
    return level.replace(" (checking)", "").replace(" (savings)", "")


def product_of(account: Row) -> str:
    """Return the name of an account's product without "Account" at its end."""
    return level_of(account).removesuffix("Account").strip()
