"""Prohibitions of the carrier's policy, as far as the database decides them."""

from collections.abc import Iterator, Mapping
from typing import Any

from maseval.benchmark.tau2.domains.telecom.models import BillStatus
from maseval.benchmark.tau2.domains.telecom.tools import TODAY, TelecomTools

MOST_GB = 2.0


def payment_request(tools: TelecomTools, arguments: Mapping[str, Any]) -> Iterator[str]:
    """Only for a bill that is overdue."""
    status = tools.bill(arguments["bill_id"]).status
    if status != BillStatus.OVERDUE:
        yield f"bill {arguments['bill_id']} is {status.value}, not overdue"


def resuming(tools: TelecomTools, arguments: Mapping[str, Any]) -> Iterator[str]:
    """Only when all overdue bills are paid and the contract has not ended."""
    customer = tools.get_customer_by_id(arguments["customer_id"])
    overdue = [bill.bill_id for bill in tools.bills_of(customer, BillStatus.OVERDUE)]
    if overdue:
        yield f"bill {', '.join(overdue)} is still overdue"
    line = next(each for each in tools.db.lines if each.line_id == arguments["line_id"])
    if line.contract_end_date is not None and line.contract_end_date < TODAY:
        yield f"the contract of line {line.line_id} ended on {line.contract_end_date}"


def refuelling(tools: TelecomTools, arguments: Mapping[str, Any]) -> Iterator[str]:
    """At most 2 GB."""
    if arguments["gb_amount"] > MOST_GB:
        yield f"{arguments['gb_amount']} GB are added, where {MOST_GB:g} are allowed"


PRECONDITIONS = {
    "send_payment_request": payment_request,
    "resume_line": resuming,
    "refuel_data": refuelling,
}
