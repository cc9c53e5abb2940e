"""Wishes of the task that the user never brought forward, although it ended the conversation."""

import re
from collections.abc import Iterator

from maseval.benchmark.tau2 import words
from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.users.finding import FaultKind, UserFault
from maseval.benchmark.tau2.users.part import UserPart, stems

_WISH = re.compile(
    r"\b(?:want|would like|wish|need) (?:the agent )?to "
    r"(?:cancel|return|exchange|change|modify|add|remove|book|upgrade|downgrade|know|use|pay)\b"
    r"|\bwant (?:an? |the )?(?=[a-z]+ (?:seat|refund|meal|room|and))"
    r"|(?:^|\bthen |\balso |\bfinally,? )ask (?:for|about|how|what|whether|the agent) "
    r"|^mention that ",
    re.IGNORECASE,
)
# Where these stand, the wish may rightly remain unsaid.
_DEPENDS = re.compile(
    r"\b(?:if|unless|otherwise|when|whenever|in case|until|once|prefer\w*|not|never|avoid|except|or"
    r"|instead|should|only|sure|after|before|eventually|might|may|willing|first|everything|all)\b"
    r"|n't\b",
    re.IGNORECASE,
)
# Words that say how, or nothing in particular, and can be said in many ways.
_VAGUE = stems(
    "quickly done things asap soon situation fix figure requirements help yourself resolve "
    "money amount total back balance left cost price number available right now store"
)
_LEAST_STEMS = 2
_MOST_SAID = 0.25


def gold_never_spoken_of(part: UserPart) -> Iterator[UserFault]:
    """Yield writes of the reference solution that nobody spoke of or tried.

    The task names the record, and the user not; or both sides never say what the write does.
    """
    if not part.ended_by_user or part.was_refused_before(len(part.talk.messages)):
        return
    records = {words.record(each.call) for each in part.talk.calls}
    tools = {each.call["name"] for each in part.talk.calls}
    for call in part.gold:
        if call["requestor"] == "user" or part.was_done(call):
            continue
        name = words.record(call)
        if name and _is_never_named(part, name, records):
            yield _report(part, f"the task is about {name}, which the user never names")
        elif call["name"] not in tools and _is_wish(part, call) and not _is_spoken_of(part, call):
            wish = call["name"].replace("_", " ")
            yield _report(part, f"nobody speaks of what the task wants: {wish}")


def _is_never_named(part: UserPart, name: str, records: set[str | None]) -> bool:
    """Tell whether a record that the task names was neither named nor read."""
    if not words.id_like(name) or name.lower() not in part.told or name in records:
        return False
    return name.lower().removeprefix("#w") not in part.spoken


def _is_wish(part: UserPart, call: Tau2ToolCall) -> bool:
    """Tell whether the task speaks of a call, and not under a condition."""
    told = (each for each in part.instructions if not _DEPENDS.search(each))
    return any(words.says_the_like(each, call) for each in told)


def _is_spoken_of(part: UserPart, call: Tau2ToolCall) -> bool:
    said = (*part.talk.user, *part.talk.agent)
    return any(words.says_the_like(each.text, call) for each in said)


def wishes_never_said(part: UserPart) -> Iterator[UserFault]:
    """Yield wishes without a condition of which the user says no word, and the agent neither."""
    if not part.ended_by_user or part.was_refused_before(len(part.talk.messages)):
        return
    for sentence in part.instructions:
        wish = _WISH.search(sentence)
        if wish is None or _DEPENDS.search(sentence):
            continue
        others = frozenset().union(*(stems(s) for s in part.instructions if s != sentence))
        own, said = stems(sentence[wish.end() :]) - others - _VAGUE, stems(part.spoken)
        if len(own) < _LEAST_STEMS or own & said:
            continue
        whole = stems(sentence) - _VAGUE
        if len(whole & said) <= _MOST_SAID * len(whole):
            yield _report(part, f"the user never brings forward: {sentence}")


def _report(part: UserPart, text: str) -> UserFault:
    last = part.talk.messages[-1]
    return UserFault(FaultKind.UNSAID, text, len(part.talk.messages) - 1, last.get("content") or "")
