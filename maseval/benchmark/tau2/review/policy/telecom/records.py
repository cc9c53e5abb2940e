"""The carrier's records, and the rules that they decide.

The records that a call is about, for these and other rules, are found here, or are None, whatever
the arguments are.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TypeVar

from maseval.benchmark.tau2.domains.telecom.models import (
    Bill,
    BillStatus,
    Customer,
    Line,
    LineStatus,
    Plan,
    TelecomDB,
    TelecomUserDB,
)
from maseval.benchmark.tau2.domains.telecom.tools import TODAY
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell, Policy
from maseval.benchmark.tau2.review.talk import CallMoment

Row = TypeVar("Row", Bill, Customer, Line, Plan)
UNPAID = (BillStatus.OVERDUE, BillStatus.AWAITING_PAYMENT)


def _find(rows: Iterable[Row], field: str, wanted: object) -> Row | None:
    return next((each for each in rows if getattr(each, field) == wanted), None)


class TelecomCall(CallMoment):
    """A call of the carrier's agent, with the records that it is about, whosoever they are."""

    @property
    def db(self) -> TelecomDB:
        db: TelecomDB = self.tools.db
        return db

    @property
    def customer(self) -> Customer | None:
        return _find(self.db.customers, "customer_id", self.arguments.get("customer_id"))

    @property
    def line(self) -> Line | None:
        return _find(self.db.lines, "line_id", self.arguments.get("line_id"))

    @property
    def bill(self) -> Bill | None:
        return _find(self.db.bills, "bill_id", self.arguments.get("bill_id"))

    @property
    def plan(self) -> Plan | None:
        """The plan of the line."""
        line = self.line
        return None if line is None else _find(self.db.plans, "plan_id", line.plan_id)

    @property
    def unpaid(self) -> list[Bill]:
        """The customer's bills that are overdue, also those for which payment was asked."""
        own = self.customer.bill_ids if self.customer else ()
        return [each for each in self.db.bills if each.bill_id in own and each.status in UNPAID]

    @property
    def phone(self) -> TelecomUserDB | None:
        """The customer's side of the world."""
        db = getattr(self.user_tools, "db", None)
        return db if isinstance(db, TelecomUserDB) else None

    @property
    def gigabytes(self) -> float | None:
        """The GB to add, if they are a number."""
        value = self.arguments.get("gb_amount")
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return float(value)

    @cached_property
    def told(self) -> str:
        """All that the user had said by then, or what the ticket says, in lower case."""
        return self.user_said.lower() if self.ticket is None else self.ticket.lower()

    @cached_property
    def all_words(self) -> str:
        """All that was said, read, or given in the ticket before."""
        return self.talk.known_before(self.message_index) + (self.ticket or "")


telecom = Policy("telecom", TelecomCall)


def has_ended(line: Line) -> bool:
    return line.contract_end_date is not None and line.contract_end_date < TODAY


LINE_WRITES = frozenset(
    {"suspend_line", "resume_line", "enable_roaming", "disable_roaming", "refuel_data"}
)
WRITES = LINE_WRITES | {"send_payment_request"}
_PAYMENT, _SUSPENSION = "Overdue Bill Payment", "Line Suspension"


@telecom.state("record.owner", "Domain Basics: Customer", *WRITES)
def check_owner(call: TelecomCall) -> Iterator[Answer]:
    """A line or bill is changed for the customer to whom it belongs."""
    customer = call.customer
    if customer is None:
        name = call.arguments.get("customer_id")
        yield Broken(f"there is no customer {name!r}")
        return
    for field, owned in (("line_id", customer.line_ids), ("bill_id", customer.bill_ids)):
        value = call.arguments.get(field)
        if field in call.arguments and value not in owned:
            yield Broken(f"{value} does not belong to customer {customer.customer_id}")


@telecom.state("payment.overdue", f"{_PAYMENT}: step 1 and the last remark", "send_payment_request")
def check_bill_status(call: TelecomCall) -> Iterator[Answer]:
    """Payment is requested only for a bill that is overdue."""
    bill = call.bill
    if bill is not None and bill.status != BillStatus.OVERDUE:
        yield Broken(f"bill {bill.bill_id} is {bill.status.value}, not overdue")


@telecom.state("payment.single", f"{_PAYMENT}: 1st remark", "send_payment_request")
def check_single_request(call: TelecomCall) -> Iterator[Answer]:
    """Payment is requested for one bill at a time."""
    for bill in call.unpaid:
        if bill.status == BillStatus.AWAITING_PAYMENT:
            yield Broken(f"bill {bill.bill_id} awaits payment already")


@telecom.state(
    "payment.permitted", f"{_PAYMENT} (solo): 2nd sentence", "send_payment_request", "make_payment"
)
def check_payment_permission(call: TelecomCall) -> Iterator[Answer]:
    """An agent that works alone pays only if the ticket allows it."""
    ticket = call.ticket
    if ticket is not None and not ("permission" in ticket.lower() and "pay" in ticket.lower()):
        yield Broken("the ticket gives no permission to pay bills")


@telecom.state("resume.bills", f"{_SUSPENSION}: lifting, 1st sentence", "resume_line")
def check_bills_paid(call: TelecomCall) -> Iterator[Answer]:
    """A line is resumed only after all overdue bills were paid."""
    for bill in call.unpaid:
        yield Broken(f"bill {bill.bill_id} is not paid: it is {bill.status.value}")


@telecom.state("resume.contract", f"{_SUSPENSION}: lifting, 2nd sentence", "resume_line")
def check_contract(call: TelecomCall) -> Iterator[Answer]:
    """A line is not resumed once its contract has ended."""
    line = call.line
    if line is not None and has_ended(line):
        ended = str(line.contract_end_date)
        yield Broken(f"the contract of line {line.line_id} ended on {ended}")


@telecom.state("resume.suspended", _SUSPENSION, "resume_line")
def check_line_status(call: TelecomCall) -> Iterator[Answer]:
    """Only a line that is suspended is resumed."""
    line = call.line
    if line is not None and line.status != LineStatus.SUSPENDED:
        yield Broken(f"line {line.line_id} is {line.status.value}, not suspended")


@telecom.state("suspend.reason", f"{_SUSPENSION}: the two reasons", "suspend_line")
def check_suspension(call: TelecomCall) -> Iterator[Answer]:
    """A line is suspended for an overdue bill or an ended contract, and for nothing else."""
    customer, line = call.customer, call.line
    if customer is None or line is None:
        return
    if not call.unpaid and not has_ended(line):
        yield Broken("no bill is overdue and the contract has not ended")


@telecom.state("roaming.needed", "Data Roaming: last sentence", "enable_roaming")
def check_roaming_need(call: TelecomCall) -> Iterator[Answer]:
    """Roaming is enabled on a line that does not have it yet."""
    line = call.line
    if line is not None and line.roaming_enabled:
        yield Broken(f"line {line.line_id} is roaming enabled already")


_REFUELING = "Data Refueling"
MOST_GB = 2.0
_GB = re.compile(r"(?<![\d.])(\d{1,4}(?:\.\d{1,2})?) ?gb\b")


@telecom.state("refuel.most", f"{_REFUELING}: the most that may be added", "refuel_data")
def check_data_limit(call: TelecomCall) -> Iterator[Answer]:
    """At most 2 GB are added to a line."""
    amount, line = call.gigabytes, call.line
    before = 0.0 if line is None else line.data_refueling_gb
    if amount is not None and amount > 0 and amount + before > MOST_GB + 1e-9:
        already = f" to {before:g} GB added before" if before else ""
        yield Broken(f"{amount:g} GB are added{already}, but only {MOST_GB:g} GB are allowed")


@telecom.state(
    "refuel.need", f"{_REFUELING}: 2nd sentence; Data Plan Limits Reached", "refuel_data"
)
def check_data_need(call: TelecomCall) -> Iterator[Answer]:
    """Data is added where the plan's limit was reached, or the user asks for it unprompted."""
    line, plan = call.line, call.plan
    if line is None or plan is None:
        return
    limit = plan.data_limit_gb + line.data_refueling_gb
    if line.data_used_gb >= limit:
        return
    text = f"line {line.line_id} has used {line.data_used_gb:g} of {limit:g} GB"
    yield Broken(text) if call.ticket is not None else CannotTell(f"{text}; did the user ask?")


@telecom.state("refuel.permitted", f"{_REFUELING} (solo): 1st step", "refuel_data")
def check_data_permission(call: TelecomCall) -> Iterator[Answer]:
    """An agent that works alone adds the data that the ticket names."""
    amount = call.gigabytes
    if call.ticket is None or amount is None:
        return
    named = gigabytes(call.ticket)
    if amount not in named:
        said = " or ".join(f"{each:g}" for each in named) or "no"
        yield Broken(f"{amount:g} GB are added, but the ticket says {said} GB", {"said": named})


def gigabytes(ticket: str) -> list[float]:
    """Return the amounts of data that a ticket names."""
    return [float(each) for each in _GB.findall(ticket.lower())]
