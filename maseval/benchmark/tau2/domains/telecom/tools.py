"""The tools of the telecom company's agent, over the company's database.

After tau2-bench v0.2.0, src/tau2/domains/telecom/tools.py (MIT, Sierra Research).
"""

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from maseval.benchmark.tau2.domains.base import (
    DBT,
    ToolKitBase,
    ToolType,
    for_checks,
    for_tasks,
    is_tool,
)
from maseval.benchmark.tau2.domains.telecom.models import (
    Bill,
    BillStatus,
    Customer,
    Line,
    LineItem,
    LineStatus,
    Plan,
    TelecomDB,
    TelecomRecord,
)
from maseval.benchmark.tau2.world.state.copying import own

# These are constants, so that a conversation replays to the same state on any day.
TODAY = dt.date(2025, 2, 25)
CYCLE_END = dt.date(2025, 2, 28)

TelecomRecordT = TypeVar("TelecomRecordT", bound=TelecomRecord)


class CoupledTools(ToolKitBase[DBT]):
    """Tools whose database the other side's may point at; ``is_coupled`` says that it does."""

    is_coupled = False

    def update_db(self, update_data: Mapping[str, Any] | None = None) -> None:
        """Lay values over the database; the new one is coupled again when the sides are synced."""
        super().update_db(update_data)
        self.is_coupled = False


class TelecomTools(CoupledTools[TelecomDB], predictable=True):
    """The agent's desk: customers, lines, bills, data and roaming."""

    def __init__(self, db: TelecomDB) -> None:
        super().__init__(db)
        self._bills_opened = 0
        self._bill_prefix = "B"

    @is_tool(ToolType.READ)
    def get_customer_by_phone(self, phone_number: str) -> Customer:
        """Find the customer to whom a phone number belongs.

        Args:
            phone_number: The customer's primary number, or the number of any of the customer's
                lines, e.g. "555-123-2002".
        """
        # An earlier customer's line wins over a later customer's own number.
        for customer in self.db.customers:
            if customer.phone_number == phone_number:
                return customer
            for line_id in customer.line_ids:
                if self._line(line_id).phone_number == phone_number:
                    return customer
        raise ValueError(f"Customer with phone number {phone_number} not found")

    @is_tool(ToolType.READ)
    def get_customer_by_id(self, customer_id: str) -> Customer:
        """Look up a customer by id.

        Args:
            customer_id: The customer's id, e.g. "C1001".
        """
        return _require_record("Customer with ID", self.db.customers, "customer_id", customer_id)

    @is_tool(ToolType.READ)
    def get_customer_by_name(self, full_name: str, dob: str) -> list[Customer]:
        """Find the customers with a name and date of birth; the list may be empty.

        Args:
            full_name: First and last name, in upper or lower case.
            dob: Date of birth, as YYYY-MM-DD.
        """
        return [
            customer
            for customer in self.db.customers
            if customer.full_name.lower() == full_name.lower() and customer.date_of_birth == dob
        ]

    @is_tool(ToolType.READ)
    def get_details_by_id(self, id: str) -> TelecomRecord:
        """Look up any record by its id; the first letter tells what it is.

        Args:
            id: The id of a line ("L..."), device ("D..."), bill ("B..."), customer ("C...") or
                plan ("P...").
        """
        if id.startswith("L"):
            return self._line(id)
        if id.startswith("D"):
            return _require_record("Device with ID", self.db.devices, "device_id", id)
        if id.startswith("B"):
            return self.bill(id)
        if id.startswith("C"):
            return self.get_customer_by_id(id)
        if id.startswith("P"):
            return self.plan(id)
        raise ValueError(f"Unknown ID format or type: {id}")

    @is_tool(ToolType.WRITE)
    def suspend_line(self, customer_id: str, line_id: str, reason: str) -> dict[str, object]:
        """Suspend an active line from today on; a holding fee of $5 per month applies.

        Args:
            customer_id: The id of the customer who owns the line.
            line_id: The id of the line.
            reason: Why the line is suspended.
        """
        line = self._line_of(customer_id, line_id)
        if line.status != LineStatus.ACTIVE:
            raise ValueError("Line must be active to suspend")
        # The record becomes private only now: a refused call leaves the shared one in place.
        line = own(self.db.lines, line)
        line.status = LineStatus.SUSPENDED
        line.suspension_start_date = TODAY
        return {
            "message": "Line suspended successfully. $5/month holding fee will apply.",
            "line": line,
        }

    @is_tool(ToolType.WRITE)
    def resume_line(self, customer_id: str, line_id: str) -> dict[str, object]:
        """Make a line active that is suspended or pending activation.

        Args:
            customer_id: The id of the customer who owns the line.
            line_id: The id of the line.
        """
        line = self._line_of(customer_id, line_id)
        # Overdue bills and ended contracts are for the agent to check, as the policy says.
        if line.status not in (LineStatus.SUSPENDED, LineStatus.PENDING_ACTIVATION):
            raise ValueError("Line must be suspended to resume")
        line = own(self.db.lines, line)
        line.status = LineStatus.ACTIVE
        line.suspension_start_date = None
        return {"message": "Line resumed successfully", "line": line}

    @is_tool(ToolType.READ)
    def get_bills_for_customer(self, customer_id: str, limit: int = 12) -> list[Bill]:
        """List a customer's bills, latest issue date first.

        Args:
            customer_id: The customer's id.
            limit: How many bills to list at most.
        """
        bills = self.bills_of(self.get_customer_by_id(customer_id))
        # Bills of one date keep the customer's order, because a reversed sort is stable too.
        return sorted(bills, key=lambda bill: bill.issue_date, reverse=True)[:limit]

    @is_tool(ToolType.WRITE)
    def send_payment_request(self, customer_id: str, bill_id: str) -> str:
        """Ask a customer to pay a bill, which then awaits payment.

        Only one of a customer's bills can await payment at a time. Check the bill's status first:
        the request is sent whatever it is.

        Args:
            customer_id: The customer's id.
            bill_id: The id of the bill to be paid.
        """
        customer = self.get_customer_by_id(customer_id)
        if self.bills_of(customer, BillStatus.AWAITING_PAYMENT):
            raise ValueError("A bill is already awaiting payment for this customer")
        # Checked last, as in the original: the order of checks decides which error a model reads.
        if bill_id not in customer.bill_ids:
            raise ValueError(f"Bill {bill_id} not found for customer {customer_id}")
        # The status does not matter: even a paid bill can be requested again.
        own(self.db.bills, self.bill(bill_id)).status = BillStatus.AWAITING_PAYMENT
        return f"Payment request sent to the customer for bill {bill_id}"

    @is_tool(ToolType.READ)
    def get_data_usage(self, customer_id: str, line_id: str) -> dict[str, object]:
        """Look up a line's mobile data in this billing cycle.

        Gives the data used, the plan's limit and what was added to it (all in GB), and the last
        day of the cycle.

        Args:
            customer_id: The id of the customer who owns the line.
            line_id: The id of the line.
        """
        line = self._line_of(customer_id, line_id)
        return {
            # Of these the bare numbers are answered as texts; in a record they stay numbers.
            "line_id": line_id,
            "data_used_gb": line.data_used_gb,
            "data_limit_gb": self.plan(line.plan_id).data_limit_gb,
            "data_refueling_gb": line.data_refueling_gb,
            "cycle_end_date": CYCLE_END,
        }

    @is_tool(ToolType.WRITE)
    def enable_roaming(self, customer_id: str, line_id: str) -> str:
        """Allow a line to be used abroad.

        Args:
            customer_id: The id of the customer who owns the line.
            line_id: The id of the line.
        """
        line = self._line_of(customer_id, line_id)
        if line.roaming_enabled:
            return "Roaming was already enabled"
        own(self.db.lines, line).roaming_enabled = True
        return "Roaming enabled successfully"

    @is_tool(ToolType.WRITE)
    def disable_roaming(self, customer_id: str, line_id: str) -> str:
        """No longer allow a line to be used abroad.

        Args:
            customer_id: The id of the customer who owns the line.
            line_id: The id of the line.
        """
        line = self._line_of(customer_id, line_id)
        if not line.roaming_enabled:
            return "Roaming was already disabled"
        own(self.db.lines, line).roaming_enabled = False
        return "Roaming disabled successfully"

    @is_tool(ToolType.GENERIC)
    def transfer_to_human_agents(self, summary: str) -> str:
        """Hand the customer over to a human agent.

        Only when the customer asks for a human, or when policy and tools cannot solve the problem.

        Args:
            summary: What the customer wants, and what has been done so far.
        """
        return "Transfer successful"

    @is_tool(ToolType.WRITE)
    def refuel_data(self, customer_id: str, line_id: str, gb_amount: float) -> dict[str, object]:
        """Add mobile data to a line; the plan's price for it goes on the customer's next bill.

        Args:
            customer_id: The id of the customer who owns the line.
            line_id: The id of the line.
            gb_amount: How many GB to add; more than 0.
        """
        line = self._line_of(customer_id, line_id)
        if gb_amount <= 0:
            raise ValueError("Refuel amount must be positive")
        price = self.plan(line.plan_id).data_refueling_price_per_gb
        # The charge is not rounded, as in the original; only the message shows whole cents.
        charge = gb_amount * price
        line = own(self.db.lines, line)
        line.data_refueling_gb += gb_amount
        self._charge(customer_id, charge, f"Data refueling: {gb_amount} GB at ${price}/GB")
        return {
            "message": (
                f"Successfully added {gb_amount} GB of data for line {line_id} for ${charge:.2f}"
            ),
            "new_data_refueling_gb": line.data_refueling_gb,
            "charge": charge,
        }

    @for_tasks
    def set_data_usage(self, customer_id: str, line_id: str, data_used_gb: float) -> str:
        """Say how much data a line has used; stored as given."""
        line = own(self.db.lines, self._line_of(customer_id, line_id))
        line.data_used_gb = data_used_gb
        return f"Data usage set to {data_used_gb} GB for line {line_id}"

    @for_tasks
    def suspend_line_for_overdue_bill(
        self, customer_id: str, line_id: str, new_bill_id: str, contract_ended: bool
    ) -> str:
        """Put last month's unpaid charge on a new bill and cut the line off for it."""
        line = self._line(line_id)
        if line.status != LineStatus.ACTIVE:
            raise ValueError("Line must be active to suspend for unpaid bill")
        amount = self.plan(line.plan_id).price_per_month
        if amount <= 0:
            raise ValueError("Amount must be positive for overdue bill")
        customer = self.get_customer_by_id(customer_id)
        if self.bills_of(customer, BillStatus.OVERDUE):
            raise ValueError("Customer already has an overdue bill")
        self._open_bill(customer, new_bill_id, dt.date(2025, 1, 1), BillStatus.OVERDUE).add(
            LineItem(
                description=f"Charge for line {line_id}",
                amount=amount,
                date=TODAY,
                item_type="Charge",
            )
        )
        line = own(self.db.lines, line)
        line.status = LineStatus.SUSPENDED
        line.suspension_start_date = TODAY
        if contract_ended:
            line.contract_end_date = dt.date(2025, 1, 31)
        return (
            f"Line {line_id} suspended for unpaid bill {new_bill_id}. "
            f"Contract ended: {contract_ended}"
        )

    @for_tasks
    def get_available_plan_ids(self) -> list[str]:
        return [plan.plan_id for plan in self.db.plans]

    @for_checks
    def assert_data_refueling_amount(
        self, customer_id: str, line_id: str, expected_amount: float
    ) -> bool:
        line = self._line_of(customer_id, line_id)
        # The amount is a sum of floats, so it is compared with a tolerance.
        return abs(line.data_refueling_gb - expected_amount) < 1e-6

    @for_checks
    def assert_line_status(self, customer_id: str, line_id: str, expected_status: str) -> bool:
        # The status is a ``StrEnum``, so it equals the plain text of a task file.
        return self._line_of(customer_id, line_id).status == expected_status

    @for_checks
    def assert_overdue_bill_exists(self, customer_id: str, overdue_bill_id: str) -> bool:
        """True, or an error that says what is wrong with the bill."""
        if overdue_bill_id not in self.get_customer_by_id(customer_id).bill_ids:
            raise ValueError(f"Overdue bill {overdue_bill_id} not found")
        if self.bill(overdue_bill_id).status != BillStatus.OVERDUE:
            raise ValueError(f"Overdue bill {overdue_bill_id} is not overdue")
        return True

    @for_checks
    def assert_no_overdue_bill(self, overdue_bill_id: str) -> bool:
        """Return True if there is no such bill, or it is paid."""
        # As in every look-up, the first of that id: a task file may open a second one.
        found = (bill for bill in self.db.bills if bill.bill_id == overdue_bill_id)
        bill = next(found, None)
        return bill is None or bill.status == BillStatus.PAID

    def line_with_number(self, phone_number: str) -> Line:
        return _require_record(
            "Line with phone number", self.db.lines, "phone_number", phone_number
        )

    def plan(self, plan_id: str) -> Plan:
        return _require_record("Plan with ID", self.db.plans, "plan_id", plan_id)

    def bill(self, bill_id: str) -> Bill:
        """The bill of that id, whosoever it is."""
        return _require_record("Bill with ID", self.db.bills, "bill_id", bill_id)

    def bills_of(self, customer: Customer, status: BillStatus | None = None) -> list[Bill]:
        """A customer's bills, in the order in which the customer's record has them."""
        bills = [self.bill(bill_id) for bill_id in customer.bill_ids]
        return bills if status is None else [bill for bill in bills if bill.status == status]

    def _line(self, line_id: str) -> Line:
        return _require_record("Line with ID", self.db.lines, "line_id", line_id)

    def _line_of(self, customer_id: str, line_id: str) -> Line:
        if line_id not in self.get_customer_by_id(customer_id).line_ids:
            raise ValueError(f"Line {line_id} not found for customer {customer_id}")
        return self._line(line_id)

    def _charge(self, customer_id: str, amount: float, description: str) -> None:
        customer = self.get_customer_by_id(customer_id)
        # Hardly any customer has a draft, so that adding data mostly opens a bill.
        drafts = self.bills_of(customer, BillStatus.DRAFT)
        bill = drafts[0] if drafts else self._open_bill(customer, self._new_bill_id())
        own(self.db.bills, bill).add(
            LineItem(
                description=description,
                amount=amount,
                date=TODAY,
                item_type="Credit" if amount < 0 else "Charge",
            )
        )

    def as_reference(self) -> bool:
        """Open bills under ids that no conversation uses."""
        self._bill_prefix = "R"
        return not self._bills_opened

    def _new_bill_id(self) -> str:
        # Counted and not random, so that a conversation replays to the same state.
        self._bills_opened += 1
        return f"{self._bill_prefix}{self._bills_opened:08d}"

    # Every month that a bill is for has 31 days.
    def _open_bill(
        self,
        customer: Customer,
        bill_id: str,
        month: dt.date = dt.date(2025, 3, 1),
        status: BillStatus = BillStatus.DRAFT,
    ) -> Bill:
        bill = Bill(
            bill_id=bill_id,
            customer_id=customer.customer_id,
            period_start=month,
            period_end=month.replace(day=31),
            issue_date=month,
            total_due=0,
            due_date=month.replace(day=15),
            status=status,
        )
        self.db.bills.append(bill)
        own(self.db.customers, customer).bill_ids.append(bill.bill_id)
        return bill


def _require_record(
    what: str, records: Iterable[TelecomRecordT], field: str, value: object
) -> TelecomRecordT:
    for record in records:
        if getattr(record, field) == value:
            return record
    raise ValueError(f"{what} {value} not found")
