"""The carrier's policy as rules; here those that its records and the phone decide.

The rules about what was read or said before stand in ``flow_rules``, those about more data in
``refuel_rules``, those about how the customer is dealt with in ``service_rules``.
"""

from collections.abc import Callable, Iterator

from maseval.benchmark.tau2.domains.telecom.models import BillStatus, LineStatus
from maseval.benchmark.tau2.domains.telecom.user_models import NetworkModePreference, PhoneDevice
from maseval.benchmark.tau2.review.policy.confirming import (
    no_text_beside_a_call,
    nothing_after_a_transfer,
    one_call_at_a_time,
    transfer_is_announced,
)
from maseval.benchmark.tau2.review.policy.rules import (
    Answer,
    Broken,
    CallMoment,
    CannotTell,
    Kind,
    rule,
)
from maseval.benchmark.tau2.review.policy.telecom.flow_rules import (
    FLOW_RULES,
    WRITES,
    says_travelling,
)
from maseval.benchmark.tau2.review.policy.telecom.records import (
    bill_of,
    customer_of,
    has_ended,
    line_of,
    phone_of,
    unpaid_bills,
)
from maseval.benchmark.tau2.review.policy.telecom.refuel_rules import REFUEL_RULES
from maseval.benchmark.tau2.review.policy.telecom.service_rules import SERVICE_RULES, SUPPORT_RULES

_PAYMENT = "Overdue Bill Payment"
_SUSPENSION = "Line Suspension"
_ROAMING = "Data Roaming"


@rule("telecom.record.owner", Kind.STATE, place="Domain Basics: Customer", tools=WRITES)
def check_owner(moment: CallMoment) -> Iterator[Answer]:
    """A line or bill is changed for the customer to whom it belongs."""
    customer = customer_of(moment)
    if customer is None:
        name = moment.arguments.get("customer_id")
        yield Broken(f"there is no customer {name!r}", {"customer": name})
        return
    for field, owned in (("line_id", customer.line_ids), ("bill_id", customer.bill_ids)):
        value = moment.arguments.get(field)
        if field in moment.arguments and value not in owned:
            text = f"{value} does not belong to customer {customer.customer_id}"
            yield Broken(text, {field: value, "customer": customer.customer_id})


@rule(
    "telecom.payment.overdue",
    Kind.STATE,
    place=f"{_PAYMENT}: step 1 and the last remark",
    tools={"send_payment_request"},
)
def check_bill_status(moment: CallMoment) -> Iterator[Answer]:
    """Payment is requested only for a bill that is overdue."""
    bill = bill_of(moment)
    if bill is not None and bill.status != BillStatus.OVERDUE:
        text = f"bill {bill.bill_id} is {bill.status.value}, not overdue"
        yield Broken(text, {"bill": bill.bill_id, "status": bill.status.value})


@rule(
    "telecom.payment.single",
    Kind.STATE,
    place=f"{_PAYMENT}: 1st remark",
    tools={"send_payment_request"},
)
def check_single_request(moment: CallMoment) -> Iterator[Answer]:
    """Payment is requested for one bill at a time."""
    customer = customer_of(moment)
    waiting = [] if customer is None else unpaid_bills(moment, customer)
    for bill in waiting:
        if bill.status == BillStatus.AWAITING_PAYMENT:
            yield Broken(f"bill {bill.bill_id} awaits payment already", {"bill": bill.bill_id})


@rule(
    "telecom.payment.permitted",
    Kind.STATE,
    place=f"{_PAYMENT} (solo): 2nd sentence",
    tools={"send_payment_request", "make_payment"},
)
def check_payment_permission(moment: CallMoment) -> Iterator[Answer]:
    """An agent that works alone pays only if the ticket allows it."""
    ticket = moment.ticket
    if ticket is not None and not ("permission" in ticket.lower() and "pay" in ticket.lower()):
        yield Broken("the ticket gives no permission to pay bills")


@rule(
    "telecom.resume.bills",
    Kind.STATE,
    place=f"{_SUSPENSION}: lifting, 1st sentence",
    tools={"resume_line"},
)
def check_bills_paid(moment: CallMoment) -> Iterator[Answer]:
    """A line is resumed only after all overdue bills were paid."""
    customer = customer_of(moment)
    for bill in [] if customer is None else unpaid_bills(moment, customer):
        values = {"bill": bill.bill_id, "status": bill.status.value, "due": bill.total_due}
        yield Broken(f"bill {bill.bill_id} is not paid: it is {bill.status.value}", values)


@rule(
    "telecom.resume.contract",
    Kind.STATE,
    place=f"{_SUSPENSION}: lifting, 2nd sentence",
    tools={"resume_line"},
)
def check_contract(moment: CallMoment) -> Iterator[Answer]:
    """A line is not resumed once its contract has ended."""
    line = line_of(moment)
    if line is not None and has_ended(line):
        ended = str(line.contract_end_date)
        text = f"the contract of line {line.line_id} ended on {ended}"
        yield Broken(text, {"line": line.line_id, "contract_end_date": ended})


@rule("telecom.resume.suspended", Kind.STATE, place=_SUSPENSION, tools={"resume_line"})
def check_line_status(moment: CallMoment) -> Iterator[Answer]:
    """Only a line that is suspended is resumed."""
    line = line_of(moment)
    if line is not None and line.status != LineStatus.SUSPENDED:
        text = f"line {line.line_id} is {line.status.value}, not suspended"
        yield Broken(text, {"line": line.line_id, "status": line.status.value})


@rule(
    "telecom.suspend.reason",
    Kind.STATE,
    place=f"{_SUSPENSION}: the two reasons",
    tools={"suspend_line"},
)
def check_suspension(moment: CallMoment) -> Iterator[Answer]:
    """A line is suspended for an overdue bill or an ended contract, and for nothing else."""
    customer, line = customer_of(moment), line_of(moment)
    if customer is None or line is None:
        return
    if not unpaid_bills(moment, customer) and not has_ended(line):
        values = {"line": line.line_id, "reason": moment.arguments.get("reason")}
        yield Broken("no bill is overdue and the contract has not ended", values)


@rule("telecom.roaming.abroad", Kind.STATE, place=_ROAMING, tools={"enable_roaming"})
def check_abroad(moment: CallMoment) -> Iterator[Answer]:
    """Roaming is enabled for a user who is outside the home network."""
    phone = phone_of(moment)
    if phone is None or phone.surroundings.is_abroad or says_travelling(moment):
        return
    if moment.ticket is None and not moment.talk.is_english:
        yield CannotTell("the user is at home; whether a journey was spoken of cannot be read")
    else:
        yield Broken("the user is at home", {"line": moment.arguments.get("line_id")})


@rule(
    "telecom.roaming.needed",
    Kind.STATE,
    place=f"{_ROAMING}: last sentence",
    tools={"enable_roaming"},
)
def check_roaming_need(moment: CallMoment) -> Iterator[Answer]:
    """Roaming is enabled on a line that does not have it yet."""
    line = line_of(moment)
    if line is not None and line.roaming_enabled:
        yield Broken(f"line {line.line_id} is roaming enabled already", {"line": line.line_id})


# What the manual has done with each switch: the direction in which it turns it, and how to tell
# that it stands the other way.
_TURNED: dict[str, tuple[str, Callable[[PhoneDevice], bool]]] = {
    "toggle_airplane_mode": ("airplane mode off", lambda device: device.airplane_mode),
    "toggle_data": ("mobile data on", lambda device: not device.data_enabled),
    "toggle_roaming": ("data roaming on", lambda device: not device.roaming_enabled),
    "toggle_data_saver_mode": ("data saver off", lambda device: device.data_saver_mode),
    "toggle_wifi_calling": ("Wi-Fi calling off", lambda device: device.wifi_calling_enabled),
}


@rule(
    "telecom.phone.switch",
    Kind.STATE,
    place="Tech support: each step that turns a switch",
    tools=_TURNED,
)
def check_switch(moment: CallMoment) -> Iterator[Answer]:
    """An agent that works alone turns the phone's switches the way the manual does.

    A switch that is turned again later was only tried.
    """
    phone, name = phone_of(moment), moment.call["name"]
    wanted, stands_otherwise = _TURNED[name]
    if phone is None or stands_otherwise(phone.device):
        return
    again = (each for each in moment.talk.calls if each.call["name"] == name)
    if not any(each.message_index > moment.message_index for each in again):
        yield Broken(f"the manual turns {wanted}, and so it was before", {"manual": wanted})


@rule(
    "telecom.phone.setting",
    Kind.STATE,
    place="Tech support: network mode; VPN",
    tools={"set_network_mode_preference", "connect_vpn"},
)
def check_setting(moment: CallMoment) -> Iterator[Answer]:
    """An agent that works alone chooses no 2G network and connects no VPN."""
    if moment.call["name"] == "connect_vpn":
        yield Broken("no step of the manual connects a VPN")
    elif moment.arguments.get("mode") == NetworkModePreference.TWO_G_ONLY:
        yield Broken("2G is too old for data and picture messages", {"mode": "2g_only"})


_STATE_RULES = (
    *(check_owner, check_bill_status, check_single_request, check_payment_permission),
    *(check_bills_paid, check_contract, check_line_status, check_suspension),
    *(check_abroad, check_roaming_need, check_switch, check_setting),
)
_FORM = "introduction, 3rd paragraph"
_TRANSFER = "introduction, 5th paragraph"
WORKFLOW_RULES = (
    *(*_STATE_RULES, *FLOW_RULES, *REFUEL_RULES, *SERVICE_RULES),
    *(one_call_at_a_time("telecom", _FORM), no_text_beside_a_call("telecom", _FORM)),
    transfer_is_announced("telecom", _TRANSFER),
    nothing_after_a_transfer("telecom", _TRANSFER, WRITES),
)
RULES = (*WORKFLOW_RULES, *SUPPORT_RULES)
