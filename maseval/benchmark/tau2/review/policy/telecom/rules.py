"""The carrier's policy as rules; here those that its records and the phone decide.

The rules about more data stand in ``refuel_rules``, those about what was read or said before, and
about how the customer is dealt with, in ``service_rules``.
"""

from collections.abc import Iterator

from maseval.benchmark.tau2.domains.telecom.models import BillStatus, LineStatus
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.confirming import (
    no_text_beside_a_call,
    nothing_after_a_transfer,
    one_call_at_a_time,
    transfer_is_announced,
    transfer_is_wanted,
)
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell, rules_in
from maseval.benchmark.tau2.review.policy.telecom import refuel_rules, service_rules
from maseval.benchmark.tau2.review.policy.telecom.refuel_rules import (
    TelecomCall,
    has_ended,
    telecom,
)
from maseval.benchmark.tau2.review.policy.telecom.service_rules import WRITES, says_travelling
from maseval.benchmark.tau2.review.policy.told import only_done_is_claimed

_PAYMENT = "Overdue Bill Payment"
_SUSPENSION = "Line Suspension"
_ROAMING = "Data Roaming"


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


@telecom.state("roaming.abroad", _ROAMING, "enable_roaming", hears=True)
def check_abroad(call: TelecomCall) -> Iterator[Answer]:
    """Roaming is enabled for a user who is outside the home network."""
    phone = call.phone
    if phone is None or phone.surroundings.is_abroad or says_travelling(call):
        return
    if call.ticket is None and not call.talk.is_english:
        yield CannotTell("the user is at home; unclear if a trip was mentioned (not in English)")
    else:
        yield Broken("the user is at home")


@telecom.state("roaming.needed", f"{_ROAMING}: last sentence", "enable_roaming")
def check_roaming_need(call: TelecomCall) -> Iterator[Answer]:
    """Roaming is enabled on a line that does not have it yet."""
    line = call.line
    if line is not None and line.roaming_enabled:
        yield Broken(f"line {line.line_id} is roaming enabled already")


_FORM = "introduction, 3rd paragraph"
_CLAIMS, _TRANSFER = "introduction, 2nd paragraph", "introduction, 5th paragraph"
RULES = (
    *rules_in(globals(), vars(refuel_rules), vars(service_rules)),
    *(one_call_at_a_time("telecom", _FORM), no_text_beside_a_call("telecom", _FORM)),
    *(transfer_is_announced("telecom", _TRANSFER), transfer_is_wanted("telecom", _TRANSFER)),
    nothing_after_a_transfer("telecom", _TRANSFER, WRITES),
    only_done_is_claimed(
        "telecom", "introduction, 2nd paragraph; Change Plan", phrases.TELECOM_CLAIMS
    ),
)
