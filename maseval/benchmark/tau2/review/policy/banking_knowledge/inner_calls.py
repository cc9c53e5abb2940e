"""Rules about the bank's tools: a tool that is found by reading is called through another one.

A rule here names the tool that does the work, and sees that tool's arguments, however it is called.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
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
    written = given.get("arguments") or {}
    try:
        arguments = json.loads(written) if isinstance(written, str) else written
    except ValueError:
        arguments = {}
    return str(given.get(field)), arguments if isinstance(arguments, Mapping) else {}


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

    def figure(self, field: str) -> float | None:
        """Return an argument as a number."""
        return figure(self.arguments.get(field))

    def row(self, table: str, field: str) -> Row | None:
        """Return the record that an argument names."""
        return find_row(self.db, table, self.arguments.get(field))

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


def find_row(db: BankingDB, table: str, key: object) -> Row | None:
    """Return a record by its id; None for what is no id of one."""
    rows = db.table(table)
    if not isinstance(key, str) or key not in rows:
        return None
    row: Row = rows.view(key)
    return row


def rows_with(db: BankingDB, table: str, field: str, value: object) -> list[Row]:
    """Return the records of a table whose field has a value."""
    return [row for row in db.table(table).values() if row.get(field) == value]


def other_status(what: str, row: Row | None, *allowed: str) -> Iterator[Answer]:
    """Yield a breach if a record has none of the allowed statuses."""
    if row is not None and row.get("status") not in allowed:
        yield Broken(f"the {what} is {row.get('status')}")


def pending_bookings(db: BankingDB, account_id: object) -> Iterator[Answer]:
    """Yield a breach for each transaction on an account that is pending."""
    for booking in rows_with(db, "bank_account_transaction_history", "account_id", account_id):
        if booking.get("status") == "pending":
            named = booking.get("transaction_id")
            yield Broken(f"transaction {named} is pending")


def figure(value: object) -> float | None:
    """Return a number, also out of a text of money; None for anything else."""
    if isinstance(value, str):
        try:
            value = float(value.replace("$", "").replace(",", ""))
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def read_date(value: object) -> datetime | None:
    """Return a date in one of the forms that the records have."""
    for form in _DATES:
        try:
            return datetime.strptime(str(value), form)
        except ValueError:
            continue
    return None


def is_same(given: object, known: object) -> bool:
    """Return True if a value is the one on record, however it is punctuated."""
    one, other = (str(each).casefold() for each in (given, known))
    if one == other or (read_date(given) is not None and read_date(given) == read_date(known)):
        return True
    bare = [phrases.SEPARATORS.sub("", each) for each in (one, other)]
    return bare[0] == bare[1] != ""


def days_since(value: object) -> int | None:
    """Return the whole days since a date of a record."""
    date = read_date(value)
    return None if date is None else (NOW - date).days


def balance_of(account: Row) -> float:
    """Return what a bank account holds."""
    return figure(account.get("current_holdings", account.get("balance"))) or 0.0


def kind_of(account: Row) -> str:
    """Return the type of a bank account: the data and the tools write it differently."""
    kind = str(account.get("account_type") or account.get("class") or "")
    return {"saving": "savings", "personal_checking": "checking"}.get(kind, kind)


def level_of(account: Row) -> str:
    """Return the product that a bank account is."""
    level = str(account.get("level") or account.get("account_class") or "")
    return level.replace(" (checking)", "").replace(" (savings)", "")


def is_open(account: Row) -> bool:
    return account.get("status") in ("OPEN", "ACTIVE")
