"""The carrier's policy as rules; here those about what was read or said before a call.

Those that its records and the phone decide, and about more data, stand in ``records``.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from maseval.benchmark.tau2.domains.telecom.models import Line
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.absence import found_in, missing, spoken
from maseval.benchmark.tau2.review.policy.claims import TELECOM_CLAIMS, only_done_is_claimed
from maseval.benchmark.tau2.review.policy.confirming import (
    TRANSFER_TOOL,
    no_text_beside_a_call,
    nothing_after_a_transfer,
    one_call_at_a_time,
    transfer_is_announced,
    transfer_is_wanted,
)
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell, Kind, rules_in
from maseval.benchmark.tau2.review.policy.telecom import records
from maseval.benchmark.tau2.review.policy.telecom.records import (
    LINE_WRITES,
    MORE_DATA,
    REMEDIES,
    WRITES,
    TelecomCall,
    gigabytes,
    is_hopeless,
    list_remedies,
    telecom,
)
from maseval.benchmark.tau2.review.replies import agrees
from maseval.benchmark.tau2.review.talk import CallMade, Talk, Utterance
from maseval.benchmark.tau2.review.words import mentions, sentences, speaks_of_a_transfer, spellings

LOOKUPS = frozenset({"get_customer_by_phone", "get_customer_by_id", "get_customer_by_name"})
_ARGUMENTS = {"phone_number": "phone number", "full_name": "name", "dob": "date of birth"}


def _travels(sentence: str) -> bool:
    return bool(phrases.TRAVELS.search(sentence)) and not phrases.AT_HOME.search(sentence)


def may_travel(call: TelecomCall) -> str:
    """Return words of the user, or a question with a yes to it, that may speak of a journey."""
    said = (each for each in sentences(call.told) if not phrases.AT_HOME.search(each))
    asked = (
        question.lower
        for question, reply in call.exchanges()
        if "where" in question.lower or agrees(reply.text)
    )
    first = next(filter(None, (found_in(phrases.MAY_TRAVEL, each) for each in said)), "")
    found = (found_in(phrases.MAY_ASK_TRAVEL, each) for each in asked)
    return first or next(filter(None, found), "")


def _finds_a_customer(made: CallMade) -> bool:
    name, record = made.call["name"], made.call["arguments"].get("id")
    asks = name in LOOKUPS or (name == "get_details_by_id" and str(record).startswith("C"))
    return asks and '"customer_id"' in made.answer


@telecom.state("roaming.abroad", "Data Roaming", "enable_roaming", hears=True)
def check_abroad(call: TelecomCall) -> Iterator[Answer]:
    """Roaming is enabled for a user who is outside the home network."""
    phone = call.phone
    if phone is None or phone.surroundings.is_abroad or any(map(_travels, sentences(call.told))):
        return
    if call.ticket is None and not call.talk.is_english:
        yield CannotTell("the user is at home; unclear if a trip was mentioned (not in English)")
    else:
        yield missing("the user is at home", may_travel(call))


@telecom.flow("identity.given", "Customer Lookup", *LOOKUPS)
def check_lookup(call: TelecomCall) -> Iterator[Answer]:
    """A customer is looked up by what the user gave: a number, an id, or name and birth date."""
    known = call.all_words
    made_up = _find_unknown(call.arguments, known)
    earlier = call.calls_read
    tried = [each.call["arguments"] for each in earlier if each.call["name"] in LOOKUPS]
    if any(_find_unknown(each, known) for each in tried):
        return  # one guess of many: the first tells it
    if made_up:
        values = " and ".join(f"{_ARGUMENTS.get(name, name)} {made_up[name]}" for name in made_up)
        # A number may have been spelled out.
        unread = "" if "full_name" in made_up else spoken(call.told)
        yield missing(f"nobody gave the {values}", unread, made_up)


def _find_unknown(arguments: Mapping[str, Any], known: str) -> dict[str, str]:
    """Return the arguments of a look-up that stand in nothing that was read or said."""
    return {
        name: value
        for name, value in arguments.items()
        if isinstance(value, str) and not _is_known(name, value, known)
    }


def _is_known(name: str, value: str, known: str) -> bool:
    if name == "phone_number":
        return value in known or _digits(value) in _phone_numbers(known)
    lower = known.lower()
    if name == "full_name":
        return all(part in lower for part in value.lower().split())
    if name == "dob":
        year, _, day = (*value.split("-"), "", "")[:3]
        years = re.search(rf"{year}|[/.' -]{year[2:]}\b", lower)
        parts = years and re.search(rf"\b0?{day.lstrip('0')}(?:st|nd|rd|th)?\b", lower)
        return any(each in lower for each in spellings(value)) or bool(parts)
    return mentions(known, value)


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)[-10:]


def _phone_numbers(text: str) -> set[str]:
    return {_digits(each) for each in phrases.NUMBER.findall(text)}


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
    told = call.told
    lines = [each for each in call.tools.db.lines if each.line_id in customer.line_ids]
    numbers = _phone_numbers(told)
    named = [
        each.line_id
        for each in lines
        if _digits(each.phone_number) in numbers
        or any(mentions(told, name) for name in (each.line_id, each.phone_number[-4:]))
    ]
    if phrases.ALL_LINES.search(told):
        return
    if line.line_id in named or len(lines) == 1 or _agrees_upon(call, line.phone_number):
        return
    if named:
        yield Broken(f"the user named line {', '.join(named)}, but {line.line_id} is changed")
    else:
        yield CannotTell("the user named no line, and the customer has several")


def _agrees_upon(call: TelecomCall, number: str) -> bool:
    """Return True if the user said yes to a text that names a line by its number."""
    pairs = call.exchanges()
    return any(number in question.text and agrees(reply.text) for question, reply in pairs)


@telecom.flow(
    "payment.checked", "Overdue Bill Payment: steps 1 and 2, last remark", "send_payment_request"
)
def check_bill_read(call: TelecomCall) -> Iterator[Answer]:
    """A bill's status and amount are looked up before payment is requested."""
    bill = call.arguments.get("bill_id")
    read = f'"bill_id": "{bill}"'
    if not any(read in each.answer for each in call.calls_read):
        yield Broken(f"bill {bill} was not looked up before")


@telecom.flow("roaming.checked", "Data Roaming: last two sentences", "enable_roaming")
def check_line_read(call: TelecomCall) -> Iterator[Answer]:
    """A line is looked up before roaming is enabled on it."""
    line = call.arguments.get("line_id")
    read = f'"line_id": "{line}"'
    before = call.calls_read
    if not any(read in each.answer and '"roaming_enabled"' in each.answer for each in before):
        yield Broken(f"line {line} was not looked up before")


_READS = frozenset({"get_details_by_id", "get_bills_for_customer", "get_data_usage"})
_STRANGE = (
    *(
        "factory",
        "network settings",
        " cache",
        "battery",
        "safe mode",
        "install",
        " updat",
        " store",
        "wipe",
    ),
    *("manufacturer", "apple", "samsung", "service cent", "repair shop", "friend's"),
    *(" upgrad", "erase", "up to date", "version", "release"),
    *(f"{which} {what}" for which in ("another", "different") for what in ("phone", "dev", "sim")),
)
_PLAN_PRICE = re.compile(r'"price_per_month": ([\d.]+)')
_FIELD = re.compile(r'"(line_id|phone_number|data_used_gb|data_limit_gb)": "?([\w.-]+)')


@telecom.protocol(
    "identity.first", "Technical Support; Customer Lookup", *(_READS | WRITES), words=False
)
def check_identity(call: TelecomCall) -> Iterator[Answer]:
    """The customer is identified before records are read or changed."""
    record = str(call.arguments.get("id"))
    if call.tool == "get_details_by_id" and record.startswith(("P", "C")):
        return
    if not any(map(_finds_a_customer, call.calls_read)):
        yield Broken(f"{call.call['name']} is called before anybody was identified")


@telecom.talk("identity.support", "Technical Support", manner=True)
def check_identity_for_support(talk: Talk) -> Iterator[Answer]:
    """The customer is identified before the phone is looked into."""
    found = [each for each in talk.calls if _finds_a_customer(each)]
    first = next((each for each in talk.calls if each.call["requestor"] == "user"), None)
    if found and first and found[0].message_index < first.message_index:
        return
    handed = any(each.call["name"] == TRANSFER_TOOL for each in talk.calls)
    last = talk.user[-1].message_index if talk.user and not handed else 0
    end = next((each.message_index for each in (first, *found) if each), last)
    for each in talk.agent_before(end)[1:]:
        if phrases.GUIDES.search(each.lower) and (first or not phrases.WHO.search(each.lower)):
            deed = first.call["name"] if first else "what the agent says"
            text = f"the user does {deed} on the phone before anybody was identified"
            yield Broken(text, message_index=(first or each).message_index)
            return


@telecom.protocol(
    "roaming.travelling", "Data Roaming; Addressing Data Roaming Problems", "enable_roaming"
)
def check_journey(call: TelecomCall) -> Iterator[Answer]:
    """It is known that the user travels before roaming is enabled."""
    if phrases.TRAVELS.search(call.user_words):
        return
    asked = (question.lower for question, reply in call.exchanges() if agrees(reply.text))
    if any(map(phrases.TRAVELS.search, asked)):
        return
    yield missing("nobody said that the user travels", may_travel(call))


@telecom.protocol(
    "change.asked", "introduction; Line Suspension; Data Roaming", "suspend_line", "disable_roaming"
)
def check_request(call: TelecomCall) -> Iterator[Answer]:
    """A line is suspended, or its roaming ended, only at the user's wish."""
    suspends = call.tool == "suspend_line"
    words = phrases.SUSPENDS if suspends else phrases.ENDS_ROAMING
    question, reply = call.question_and_reply
    agreed = question is not None and reply is not None and agrees(reply.text)
    asked = question.lower if question and agreed else ""
    if words.search(call.told) or words.search(asked):
        return
    may_ask = phrases.MAY_SUSPEND if suspends else phrases.MAY_END_ROAMING
    unread = found_in(may_ask, call.told) or found_in(may_ask, asked)
    yield missing(f"nobody asked for {call.tool}", unread)


@telecom.talk("sim.locked", "SIM Card Issues: locked; step 1.2")
def check_locked_card(talk: Talk) -> Iterator[Answer]:
    """A locked SIM card is left to a human agent, and no PIN is tried."""
    for said, sentence, _ in _advice(talk, phrases.PIN, (" pin", "puk")):
        text = "the user is told to enter a PIN; the manual says to escalate"
        yield Broken(text, {"said": said.quote(sentence)}, said.message_index)
        return


@telecom.talk("advice.manual", "introduction, 2nd paragraph", manner=True)
def check_advice(talk: Talk) -> Iterator[Answer]:
    """The agent advises nothing that the manual does not know."""
    for said, sentence, step in _advice(talk, phrases.ELSEWHERE, _STRANGE):
        text = f"{step!r} is no step of the manual"
        yield Broken(text, {"said": said.quote(sentence)}, said.message_index)
        return


def _advice(
    talk: Talk, pattern: re.Pattern[str], hints: Collection[str]
) -> Iterator[tuple[Utterance, str, str]]:
    """Yield the sentences that advise something, with the words; not those that advise against it.

    Each has one of the hints.
    """
    for said, sentence in talk.agent_sentences(*hints):
        found = pattern.search(sentence)
        if found and not phrases.TELECOM_NEGATED.search(sentence[: found.start()]):
            yield said, sentence, said.quote(found[0])


@telecom.talk("plan.price", "introduction, 2nd paragraph; Change Plan", kind=Kind.DATA_FLOW)
def check_plan_prices(talk: Talk) -> Iterator[Answer]:
    """A price per month that the agent names was read or said before."""
    for said, sentence in talk.agent_sentences("month", "/mo"):
        near = [
            found
            for found in phrases.AMOUNT.finditer(sentence)
            if "month" in sentence[max(0, found.start() - 50) : found.end() + 20]
            or phrases.COSTS_MONTHLY.search(sentence[found.end() :].partition("$")[0])
        ]
        for found in (*near, *phrases.MONTHLY.finditer(sentence)):
            known = talk.known_before(said.message_index)
            read = {float(each) for each in phrases.FIGURE.findall(known)}
            price = float(found[1])
            plans = [float(each) for each in _PLAN_PRICE.findall(known)]
            if price not in {*read, *(one - other for one in plans for other in plans)}:
                text = f"nothing that was read says ${price:g} per month"
                yield Broken(text, {"said": said.quote(sentence)}, said.message_index)
                return


@telecom.talk("usage.line", "Data Refueling: line of the number given", kind=Kind.DATA_FLOW)
def check_usage(talk: Talk) -> Iterator[Answer]:
    """The use of data that the agent tells is that of the user's line."""
    read: dict[str, dict[str, str]] = {}
    for each in talk.calls:
        if '"data_used_gb"' in each.answer or '"phone_number"' in each.answer:
            fields = dict(_FIELD.findall(each.answer))
            read.setdefault(fields.get("line_id", ""), {}).update(fields)
    numbers = _phone_numbers("\n".join(each.text for each in talk.user))
    own = [each for each in read.values() if _digits(each.get("phone_number", "")) in numbers]
    others = [
        each
        for each in read.values()
        if "data_used_gb" in each and each not in own and (own or "phone_number" in each)
    ]
    figures = {value for each in own for value in each.values()}
    marks = [each["data_used_gb"] for each in others] if numbers else ()
    for said, sentence in talk.agent_sentences(*marks):
        if not phrases.USED.search(sentence):
            continue
        told = set(phrases.FIGURE.findall(sentence)) - figures
        for other in others:
            names = (other["line_id"], other.get("phone_number", "")[-4:])
            named = any(name and name in said.text for name in names)
            if other["data_used_gb"] in told and not named:
                text = f"{other['data_used_gb']} GB were used on {other['line_id']}, another line"
                yield Broken(text, {"said": said.quote(sentence)}, said.message_index)
                return


@telecom.talk("roaming.looked", "Data Roaming: 3rd sentence", manner=True)
def check_roaming_read(talk: Talk) -> Iterator[Answer]:
    """The line of a user who travels is looked up before the agent speaks of roaming."""
    read = any('"roaming_enabled"' in each.answer for each in talk.calls)
    if read or "roaming" not in talk.agent_words:
        return
    said = next(each for each in talk.agent if "roaming" in each.lower)
    told = talk.user_before(said.message_index)
    travels = any(map(_travels, (each for text in told for each in text.sentences)))
    if travels or phrases.KNOWS_ABROAD.search(said.lower):
        text = "the user travels, and whether the line has roaming was not looked up"
        yield Broken(text, message_index=said.message_index)


@telecom.protocol(
    "transfer.exhausted",
    "introduction, 5th and 6th paragraph; Tech support: Introduction",
    "transfer_to_human_agents",
    words=False,
    manner=True,
)
def check_transfer(call: TelecomCall) -> Iterator[Answer]:
    """A user is handed over only when all that the manual knows was tried."""
    db = call.phone
    if db is None:
        return
    number = db.surroundings.phone_number
    lines: list[Line] = call.tools.db.lines
    line = next((each for each in lines if each.phone_number == number), None)
    if is_hopeless(db, line):
        if not call.calls_read:
            yield Broken("nothing was looked into before the transfer")
        return
    concern = _concern(call)
    if concern is None:
        return
    left = list_remedies(db, line, concern)
    if call.ticket is not None:
        if left == [MORE_DATA] and not gigabytes(call.ticket):
            return  # which nobody permits, so that only a human can go on
        left_undone = "; ".join(left) or "nothing, everything works"
        yield Broken(f"still to be tried: {left_undone}", {"left": left})
        return
    if not call.talk.is_english:
        yield CannotTell("unclear what the user was asked to try (not in English)")
        return
    if _asks_for_a_human(call):
        yield CannotTell("the user asked for a human agent")
        return
    if not left:
        last = call.user_texts[-1:]
        if not last or not phrases.COMPLAINS.search(last[0].lower):
            other = found_in(phrases.OTHER_MATTER, call.told)
            yield missing("everything the user complained about works", other)
        return
    said = "\n".join(each.lower for each in call.agent_texts)
    untried = [each for each in left if not re.search(REMEDIES[each], said)]
    if untried:
        yield Broken(f"not tried: {'; '.join(untried)}", {"left": untried})
    else:
        yield CannotTell(f"mentioned, but not done: {'; '.join(left)}")


def _asks_for_a_human(call: TelecomCall) -> bool:
    """Return True if the user spoke of a human agent before the agent did."""
    asked = (each for each in call.user_texts if each.wish)
    first = next(asked, None)
    if first is None:
        return False
    before = call.talk.agent_before(first.message_index)
    return not any(speaks_of_a_transfer(each.text) for each in before)


def _concern(call: TelecomCall) -> str | None:
    """Return what the user wants to work again; None if it is something else that is wanted."""
    told = call.told
    if phrases.MMS.search(told):
        return "mms"
    if phrases.INTERNET.search(told):
        return "data"
    return "service" if phrases.SERVICE.search(told) or call.ticket is not None else None


_FORM, _TRANSFER = "introduction, 3rd paragraph", "introduction, 5th paragraph"
RULES = (
    *rules_in(globals(), vars(records)),
    *(one_call_at_a_time("telecom", _FORM), no_text_beside_a_call("telecom", _FORM)),
    *(transfer_is_announced("telecom", _TRANSFER), transfer_is_wanted("telecom", _TRANSFER)),
    nothing_after_a_transfer("telecom", _TRANSFER, WRITES),
    only_done_is_claimed(
        "telecom", "introduction, 2nd paragraph; Change Plan", TELECOM_CLAIMS, WRITES
    ),
)
