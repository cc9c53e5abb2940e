"""The records that a call is about, for rules: found, or None, whatever the arguments are."""

from maseval.benchmark.tau2.domains.telecom.models import (
    Bill,
    BillStatus,
    Customer,
    Line,
    LineStatus,
    Plan,
)
from maseval.benchmark.tau2.domains.telecom.tools import TODAY
from maseval.benchmark.tau2.domains.telecom.user_models import TelecomUserDB
from maseval.benchmark.tau2.review.policy.rules import policy_of
from maseval.benchmark.tau2.review.talk import CallMoment

telecom = policy_of("telecom")
UNPAID = (BillStatus.OVERDUE, BillStatus.AWAITING_PAYMENT)


def customer_of(moment: CallMoment) -> Customer | None:
    """Return the customer whom a call names."""
    wanted = moment.arguments.get("customer_id")
    found: Customer | None = next(
        (each for each in moment.tools.db.customers if each.customer_id == wanted), None
    )
    return found


def line_of(moment: CallMoment) -> Line | None:
    """Return the line that a call names, whosoever it is."""
    wanted = moment.arguments.get("line_id")
    found: Line | None = next(
        (each for each in moment.tools.db.lines if each.line_id == wanted), None
    )
    return found


def bill_of(moment: CallMoment) -> Bill | None:
    """Return the bill that a call names, whosoever it is."""
    wanted = moment.arguments.get("bill_id")
    found: Bill | None = next(
        (each for each in moment.tools.db.bills if each.bill_id == wanted), None
    )
    return found


def plan_of(moment: CallMoment, line: Line) -> Plan | None:
    """Return the plan of a line."""
    plans = moment.tools.db.plans
    found: Plan | None = next((each for each in plans if each.plan_id == line.plan_id), None)
    return found


def unpaid_bills(moment: CallMoment, customer: Customer) -> list[Bill]:
    """Return a customer's bills that are overdue, also those for which payment was asked."""
    bills = moment.tools.db.bills
    return [each for each in bills if each.bill_id in customer.bill_ids and each.status in UNPAID]


def phone_of(moment: CallMoment) -> TelecomUserDB | None:
    """Return the customer's side of the world."""
    db = getattr(moment.user_tools, "db", None)
    return db if isinstance(db, TelecomUserDB) else None


def has_ended(line: Line) -> bool:
    return line.contract_end_date is not None and line.contract_end_date < TODAY


def is_cut_off(line: Line) -> bool:
    """Return True if a line is suspended and no agent may resume it."""
    return line.status == LineStatus.SUSPENDED and has_ended(line)


def amount_of(moment: CallMoment) -> float | None:
    """Return the GB of a call, if they are a number."""
    value = moment.arguments.get("gb_amount")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)
