"""Rules about the dealings with a user: known first, asked before a charge, told the truth."""

import re
from collections.abc import Collection, Iterator

from maseval.benchmark.tau2.domains.telecom.models import Line
from maseval.benchmark.tau2.review.policy.rules import (
    Answer,
    Broken,
    CallMoment,
    CannotTell,
    Kind,
    Talk,
    Utterance,
)
from maseval.benchmark.tau2.review.policy.telecom.flow_rules import (
    TRAVELS,
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
from maseval.benchmark.tau2.review.words import agrees, sentences, wants_a_human

_READS = frozenset({"get_details_by_id", "get_bills_for_customer", "get_data_usage"})
_A_PLACE = re.compile(
    r"\b(?:[Ii]'m|[Ii] am|[Ww]e're|[Ww]e are|now|currently|here|staying|flew|going|arrived) "
    r"(?:\w+ ){0,2}(?:in|to) (?:the )?(?!United|US|America|Airplane)[A-Z][a-z]{2,}"
)
_SUSPENDS = re.compile(r"suspend|pause|stolen|\blost\b|deactivat", re.I)
_ENDS_ROAMING = re.compile(
    r"\b(?:disabl|turn\w* off|switch\w* off|deactivat|stop|cancel|remov|without)[^.?!]{0,30}roam|"
    r"\b(?:want|like|need|please)[^.?!]{0,30}roaming[^.?!]{0,15}\b(?:off|disabled|removed)",
    re.I,
)
_COMPLAINS = re.compile(
    r"n't\b|\b(?:not|no|still|slow|issue|problem|error|fail\w*|unable|cannot|frustrat\w*|help|"
    r"what (?:else|should|now|next))\b",
    re.I,
)
_PIN = re.compile(
    r"\b(?:enter|input|type|try)\b(?![^.?!\n]{0,20}(?:wrong|incorrect))[^.?!\n]{0,40}\bp(?:in|uk)\b|"
    r"\bunlock\b[^.?!\n]{0,40}\b(?:with|using|by entering)\b[^.?!\n]{0,20}\bp(?:in|uk)\b",
    re.I,
)
_NEGATED = re.compile(
    r"(?:n't|\b(?:not|never|avoid|no need|without|instead of|unable|have you|did you|were you)|"
    r"\b(?:human agent|specialist|technician)s? (?:can|will|to))\W+(?:\w+\W+){0,3}$",
    re.I,
)
_ELSEWHERE = re.compile(
    r"factory reset|reset (?:\w+ )?network settings|clear(?:ing)? (?:\S+ ){0,3}cache|safe mode|"
    r"(?:software|system|firmware|ios|android|carrier settings) updates?\b|"
    r"\b(?:try|insert|test|put|swap)\b[^.?!\n]{0,40}(?:different|another) (?:phone|device|sim)\b|"
    r"(?:un|re-?)install\w* (?:\S+ ){0,3}app\b|"
    r"contact (?:\w+ ){0,2}(?:manufacturer|apple|samsung)|visit (?:\w+ ){0,3}store",
    re.I,
)
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
_REPORTS = re.compile(r"I(?:'ve| have) ")
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
_MMS = re.compile(
    r"\bmms\b|\b(?:send|receiv)\w*[^.?!]{0,30}(?:picture|photo|image|media)|"
    r"(?:picture|photo|media|group) (?:text|mess)",
    re.I,
)
_INTERNET = re.compile(r"internet|mobile data|\bdata\b|brows|speed|slow|online", re.I)
_GUIDES = re.compile(
    r"status bar|air ?plane|re-?start|re-?boot|speed test|\bsim\b|toggle|\bapn\b|\bvpn\b|"
    r"data saver|network (?:status|mode|setting)|check_|run_",
    re.I,
)


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
    if any(_GUIDES.search(each.text) for each in guided):
        tool = first.call["name"]
        text = f"the user does {tool} on the phone before anybody was identified"
        yield Broken(text, message_index=first.message_index)


@telecom.protocol(
    "roaming.travelling", "Data Roaming; Addressing Data Roaming Problems", "enable_roaming"
)
def check_journey(moment: CallMoment) -> Iterator[Answer]:
    """It is known that the user travels before roaming is enabled."""
    if TRAVELS.search(moment.user_said):
        return
    pairs = moment.exchanges()
    if any(TRAVELS.search(question.text) and agrees(reply.text) for question, reply in pairs):
        return
    if _A_PLACE.search(moment.user_said):
        yield CannotTell("the user names a place, which may be abroad")
    else:
        yield Broken("nobody said that the user travels")


@telecom.protocol(
    "change.asked", "introduction; Line Suspension; Data Roaming", "suspend_line", "disable_roaming"
)
def check_request(moment: CallMoment) -> Iterator[Answer]:
    """A line is suspended, or its roaming ended, only at the user's wish."""
    words = _SUSPENDS if moment.call["name"] == "suspend_line" else _ENDS_ROAMING
    question, reply = moment.question_and_reply
    if words.search(text_from_user(moment)):
        return
    if question and reply and words.search(question.text) and agrees(reply.text):
        return
    yield Broken(f"nobody asked for {moment.call['name']}")


@telecom.talk("sim.locked", "SIM Card Issues: locked; step 1.2")
def check_locked_card(talk: Talk) -> Iterator[Answer]:
    """A locked SIM card is left to a human agent, and no PIN is tried."""
    for said, sentence, _ in _advice(talk, _PIN, (" pin", "puk")):
        text = "the user is told to enter a PIN, where the manual has it escalated"
        yield Broken(text, {"said": sentence}, said.message_index)
        return


@telecom.talk("advice.manual", "introduction, 2nd paragraph")
def check_advice(talk: Talk) -> Iterator[Answer]:
    """The agent advises nothing that the manual does not know."""
    for said, sentence, step in _advice(talk, _ELSEWHERE, _STRANGE):
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
                if found and not _NEGATED.search(sentence[: found.start()]):
                    yield said, sentence, found[0]


@telecom.talk("claim.done", "introduction, 2nd paragraph; Change Plan", kind=Kind.DATA_FLOW)
def check_claims(talk: Talk) -> Iterator[Answer]:
    """The agent says that it did what it did, and nothing else."""
    done = {each.call["name"] for each in talk.calls if not each.failed}
    open_claims = [each for each in _CLAIMS.items() if each[0] not in done]
    for said in talk.agent:
        reports = (each for each in sentences(said.text) if _REPORTS.search(each))
        for sentence in reports if _REPORTS.search(said.text) else ():
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
        if not last or not _COMPLAINS.search(last[0].text):
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
    if _MMS.search(told):
        return "mms"
    return "data" if _INTERNET.search(told) else "service"
