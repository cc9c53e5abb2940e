"""Absence: when a rule may say that something was not said.

People have more words than any list of phrases. So a rule that misses something asks here what of
the conversation could be it and was not read: a clause that tells something, a number in words, or
speech without any punctuation. If there is any, the rule cannot tell.
"""

import re
from collections.abc import Mapping

from maseval.benchmark.tau2.domains.airline.models import AIRPORTS
from maseval.benchmark.tau2.review.plain_text import NUMBERS
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell
from maseval.benchmark.tau2.review.talk import CallMoment

_CLAUSE_END = re.compile(r"[.,;:!?()\n]| - | (?:and|so|but|since|as) ")
_LETTERS = re.compile(r"(?<![\w#@.'])[a-z]{3,}(?![\w@])")
# A clause with an id or an amount, or about the agent, asks for something.
_TO_THE_AGENT = re.compile(r"[\d_@]|\byou|\bagent")
_NO_MARK = r"(?:[^\s.,;:!?]|[.,:](?=\d))+"
_RUN_ON = re.compile(rf"^(?:{_NO_MARK} +){{15,}}{_NO_MARK}$", re.MULTILINE)
_SPOKEN = (
    rf"(?:{'|'.join(NUMBERS)}|hundred|oh|double|triple|\w+(?:teen|tie)th|twelfth"
    r"|(?:four|fif|six|seven|eigh|nin|ten)th|first|second|third)"
)
_NUMBER = re.compile(
    rf"\b{_SPOKEN}(?:[ -](?:and |of )?{_SPOKEN}){{1,9}}\b|\bunderscore\b"
    rf"|\b(?:{'|'.join(word for word, number in NUMBERS.items() if number > 9)})\b"
)
# A clause of these words asks, greets or says who speaks: their first four letters.
_ASKING_WORDS = (
    "able acco afte ahea airl also and any are asap beca book can canc card code coul day dear desk"
    " did doin else emai even fait flig for frie from get goes good got gott grat gues had has have"
    " hell help her here hers hey him his hiya hull hurr its just kill kind know let lets like mada"
    " may mone more morn must name need next nigh not now numb off okay one only orde our out per"
    " plea pls plz proc purc put refu rega rese retu righ say scra scru see she shou sinc sir sorr"
    " stor sure team than that the them then ther they thin this thx tick toda trip try two use"
    " user visa wait wann want was way well what who why will wish with woul writ yeah yep yes you"
    " your yup ask upgr chan firs chec tota cost econ"
)
_ASKING = frozenset(_ASKING_WORDS.split())


def missing(
    text: str,
    unread: str = "",
    values: Mapping[str, object] | None = None,
    message_index: int | None = None,
) -> Answer:
    """Return a breach by absence, or "cannot tell" if something unread may be what is missing."""
    if unread:
        return CannotTell(f"it may have been said in other words: {unread}")
    return Broken(text, values or {}, message_index)


def found_in(pattern: re.Pattern[str], text: str) -> str:
    """Return the first words of a text that fit a pattern, and an empty text if none do."""
    found = pattern.search(text)
    return found[0] if found else ""


def spoken(text: str) -> str:
    """Return what of a text in lower case is read out: a number in words, or speech without end."""
    return found_in(_NUMBER, text) or found_in(_RUN_ON, text)


def telling_clause(moment: CallMoment, about: str) -> str:
    """Return the first clause of the user that is more than a request, and may be a reason.

    Texts with ``about`` are read, or all if none has it. Where nobody answers, as in the
    scenario of a task, there is none.
    """
    if not moment.agent_texts:
        return ""
    texts = [said.lower for said in moment.user_texts]
    known = "\n".join([*AIRPORTS.values(), *(m.answer for m in moment.calls_read)]).lower()
    for clause in _CLAUSE_END.split("\n".join([t for t in texts if about in t] or texts)):
        words = _LETTERS.findall(clause)
        more = [word for word in words if word[:4] not in _ASKING and word not in known]
        if len(more) > 1 and not _TO_THE_AGENT.search(clause):
            return clause.strip()
    return ""
