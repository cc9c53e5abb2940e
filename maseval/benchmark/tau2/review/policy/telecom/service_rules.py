"""Rules about the dealings with a user: known first, asked before a charge, told the truth."""

import re
from collections.abc import Collection, Iterator

from maseval.benchmark.tau2.domains.telecom.models import Line
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell, Kind
from maseval.benchmark.tau2.review.policy.telecom.flow_rules import (
    WRITES,
    identifying_calls,
    text_from_user,
)
from maseval.benchmark.tau2.review.policy.telecom.records import phone_of, telecom
from maseval.benchmark.tau2.review.policy.telecom.refuel_rules import gigabytes
from maseval.benchmark.tau2.review.policy.telecom.remedies import (
    MORE_DATA,
    find_hopeless_fault,
    list_remedies,
)
from maseval.benchmark.tau2.review.talk import CallMoment, Talk, Utterance
from maseval.benchmark.tau2.review.words import agrees, sentences, wants_a_human

_READS = frozenset({"get_details_by_id", "get_bills_for_customer", "get_data_usage"})
_STRANGE = (
    *("factory reset", "network settings", " cache", "safe mode", "uninstall", "reinstall"),
    *("re-install", "software update", "system update", "firmware update", "ios update"),
    *("android update", "settings update", " store", "manufacturer", "apple", "samsung"),
    *(
        f"{which} {what}"
        for which in ("another", "different")
        for what in ("phone", "device", "sim")
    ),
)
_I_HAVE = r"\bi(?:'ve| have) (?:now |just |also |already |successfully |gone ahead and )*"
_CLAIMS = {
    "refuel_data": re.compile(
        _I_HAVE + r"(?:added|refuel+ed|applied)\b.*\b(?:gb|gigs?|gigabytes?|data to|more data)\b",
        re.I,
    ),
    "enable_roaming": re.compile(_I_HAVE + r"(?:enabled|activated|turned on)\b.*\broaming", re.I),
    "resume_line": re.compile(
        _I_HAVE + r"(?:resumed|reactivated|restored|lifted|unsuspended)\b.*"
        r"\b(?:line|service|suspension|account)\b",
        re.I,
    ),
    "send_payment_request": re.compile(_I_HAVE + r"sent\b.*\bpayment request", re.I),
    "suspend_line": re.compile(_I_HAVE + r"suspended\b.*\bline\b", re.I),
    "change of plan": re.compile(
        _I_HAVE + r"(?:changed|switched|upgraded|moved)\b.*\bplan\b", re.I
    ),
}


@telecom.protocol(
    "identity.first", "Technical Support; Customer Lookup", *(_READS | WRITES), words=False
)
def check_identity(moment: CallMoment) -> Iterator[Answer]:
    """The customer is identified before records are read or changed."""
    record = str(moment.arguments.get("id"))
    if moment.call["name"] == "get_details_by_id" and record.startswith(("P", "C")):
        return
    if not identifying_calls(moment.calls_read):
        yield Broken(f"{moment.call['name']} is called before anybody was identified")


@telecom.talk("identity.support", "Technical Support")
def check_identity_for_support(talk: Talk) -> Iterator[Answer]:
    """The customer is identified before the phone is looked into."""
    found = identifying_calls(talk.calls)
    by_user = (each for each in talk.calls if each.call["requestor"] == "user")
    first = next(by_user, None)
    if first is None or (found and found[0].message_index < first.message_index):
        return
    guided = talk.agent_before(first.message_index)[1:]
    if any(phrases.GUIDES.search(each.text) for each in guided):
        tool = first.call["name"]
        text = f"the user does {tool} on the phone before anybody was identified"
        yield Broken(text, message_index=first.message_index)


@telecom.protocol(
    "roaming.travelling", "Data Roaming; Addressing Data Roaming Problems", "enable_roaming"
)
def check_journey(moment: CallMoment) -> Iterator[Answer]:
    """It is known that the user travels before roaming is enabled."""
    if phrases.TRAVELS.search(moment.user_said):
        return
    pairs = moment.exchanges()
    if any(
        phrases.TRAVELS.search(question.text) and agrees(reply.text) for question, reply in pairs
    ):
        return
    if phrases.A_PLACE.search(moment.user_said):
        yield CannotTell("the user names a place, which may be abroad")
    else:
        yield Broken("nobody said that the user travels")


@telecom.protocol(
    "change.asked", "introduction; Line Suspension; Data Roaming", "suspend_line", "disable_roaming"
)
def check_request(moment: CallMoment) -> Iterator[Answer]:
    """A line is suspended, or its roaming ended, only at the user's wish."""
    words = phrases.SUSPENDS if moment.call["name"] == "suspend_line" else phrases.ENDS_ROAMING
    question, reply = moment.question_and_reply
    if words.search(text_from_user(moment)):
        return
    if question and reply and words.search(question.text) and agrees(reply.text):
        return
    yield Broken(f"nobody asked for {moment.call['name']}")


@telecom.talk("sim.locked", "SIM Card Issues: locked; step 1.2")
def check_locked_card(talk: Talk) -> Iterator[Answer]:
    """A locked SIM card is left to a human agent, and no PIN is tried."""
    for said, sentence, _ in _advice(talk, phrases.PIN, (" pin", "puk")):
        text = "the user is told to enter a PIN, where the manual has it escalated"
        yield Broken(text, {"said": sentence}, said.message_index)
        return


@telecom.talk("advice.manual", "introduction, 2nd paragraph")
def check_advice(talk: Talk) -> Iterator[Answer]:
    """The agent advises nothing that the manual does not know."""
    for said, sentence, step in _advice(talk, phrases.ELSEWHERE, _STRANGE):
        text = f"{step!r} is no step of the manual"
        yield Broken(text, {"said": sentence}, said.message_index)
        return


def _advice(
    talk: Talk, pattern: re.Pattern[str], hints: Collection[str]
) -> Iterator[tuple[Utterance, str, str]]:
    """Yield the sentences that advise something, with the words; not those that advise against it.

    Only texts with one of the hints are looked into.
    """
    if not any(hint in talk.agent_words for hint in hints):
        return
    for said in talk.agent:
        text = said.text.lower()
        if any(hint in text for hint in hints):
            for sentence in sentences(said.text):
                found = pattern.search(sentence)
                if found and not phrases.TELECOM_NEGATED.search(sentence[: found.start()]):
                    yield said, sentence, found[0]


@telecom.talk("claim.done", "introduction, 2nd paragraph; Change Plan", kind=Kind.DATA_FLOW)
def check_claims(talk: Talk) -> Iterator[Answer]:
    """The agent says that it did what it did, and nothing else."""
    done = {each.call["name"] for each in talk.calls if not each.failed}
    open_claims = [each for each in _CLAIMS.items() if each[0] not in done]
    for said in talk.agent:
        reports = (each for each in sentences(said.text) if phrases.TELECOM_REPORTS.search(each))
        for sentence in reports if phrases.TELECOM_REPORTS.search(said.text) else ():
            for tool, pattern in open_claims:
                if pattern.search(sentence):
                    text = f"the agent reports {tool.replace('_', ' ')}, which was not done"
                    yield Broken(text, {"said": sentence}, said.message_index)


@telecom.protocol(
    "transfer.exhausted",
    "introduction, 5th and 6th paragraph; Tech support: Introduction",
    "transfer_to_human_agents",
    words=False,
)
def check_transfer(moment: CallMoment) -> Iterator[Answer]:
    """A user is handed over only when all that the manual knows was tried."""
    db = phone_of(moment)
    if db is None:
        return
    number = db.surroundings.phone_number
    lines: list[Line] = moment.tools.db.lines
    line = next((each for each in lines if each.phone_number == number), None)
    if find_hopeless_fault(db, line):
        if not moment.calls_read:
            yield Broken("nothing was looked into before the transfer")
        return
    left = list_remedies(db, line, _concern(moment))
    if moment.ticket is not None:
        if left == [MORE_DATA] and not gigabytes(moment.ticket):
            return  # which nobody permits, so that only a human can go on
        left_undone = "; ".join(each.name for each in left) or "nothing, for all works"
        yield Broken(f"still to be tried: {left_undone}", {"left": [each.name for each in left]})
        return
    if not moment.talk.is_english:
        yield CannotTell("what the user was asked to try cannot be read")
        return
    if _asks_for_a_human(moment):
        yield CannotTell("the user asked for a human agent")
        return
    if not left:
        last = moment.user_texts[-1:]
        if not last or not phrases.COMPLAINS.search(last[0].text):
            yield Broken("all that the user complained about works")
        return
    said = "\n".join(each.text for each in moment.agent_texts)
    untried = [each.name for each in left if not each.words.search(said)]
    if untried:
        yield Broken(f"not tried: {'; '.join(untried)}", {"left": untried})
    else:
        open_ones = "; ".join(each.name for each in left)
        yield CannotTell(f"spoken of, and not done: {open_ones}")


def _asks_for_a_human(moment: CallMoment) -> bool:
    """Tell whether the user spoke of a human agent before the agent did."""
    asked = (each for each in moment.user_texts if wants_a_human(each.text))
    first = next(asked, None)
    if first is None:
        return False
    before = moment.talk.agent_before(first.message_index)
    return not any(wants_a_human(each.text) for each in before)


def _concern(moment: CallMoment) -> str:
    """Return what the user wants to work again."""
    told = text_from_user(moment)
    if phrases.MMS.search(told):
        return "mms"
    return "data" if phrases.INTERNET.search(told) else "service"
