"""The carrier's records and remedies, and the rules about adding data to a line.

The records that a call is about, for these and other rules, are found here, or are None, whatever
the arguments are. A fault of a phone hides those above it: without service there is no data,
without data there are no picture messages. So only the remedies of the lowest broken layer are
left to try.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

from maseval.benchmark.tau2.domains.telecom import phone
from maseval.benchmark.tau2.domains.telecom.models import (
    Bill,
    BillStatus,
    Customer,
    Line,
    LineStatus,
    Plan,
    TelecomDB,
)
from maseval.benchmark.tau2.domains.telecom.tools import TODAY
from maseval.benchmark.tau2.domains.telecom.user_models import (
    APNNames,
    NetworkModePreference,
    NetworkStatus,
    NetworkTechnology,
    PerformanceLevel,
    SimStatus,
    TelecomUserDB,
)
from maseval.benchmark.tau2.review.plain_text import NUMBERS
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.absence import missing, spoken
from maseval.benchmark.tau2.review.policy.confirming import declines
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell, policy_of
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


telecom = policy_of("telecom", TelecomCall)


def has_ended(line: Line) -> bool:
    return line.contract_end_date is not None and line.contract_end_date < TODAY


def is_cut_off(line: Line) -> bool:
    """Return True if a line is suspended and no agent may resume it."""
    return line.status == LineStatus.SUSPENDED and has_ended(line)


_REFUELING = "Data Refueling"
MOST_GB = 2.0
_MOST_NAMED = 5.0
_NUMERALS = {"a": 1.0, "half": 0.5, "single": 1.0}


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
    yield Broken(text)


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
    lower = text.lower()
    found = phrases.GB.findall(lower) if "gb" in lower or "gig" in lower else ()
    return list(dict.fromkeys(map(_number, found)))


def _number(word: str) -> float:
    return _NUMERALS.get(word) or float(NUMBERS.get(word, 0) or word)


def asks_for_data_first(call: TelecomCall) -> bool:
    """Return True if the user spoke of adding data before the agent did."""
    if call.ticket is not None:
        return False
    said = call.user_texts
    asked = next((each for each in said if any(map(_asks_for_data, each.sentences))), None)
    if asked is None:
        return False
    return not any(
        phrases.DATA.search(each.lower) for each in call.talk.agent_before(asked.message_index)
    )


def _asks_for_data(sentence: str) -> bool:
    return bool(phrases.DATA.search(sentence)) and not phrases.IF_NEEDED.search(sentence)


@telecom.flow("refuel.amount", "Data Refueling: 1st step", "refuel_data", words=True)
def check_amount(call: TelecomCall) -> Iterator[Answer]:
    """The data added is as much as the user wanted."""
    amount = call.gigabytes
    if amount is None:
        return
    said = call.user_texts
    # More can only be the use or the limit of a plan.
    small = ((each, [gb for gb in gigabytes(each.text) if gb <= _MOST_NAMED]) for each in said)
    wanted = [(each, named) for each, named in small if named]
    if wanted and amount in wanted[-1][1]:
        return
    question, reply = call.question_and_reply
    offered = [] if question is None else gigabytes(question.text)
    if wanted and (wanted[-1][0] == reply or amount not in offered):
        text = f"the user said {wanted[-1][1][0]:g} GB, and {amount:g} GB are added"
        yield Broken(text, {"said": wanted[-1][1]})
    elif reply is not None and phrases.ALL_OF_IT.search(reply.lower):
        return
    elif reply is None or amount not in offered:
        text = f"{amount:g} GB are added, and no amount was agreed"
        yield missing(text, spoken(call.user_words))
    elif not agrees(reply.text):
        yield CannotTell("the reply to the offer names no amount")


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
        each_gb = [unit] if phrases.EACH_GB.search(sentence) or not offers else []
        for found in phrases.AMOUNT.finditer(sentence):
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
    replies = [
        (question, reply)
        for question, reply in call.exchanges()
        if phrases.OF_DATA.search(question.lower) or phrases.OF_DATA.search(reply.lower)
    ]
    if not replies:
        yield Broken("the user was not asked before data was added")
    elif declines(*replies[0], call) and not gigabytes(replies[0][1].text):
        yield Broken("the user does not want the data", {"reply": replies[0][1].text})
    elif not any(gigabytes(reply.text) or agrees(reply.text) for _, reply in replies):
        yield CannotTell("the user's reply is neither a yes nor a no")


class Remedy(NamedTuple):
    """A way out that the manual knows, and how an agent speaks of it."""

    name: str
    words: re.Pattern[str]


def _remedy(name: str, words: str) -> Remedy:
    return Remedy(name, re.compile(words))


_AIRPLANE = _remedy("turn airplane mode off", r"air ?plane|aeroplane|flight mode")
_SIM = _remedy("reseat the SIM card", r"\bsim\b")
_APN = _remedy("reset the access point settings", r"\bapns?\b|access point")
_LINE = _remedy("have the bill paid and resume the line", r"suspen|overdue|payment|resum|reactivat")
_RESTART = _remedy("restart the phone", r"re-?boot|re-?start|power[ -]cycl|turn (?:it|your)")
_DATA = _remedy("turn mobile data on", r"(?:mobile|cellular) data|data (?:switch|is|on|enabled)")
# Roaming of the line is spoken of as well: only what is said of the phone counts here.
_ROAMING = _remedy(
    "turn data roaming on",
    r"toggle_roaming|\b(?:turn|toggl|switch)\w* (?:\w+ ){0,4}roaming|roaming (?:\w+ ){0,3}turned|"
    r"(?:check|verify|ensure|make sure|enable|confirm)[^.?!\n]{0,40}roaming[^.?!\n]{0,40}"
    r"\b(?:phone|device|settings?)|\b(?:phone|device|settings?)\b[^.?!\n]{0,60}\broaming",
)
_LINE_ROAMING = _remedy("enable roaming on the line", r"roaming")
MORE_DATA = _remedy(
    "offer more data", r"refuel|more data|add\w* (?:\S+ ){0,8}?data|data limit|exceed|cap\b"
)
_SAVER = _remedy("turn data saver off", r"data[ -]sav")
_MODE = _remedy("choose a newer network", r"network (?:mode|pref|type)|prefer|[45]g")
_VPN = _remedy("disconnect the VPN", r"\bvpn\b")
_WIFI = _remedy("turn Wi-Fi calling off", r"wi-?fi[ -]calling")
_RIGHTS = _remedy("grant the messaging app its permissions", r"permission")


def find_hopeless_fault(db: TelecomUserDB, line: Line | None) -> str | None:
    """Return the fault that only a human agent can see to, if there is one."""
    if db.device.sim_card_status in (SimStatus.LOCKED_PIN, SimStatus.LOCKED_PUK):
        return "the SIM card is locked"
    if line is not None and is_cut_off(line):
        return "the line is suspended and its contract has ended"
    return None


def list_remedies(db: TelecomUserDB, line: Line | None, concern: str) -> list[Remedy]:
    """Return what can still be tried; ``concern`` is "service", "data" or "mms"."""
    left = _for_service(db, line)
    if left or concern == "service":
        return left
    if not phone.mobile_data_works(db):
        return _for_data(db)
    if concern == "mms":
        return [] if phone.can_send_mms(db) else _for_messages(db)
    return [] if phone.speed_test(db).description == "Excellent" else _for_speed(db)


def _for_service(db: TelecomUserDB, line: Line | None) -> list[Remedy]:
    device = db.device
    suspended = line is not None and line.status == LineStatus.SUSPENDED
    faults = (
        (device.airplane_mode, _AIRPLANE),
        (device.sim_card_missing, _SIM),
        (device.active_apn_settings.apn_name == APNNames.BROKEN, _APN),
        (suspended, _LINE),
    )
    left = [remedy for is_there, remedy in faults if is_there]
    if not left and device.network_connection_status == NetworkStatus.NO_SERVICE:
        return [_RESTART]
    return left


def _for_data(db: TelecomUserDB) -> list[Remedy]:
    device, surroundings = db.device, db.surroundings
    faults = (
        (not device.data_enabled, _DATA),
        (surroundings.is_abroad and not device.roaming_enabled, _ROAMING),
        (surroundings.is_abroad and not surroundings.roaming_allowed, _LINE_ROAMING),
        (surroundings.mobile_data_usage_exceeded, MORE_DATA),
    )
    return [remedy for is_there, remedy in faults if is_there]


def _for_messages(db: TelecomUserDB) -> list[Remedy]:
    device = db.device
    messaging = device.app_statuses.get("messaging")
    rights = messaging is not None and messaging.permissions
    faults = (
        (device.network_technology_connected == NetworkTechnology.TWO_G, _MODE),
        (device.wifi_calling_enabled and device.wifi_calling_mms_over_wifi, _WIFI),
        (device.active_apn_settings.mmsc_url is None, _APN),
        (not (rights and rights.storage and rights.sms), _RIGHTS),
    )
    return [remedy for is_there, remedy in faults if is_there]


def _for_speed(db: TelecomUserDB) -> list[Remedy]:
    device = db.device
    vpn = device.vpn_details if device.vpn_connected else None
    preferred = NetworkModePreference.FOUR_G_5G_PREFERRED
    faults = (
        (device.data_saver_mode, _SAVER),
        (device.network_mode_preference != preferred, _MODE),
        (vpn is not None and vpn.server_performance == PerformanceLevel.POOR, _VPN),
    )
    return [remedy for is_there, remedy in faults if is_there]
