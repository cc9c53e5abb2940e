"""The carrier's policy as rules.

The records that a call is about are found here, or are None, whatever the arguments are.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeVar

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
from maseval.benchmark.tau2.review.policy.confirming import (
    no_text_beside_a_call,
    nothing_after_a_transfer,
    one_call_at_a_time,
    transfer_is_announced,
)
from maseval.benchmark.tau2.review.policy.rules import (
    Answer,
    Broken,
    CannotTell,
    Kind,
    Policy,
    rules_in,
)
from maseval.benchmark.tau2.review.talk import CallMade, CallMoment, Talk
from maseval.benchmark.tau2.review.values import (
    has_date,
    has_spoken_numbers,
    is_said,
    mentions,
    stands_in,
)

Row = TypeVar("Row", Bill, Customer, Line, Plan)
# A bill for which payment was asked is still not paid.
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
        line = self.line
        return None if line is None else _find(self.db.plans, "plan_id", line.plan_id)

    @property
    def unpaid(self) -> list[Bill]:
        """The customer's bills that are overdue, also those for which payment was asked."""
        own = self.customer.bill_ids if self.customer else ()
        return [each for each in self.db.bills if each.bill_id in own and each.status in UNPAID]

    @property
    def phone(self) -> TelecomUserDB | None:
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


LINE_WRITES = frozenset(
    {"suspend_line", "resume_line", "enable_roaming", "disable_roaming", "refuel_data"}
)
WRITES = LINE_WRITES | {"send_payment_request"}
LOOKUPS = frozenset({"get_customer_by_phone", "get_customer_by_id", "get_customer_by_name"})
_READS = frozenset({"get_details_by_id", "get_bills_for_customer", "get_data_usage"})
_ARGUMENTS = {"phone_number": "phone number", "full_name": "name", "dob": "date of birth"}
_FIELD = re.compile(r'"(line_id|phone_number|data_used_gb|data_limit_gb)": "?([\w.-]+)')


def _finds_a_customer(made: CallMade) -> bool:
    name, record = made.call["name"], made.call["arguments"].get("id")
    asks = name in LOOKUPS or (name == "get_details_by_id" and str(record).startswith("C"))
    return asks and '"customer_id"' in made.answer


@telecom.state("roaming.abroad", "Data Roaming", "enable_roaming")
def check_abroad(call: TelecomCall) -> Iterator[Answer]:
    """Roaming is enabled for a user who is outside the home network."""
    phone = call.phone
    if phone is None or phone.surroundings.is_abroad:
        return
    text = "the user is at home"
    yield Broken(text) if call.ticket is not None else CannotTell(f"{text}; was a trip mentioned?")


@telecom.flow("identity.given", "Customer Lookup", *LOOKUPS)
def check_lookup(call: TelecomCall) -> Iterator[Answer]:
    """A customer is looked up by what the user gave: a number, an id, or name and birth date."""
    tried = [each.call["arguments"] for each in call.calls_read if each.call["name"] in LOOKUPS]
    made_up = _find_unknown(call.arguments, call)
    if not made_up or any(_find_unknown(each, call) for each in tried):
        return  # one guess of many: the first tells it
    values = " and ".join(f"{_ARGUMENTS.get(name, name)} {made_up[name]}" for name in made_up)
    if "full_name" not in made_up and has_spoken_numbers(call.told):
        yield CannotTell(f"the {values} may have been read out")
    else:
        yield Broken(f"nobody gave the {values}", made_up)


def _find_unknown(arguments: Mapping[str, Any], call: TelecomCall) -> dict[str, str]:
    return {
        name: value
        for name, value in arguments.items()
        if isinstance(value, str) and not _is_known(name, value, call)
    }


def _is_known(name: str, value: str, call: TelecomCall) -> bool:
    if value in call.all_words:
        return True
    if name == "phone_number":
        return _has(call.told, value) or value.replace("-", "") in call.all_words.replace("-", "")
    if name == "dob":  # records have it as it is in the call
        return has_date(call.told, value)
    parts = value.lower().split() if name == "full_name" else [value.lower()]
    return all(part in call.told for part in parts) or all(
        part in call.all_words.lower() for part in parts
    )


# People leave out the code of the country, and write numbers with any signs.
def _has(text: str, number: str) -> bool:
    digits = "".join(filter(str.isdigit, number))[-10:]
    return number in text or is_said(digits, text)


@telecom.flow("customer.found", "Customer Lookup; Technical Support", *WRITES)
def check_customer(call: TelecomCall) -> Iterator[Answer]:
    """A write is made for a customer who was looked up before."""
    found = (each.answer for each in call.calls_read if _finds_a_customer(each))
    named = call.customer and call.customer.customer_id
    if named and not any(f'"{named}"' in answer for answer in found):
        yield Broken(f"customer {named} was not looked up before")


@telecom.flow("record.known", "introduction, 2nd paragraph", *WRITES)
def check_record(call: TelecomCall) -> Iterator[Answer]:
    """The line or bill of a write was read or named before."""
    known = call.all_words
    for name in ("line_id", "bill_id"):
        value = call.arguments.get(name)
        if isinstance(value, str) and not mentions(known, value):
            yield Broken(f"{value} appears in nothing read or said before")


@telecom.flow(
    "line.asked",
    "Data Refueling and Data Roaming: the line of the number that the user gave",
    *LINE_WRITES,
)
def check_line(call: TelecomCall) -> Iterator[Answer]:
    """A write goes to the line of the phone number that the user gave."""
    line, customer = call.line, call.customer
    if line is None or customer is None or line.line_id not in customer.line_ids:
        return
    lines = [each for each in call.db.lines if each.line_id in customer.line_ids]
    # A single line leaves no choice, and a number that the user has answered counts as agreed.
    if len(lines) == 1 or any(line.phone_number in each.text for each in call.answered_texts):
        return
    named = [each.line_id for each in lines if _names_line(call.told, each)]
    if line.line_id in named:
        return
    if not named:
        yield CannotTell("the user named no line, and the customer has several")
    elif "lines" in call.told:
        yield CannotTell(f"the user named {', '.join(named)}, and may have meant all lines")
    else:
        yield Broken(f"the user named line {', '.join(named)}, but {line.line_id} is changed")


def _names_line(text: str, line: Line) -> bool:
    number = line.phone_number
    named = any(mentions(text, name) for name in (line.line_id, number[-4:]))
    return named or _has(text, number)


@telecom.flow(
    "payment.checked", "Overdue Bill Payment: steps 1 and 2, last remark", "send_payment_request"
)
def check_bill_read(call: TelecomCall) -> Iterator[Answer]:
    """A bill's status and amount are looked up before payment is requested."""
    yield from _not_read(call, "bill")


@telecom.flow("roaming.checked", "Data Roaming: last two sentences", "enable_roaming")
def check_line_read(call: TelecomCall) -> Iterator[Answer]:
    """A line is looked up before roaming is enabled on it."""
    # Other answers name the line as well, but do not say if it has roaming.
    yield from _not_read(call, "line", '"roaming_enabled"')


def _not_read(call: TelecomCall, kind: str, field: str = "") -> Iterator[Answer]:
    record = call.arguments.get(f"{kind}_id")
    read = f'"{kind}_id": "{record}"'
    if not any(read in each.answer and field in each.answer for each in call.calls_read):
        yield Broken(f"{kind} {record} was not looked up before")


@telecom.protocol("identity.first", "Technical Support; Customer Lookup", *(_READS | WRITES))
def check_identity(call: TelecomCall) -> Iterator[Answer]:
    """The customer is identified before records are read or changed."""
    record = str(call.arguments.get("id"))
    if call.tool == "get_details_by_id" and record.startswith(("P", "C")):
        # Plans belong to nobody, and looking up a customer's record is a way to identify the
        # customer.
        return
    if not any(map(_finds_a_customer, call.calls_read)):
        yield Broken(f"{call.call['name']} is called before anybody was identified")


@telecom.talk("identity.support", "Technical Support", kind=Kind.FORM)
def check_identity_for_support(talk: Talk) -> Iterator[Answer]:
    """The customer is identified before the phone is looked into."""
    first = next((each for each in talk.calls if each.call["requestor"] == "user"), None)
    before = talk.calls_before(first.message_index) if first else ()
    if first is None or any(map(_finds_a_customer, before)):
        return
    # Without a text of the agent after the user's first one, the user does it unasked.
    asked = [each for each in talk.agent_before(first.message_index) if each.message_index]
    if asked:
        yield Broken(
            f"the user does {first.call['name']} on the phone before anybody was identified",
            message_index=first.message_index,
        )


@telecom.talk("usage.line", "Data Refueling: line of the number given", kind=Kind.DATA_FLOW)
def check_usage(talk: Talk) -> Iterator[Answer]:
    """The use of data that the agent tells is that of the user's line."""
    read: dict[str, dict[str, str]] = {}
    tells_any = any("gb" in said.lower for said in talk.agent)
    for each in talk.calls if tells_any else ():
        if '"data_used_gb"' in each.answer or '"phone_number"' in each.answer:
            fields = dict(_FIELD.findall(each.answer))
            read.setdefault(fields.get("line_id", ""), {}).update(fields)
    used = [each for each in read.values() if "data_used_gb" in each]
    told = [(said, each) for each in used for said in talk.agent if _tells(said.lower, each)]
    if not told:
        return
    given = "\n".join(each.text for each in talk.user)
    own = [e for e in read.values() if (number := e.get("phone_number")) and _has(given, number)]
    figures = {value for each in own for value in each.values()}
    for said, line in told if own else ():
        if line not in own and line["data_used_gb"] not in figures:
            yield Broken(
                f"{line['data_used_gb']} GB were used on {line['line_id']}, another line",
                {"said": said.text},
                said.message_index,
            )
            return


def _tells(text: str, line: Mapping[str, str]) -> bool:
    if "gb" not in text or line["data_used_gb"] not in text:
        return False
    names = (line["line_id"].lower(), line.get("phone_number", "")[-4:])
    is_named = any(name and name in text for name in names)
    # In "13gb" the number would not stand by itself.
    return not is_named and stands_in(text.replace("gb", " gb"), line["data_used_gb"])


def has_ended(line: Line) -> bool:
    return line.contract_end_date is not None and line.contract_end_date < TODAY


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
    # The tolerance is for sums of floats.
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


_FORM, _TRANSFER = "introduction, 3rd paragraph", "introduction, 5th paragraph"
RULES = (
    *rules_in(globals()),
    one_call_at_a_time("telecom", _FORM),
    no_text_beside_a_call("telecom", _FORM),
    transfer_is_announced("telecom", _TRANSFER),
    nothing_after_a_transfer("telecom", _TRANSFER, WRITES),
)
