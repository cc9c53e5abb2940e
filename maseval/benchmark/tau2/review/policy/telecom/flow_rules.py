"""Rules about the origin of a call's values: read in a record, said by the user, agreed to."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from maseval.benchmark.tau2.review.policy.rules import (
    Answer,
    Broken,
    CallMade,
    CallMoment,
    CannotTell,
)
from maseval.benchmark.tau2.review.policy.telecom.records import (
    customer_of,
    line_of,
    telecom,
)
from maseval.benchmark.tau2.review.words import agrees, mentions, sentences, spellings

LOOKUPS = frozenset({"get_customer_by_phone", "get_customer_by_id", "get_customer_by_name"})
LINE_WRITES = frozenset(
    {"suspend_line", "resume_line", "enable_roaming", "disable_roaming", "refuel_data"}
)
WRITES = LINE_WRITES | {"send_payment_request"}
_ARGUMENTS = {"phone_number": "phone number", "full_name": "name", "dob": "date of birth"}
_NUMBER = re.compile(r"(?<!\d)\(?\d{3}\)?[\s.-]{0,2}\d{3}[\s.-]?\d{4}(?!\d)")
_ALL_LINES = re.compile(r"\b(?:all|both|every|each)\b[^.?!]{0,20}\blines?\b", re.I)
TRAVELS = re.compile(
    r"abroad|travel|\btrip\b|overseas|outside|foreign|vacation|holiday|visiting|france|"
    r"(?:another|different|other) country|airport|cruise",
    re.I,
)
_AT_HOME = re.compile(r"\bat home\b|\bhome (?:network|area|country)\b|\bnot (?:\w+ )?travel", re.I)


def text_from_user(moment: CallMoment) -> str:
    """Return all that the user had said by then, or what the ticket says."""
    return moment.user_said if moment.ticket is None else moment.ticket


def says_travelling(moment: CallMoment) -> bool:
    """Tell whether the user, or the ticket, speaks of a journey."""
    return any(
        TRAVELS.search(each) and not _AT_HOME.search(each)
        for each in sentences(text_from_user(moment))
    )


def identifying_calls(calls: list[CallMade]) -> list[CallMade]:
    """Return the look-ups that found a customer."""
    return [each for each in calls if _finds_a_customer(each)]


def _finds_a_customer(made: CallMade) -> bool:
    name, record = made.call["name"], made.call["arguments"].get("id")
    asks = name in LOOKUPS or (name == "get_details_by_id" and str(record).startswith("C"))
    return asks and '"customer_id"' in made.answer


@telecom.flow("identity.given", "Customer Lookup", *LOOKUPS)
def check_lookup(moment: CallMoment) -> Iterator[Answer]:
    """A customer is looked up by what the user gave: a number, an id, or name and birth date."""
    known = moment.talk.known_before(moment.message_index) + (moment.ticket or "")
    made_up = _find_unknown(moment.arguments, known)
    earlier = moment.calls_read
    tried = [each.call["arguments"] for each in earlier if each.call["name"] in LOOKUPS]
    if any(_find_unknown(each, known) for each in tried):
        return  # one guess of many: the first tells it
    if made_up:
        values = " and ".join(f"{_ARGUMENTS.get(name, name)} {made_up[name]}" for name in made_up)
        yield Broken(f"nobody gave the {values}", made_up)


def _find_unknown(arguments: Mapping[str, Any], known: str) -> dict[str, str]:
    """Return the arguments of a look-up that stand in nothing that was read or said."""
    return {
        name: value
        for name, value in arguments.items()
        if isinstance(value, str) and not _is_known(name, value, known)
    }


def _is_known(name: str, value: str, known: str) -> bool:
    lower = known.lower()
    if name == "phone_number":
        return value in known or _digits(value) in _phone_numbers(known)
    if name == "full_name":
        return all(part in lower for part in value.lower().split())
    if name == "dob":
        year, _, day = (*value.split("-"), "", "")[:3]
        parts = year in lower and re.search(rf"\b0?{day.lstrip('0')}(?:st|nd|rd|th)?\b", lower)
        return any(each in lower for each in spellings(value)) or bool(parts)
    return mentions(known, value)


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)[-10:]


def _phone_numbers(text: str) -> set[str]:
    return {_digits(each) for each in _NUMBER.findall(text)}


@telecom.flow("customer.found", "Customer Lookup; Technical Support", *WRITES)
def check_customer(moment: CallMoment) -> Iterator[Answer]:
    """A write is made for a customer who was looked up before."""
    customer = customer_of(moment)
    found = identifying_calls(moment.calls_read)
    if customer is None or any(f'"{customer.customer_id}"' in each.answer for each in found):
        return
    yield Broken(f"customer {customer.customer_id} was not looked up before")


@telecom.flow("record.known", "introduction, 2nd paragraph", *WRITES)
def check_record(moment: CallMoment) -> Iterator[Answer]:
    """The line or bill of a write was read or named before."""
    known = moment.talk.known_before(moment.message_index) + (moment.ticket or "")
    for name in ("line_id", "bill_id"):
        value = moment.arguments.get(name)
        if isinstance(value, str) and not mentions(known, value):
            yield Broken(f"{value} stands in nothing that was read or said")


@telecom.flow(
    "line.asked",
    "Data Refueling and Data Roaming: the line of the number that the user gave",
    *LINE_WRITES,
)
def check_line(moment: CallMoment) -> Iterator[Answer]:
    """A write goes to the line of the phone number that the user gave."""
    line, customer = line_of(moment), customer_of(moment)
    if line is None or customer is None or line.line_id not in customer.line_ids:
        return
    told = text_from_user(moment)
    lines = [each for each in moment.tools.db.lines if each.line_id in customer.line_ids]
    numbers = _phone_numbers(told)
    named = [
        each.line_id
        for each in lines
        if _digits(each.phone_number) in numbers
        or any(mentions(told, name) for name in (each.line_id, each.phone_number[-4:]))
    ]
    if _ALL_LINES.search(told):
        return
    if line.line_id in named or len(lines) == 1 or _agrees_upon(moment, line.phone_number):
        return
    if named:
        yield Broken(f"the user spoke of line {', '.join(named)}, and {line.line_id} is changed")
    else:
        yield CannotTell("the user named no line, and the customer has several")


def _agrees_upon(moment: CallMoment, number: str) -> bool:
    """Tell whether the user said yes to a text that names a line by its number."""
    pairs = moment.exchanges()
    return any(number in question.text and agrees(reply.text) for question, reply in pairs)


@telecom.flow(
    "payment.checked", "Overdue Bill Payment: steps 1 and 2, last remark", "send_payment_request"
)
def check_bill_read(moment: CallMoment) -> Iterator[Answer]:
    """A bill's status and amount are looked up before payment is requested."""
    bill = moment.arguments.get("bill_id")
    read = f'"bill_id": "{bill}"'
    if not any(read in each.answer for each in moment.calls_read):
        yield Broken(f"bill {bill} was not looked up before")


@telecom.flow("roaming.checked", "Data Roaming: last two sentences", "enable_roaming")
def check_line_read(moment: CallMoment) -> Iterator[Answer]:
    """A line is looked up before roaming is enabled on it."""
    line = moment.arguments.get("line_id")
    read = f'"line_id": "{line}"'
    before = moment.calls_read
    if not any(read in each.answer and '"roaming_enabled"' in each.answer for each in before):
        yield Broken(f"line {line} was not looked up before")
