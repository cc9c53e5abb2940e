"""The carrier's records and remedies, the rules that they decide, and those about adding data.

The records that a call is about, for these and other rules, are found here, or are None, whatever
the arguments are. A fault of a phone hides those above it: without service there is no data,
without data there are no picture messages. So only the remedies of the lowest broken layer are
left to try.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import takewhile
from typing import TypeVar

from maseval.benchmark.tau2.domains.telecom import phone
from maseval.benchmark.tau2.domains.telecom.models import (
    APNNames,
    Bill,
    BillStatus,
    Customer,
    Line,
    LineStatus,
    NetworkModePreference,
    NetworkStatus,
    NetworkTechnology,
    PerformanceLevel,
    Plan,
    SimStatus,
    TelecomDB,
    TelecomUserDB,
)
from maseval.benchmark.tau2.domains.telecom.tools import TODAY
from maseval.benchmark.tau2.review.plain_text import NUMBERS
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.absence import found_in, missing, spoken
from maseval.benchmark.tau2.review.policy.confirming import declines
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell, Policy
from maseval.benchmark.tau2.review.replies import agrees
from maseval.benchmark.tau2.review.talk import CallMoment, Utterance

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
        return self.user_words if self.ticket is None else self.ticket.lower()

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
_MOST_NAMED = 5.0
_NUMERALS = {"a": 1.0, "an": 1.0, "half": 0.5, "single": 1.0}


@telecom.state("refuel.most", f"{_REFUELING}: the most that may be added", "refuel_data")
def check_data_limit(call: TelecomCall) -> Iterator[Answer]:
    """At most 2 GB are added to a line."""
    amount, line = call.gigabytes, call.line
    before = 0.0 if line is None else line.data_refueling_gb
    if amount is not None and amount > 0 and amount + before > MOST_GB + 1e-9:
        already = f" to {before:g} GB added before" if before else ""
        yield Broken(f"{amount:g} GB are added{already}, but only {MOST_GB:g} GB are allowed")


@telecom.state(
    "refuel.need",
    f"{_REFUELING}: 2nd sentence; Data Plan Limits Reached",
    "refuel_data",
    hears=True,
)
def check_data_need(call: TelecomCall) -> Iterator[Answer]:
    """Data is added where the plan's limit was reached, or the user asks for it unprompted."""
    line = call.line
    plan = call.plan
    if line is None or plan is None:
        return
    limit = plan.data_limit_gb + line.data_refueling_gb
    if line.data_used_gb >= limit or asks_for_data_first(call):
        return
    text = f"line {line.line_id} has used {line.data_used_gb:g} of {limit:g} GB"
    if call.ticket is None and not call.talk.is_english:
        yield CannotTell(f"{text}; unclear if the user asked for more (not in English)")
        return
    # "Put two gigs on it"
    first = call.user_texts[0].lower if call.user_texts and call.ticket is None else ""
    yield missing(text, found_in(phrases.GB, first))


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


def gigabytes(text: str) -> list[float]:
    """Return the amounts of data that a text names, without repetition."""
    lower = phrases.HALF.sub(_with_half, text.lower())
    found = phrases.GB.findall(lower) if "gb" in lower or "gig" in lower else ()
    return list(dict.fromkeys(map(_number, found)))


def _with_half(found: re.Match[str]) -> str:
    return f"{_number(found[1]) + 0.5:g}{found[2] or ''}"


def _number(word: str) -> float:
    return _NUMERALS.get(word) or float(NUMBERS.get(word, 0) or word)


def asks_for_data_first(call: TelecomCall) -> bool:
    """Return True if the user spoke of adding data before the agent did."""
    said = call.user_texts if call.ticket is None else []
    asked = next((each for each in said if any(map(_asks_for_data, each.sentences))), None)
    before = call.talk.agent_before(asked.message_index) if asked else ()
    return asked is not None and not any(phrases.DATA.search(each.lower) for each in before)


def _asks_for_data(sentence: str) -> bool:
    return bool(phrases.DATA.search(sentence)) and not phrases.IF_NEEDED.search(sentence)


@telecom.flow("refuel.amount", "Data Refueling: 1st step", "refuel_data", words=True)
def check_amount(call: TelecomCall) -> Iterator[Answer]:
    """The data added is as much as the user wanted."""
    amount, (question, reply) = call.gigabytes, call.question_and_reply
    if amount is None:
        return
    texts = (gigabytes(each.text) for each in reversed(call.agent_texts))
    offered = next(filter(None, texts), [])
    # "For $4 you have two more": the number without its unit.
    agreed = question.lower if question and reply and agrees(reply.text) else ""
    said = [(each, _wanted(each, question, reply)) for each in call.user_texts]
    bare = rf"(?<![\w.$]){amount:g}(?![\w.])"
    if reply and agreed and not said[-1][1] and not re.search(bare, agreed):
        said.append((reply, offered))
    # More can only be the use or the limit of a plan.
    small = [(each, [gb for gb in named if gb <= _MOST_NAMED]) for each, named in said]
    wanted = [(each, named) for each, named in small if named]
    last = phrases.HALF.sub(_with_half, reply.lower) if reply else ""
    if (wanted and amount in wanted[-1][1]) or re.search(bare, last):
        return
    words = (word for word, number in NUMBERS.items() if number == amount)
    unread = next((w for w in words if f" {w} " in agreed), "") or _unread_offer(call)
    if wanted and (wanted[-1][0] == reply or amount not in offered):
        text = f"the user said {wanted[-1][1][0]:g} GB, and {amount:g} GB are added"
        yield missing(text, unread, {"said": wanted[-1][1]})
    elif reply is not None and phrases.ALL_OF_IT.search(reply.lower):
        return
    elif reply is None or amount not in offered:
        text = f"{amount:g} GB are added, and no amount was agreed"
        yield missing(text, spoken(call.user_words) or unread)
    elif not agrees(reply.text):
        yield CannotTell("the reply to the offer names no amount")


def _wanted(said: Utterance, question: Utterance | None, reply: Utterance | None) -> list[float]:
    """Return the amounts of data in a text of the user; a bare number answers how much."""
    lower = phrases.HALF.sub(_with_half, said.lower)
    found = phrases.BARE_NUMBER.fullmatch(lower) if said == reply else None
    if found and question and phrases.OF_DATA.search(question.lower):
        return [_number(found[1])]
    return gigabytes(said.text)


@telecom.flow("refuel.price", "Data Refueling: 2nd step", "refuel_data", words=True)
def check_price(call: TelecomCall) -> Iterator[Answer]:
    """The user is told what the data costs before agreeing to it."""
    plan, amount, replies = call.plan, call.gigabytes, call.user_texts
    if plan is None or amount is None or not replies:
        return
    unit = plan.data_refueling_price_per_gb
    others = [each for each in call.tools.db.plans if each.plan_id != plan.plan_id]
    told = [
        prices
        for each in call.talk.agent_before(replies[-1].message_index)
        if phrases.AMOUNT.search(each.lower)
        and (prices := list(_data_prices(each, plan, amount, others)))
    ]
    if not told:
        # A price in words that no list has: "four for each".
        costs = (each for said in call.agent_texts for each in said.sentences)
        unread = next((each for each in costs if phrases.OF_COST.search(each) and spoken(each)), "")
        asked = call.talk.agent_before(replies[-1].message_index)[-1:]  # "$2, ok?"
        unread = unread or "".join(found_in(phrases.AMOUNT, each.lower) for each in asked)
        yield missing(f"no price was given before {amount:g} GB were added", unread)
        return
    wrong = [price for price, is_right in told[-1] if not is_right]
    if wrong:
        text = f"the price given was ${wrong[0]:.2f}, but ${unit * amount:.2f} is charged"
        yield Broken(text, {"said": wrong[0]})


def _data_prices(
    said: Utterance, plan: Plan, amount: float, others: Sequence[Plan]
) -> Iterator[tuple[float, bool]]:
    """Yield the prices of data that a text names, and whether each is right."""
    unit = plan.data_refueling_price_per_gb
    monthly = [each.price_per_month for each in (plan, *others)]
    is_about = False
    for sentence in said.sentences:
        # "Want 2 GB more? 4 bucks."
        is_about = _is_about_data(sentence) or (is_about and len(sentence.split()) < 5)
        if not is_about:
            continue
        is_mixed = any(each.name.lower() in sentence for each in others)
        offers = gigabytes(sentence)
        totals = [unit * each for each in (*offers, amount)]
        amounts = list(phrases.AMOUNT.finditer(sentence))
        # "2 GB x $2 = $4"
        summed = len(amounts) > 1 and any(float(each[1]) in totals for each in amounts)
        each_gb = [unit] if summed or phrases.EACH_GB.search(sentence) or not offers else []
        for found in amounts:
            after = sentence[found.end() : found.end() + 12]
            price = float(found[1])
            if phrases.PER_MONTH.search(after) or (
                price in monthly and phrases.OF_A_PLAN.search(sentence)
            ):
                continue
            right = [unit] if phrases.EACH.search(after) else [*each_gb, *totals]
            is_right = any(abs(price - each) < 0.005 for each in right)
            if is_right or not is_mixed:
                yield price, is_right


def _is_about_data(sentence: str) -> bool:
    """Return True if the prices in a sentence can be those of data, and not of a bill or a plan."""
    if phrases.OF_A_BILL.search(sentence):
        return phrases.DATA.search(sentence) is not None
    if phrases.OF_DATA.search(sentence):
        return True
    return phrases.OF_COST.search(sentence) is not None and not phrases.OF_A_PLAN.search(sentence)


@telecom.protocol("refuel.yes", "Data Refueling: steps", "refuel_data")
def check_wish_for_data(call: TelecomCall) -> Iterator[Answer]:
    """The user wants the data before it is added and charged."""
    replies = [each for each in call.exchanges() if _is_of_data(*each)]
    if not replies:
        yield missing("the user was not asked before data was added", _unread_offer(call))
    elif declines(*replies[0], call) and not gigabytes(replies[0][1].text):
        reply = {"reply": replies[0][1].text}
        yield missing("the user does not want the data", _unread_offer(call), reply)
    elif not any(_wanted(r, q, r) or agrees(r.text) for q, r in replies):
        yield CannotTell("the user's reply is neither a yes nor a no")


def _is_of_data(question: Utterance, reply: Utterance) -> bool:
    return any(phrases.OF_DATA.search(each.lower) for each in (question, reply))


def _unread_offer(call: TelecomCall) -> str:
    """Return the words of cost in a question that has no word for data, and a yes for reply.

    "That makes $4 for the two, all right?", after the last exchange about data.
    """
    later = takewhile(lambda each: not _is_of_data(*each), call.exchanges())
    asked = (question.lower for question, reply in later if agrees(reply.text))
    found = (found_in(phrases.AMOUNT, each) or found_in(phrases.OF_COST, each) for each in asked)
    return next(filter(None, found), "")


MORE_DATA = "offer more data"
_APN, _MODE = "reset the access point settings", "choose a newer network"
_RIGHTS = "grant the messaging app its permissions"
_LINE, _RESTART = "have the bill paid and resume the line", "restart the phone"
REMEDIES = {
    "turn airplane mode off": r"air ?plane|aeroplane|flight mode",
    "reseat the SIM card": r"\bsim\b",
    _APN: r"\bapns?\b|access point",
    _LINE: r"suspen|overdue|payment|resum|reactivat",
    _RESTART: r"re-?boot|re-?start|power[ -]cycl|turn (?:it|your)",
    "turn mobile data on": r"(?:mobile|cellular) data|data (?:switch|is|on|enabled)",
    # Roaming of the line is spoken of as well: only what is said of the phone counts here.
    "turn data roaming on": (
        r"toggle_roaming|\b(?:turn|toggl|switch)\w* (?:\w+ ){0,4}roaming"
        r"|roaming (?:\w+ ){0,3}turned"
        r"|(?:check|verify|ensure|make sure|enable|confirm)[^.?!\n]{0,40}roaming[^.?!\n]{0,40}"
        r"\b(?:phone|device|settings?)|\b(?:phone|device|settings?)\b[^.?!\n]{0,60}\broaming"
    ),
    "enable roaming on the line": "roaming",
    MORE_DATA: r"refuel|more data|add\w* (?:\S+ ){0,8}?data|data limit|exceed|cap\b",
    "turn data saver off": r"data[ -]sav",
    _MODE: r"network (?:mode|pref|type)|prefer|[45]g",
    "disconnect the VPN": r"\bvpn\b",
    "turn Wi-Fi calling off": r"wi-?fi[ -]calling",
    _RIGHTS: "permission",
}
"""The ways out that the manual knows, and how an agent speaks of each."""


def is_hopeless(db: TelecomUserDB, line: Line | None) -> bool:
    """Return True if there is a fault that only a human agent can see to."""
    locked = db.device.sim_card_status in (SimStatus.LOCKED_PIN, SimStatus.LOCKED_PUK)
    return locked or (line is not None and line.status == LineStatus.SUSPENDED and has_ended(line))


def list_remedies(db: TelecomUserDB, line: Line | None, concern: str) -> list[str]:
    """Return what can still be tried; ``concern`` is "service", "data" or "mms"."""
    device = db.device
    faults = {
        "turn airplane mode off": device.airplane_mode,
        "reseat the SIM card": device.sim_card_missing,
        _APN: device.active_apn_settings.apn_name == APNNames.BROKEN,
        _LINE: line is not None and line.status == LineStatus.SUSPENDED,
    }
    if not any(faults.values()) and device.network_connection_status == NetworkStatus.NO_SERVICE:
        return [_RESTART]
    if not any(faults.values()) and concern != "service":
        faults = _faults_above(db, concern)
    return [remedy for remedy, is_there in faults.items() if is_there]


def _faults_above(db: TelecomUserDB, concern: str) -> dict[str, bool]:
    """Return the faults of data, messages or speed, of which the first layer hides the others."""
    device, around = db.device, db.surroundings
    if not phone.mobile_data_works(db):
        return {
            "turn mobile data on": not device.data_enabled,
            "turn data roaming on": around.is_abroad and not device.roaming_enabled,
            "enable roaming on the line": around.is_abroad and not around.roaming_allowed,
            MORE_DATA: around.mobile_data_usage_exceeded,
        }
    if concern == "mms" and not phone.can_send_mms(db):
        app = device.app_statuses.get("messaging")
        rights = app.permissions if app else None
        over_wifi = device.wifi_calling_enabled and device.wifi_calling_mms_over_wifi
        return {
            _MODE: device.network_technology_connected == NetworkTechnology.TWO_G,
            "turn Wi-Fi calling off": over_wifi,
            _APN: device.active_apn_settings.mmsc_url is None,
            _RIGHTS: not (rights and rights.storage and rights.sms),
        }
    if concern == "mms" or phone.speed_test(db).description == "Excellent":
        return {}
    vpn = device.vpn_details if device.vpn_connected else None
    newest = NetworkModePreference.FOUR_G_5G_PREFERRED
    return {
        "turn data saver off": device.data_saver_mode,
        _MODE: device.network_mode_preference != newest,
        "disconnect the VPN": bool(vpn and vpn.server_performance == PerformanceLevel.POOR),
    }
