"""What the user tells: wishes of the task that it never says, and what it was to keep to itself."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.users.finding import FaultKind, UserFault
from maseval.benchmark.tau2.review.users.part import UserPart, stems

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


_TELL = r"(?:mention|reveal|disclose|volunteer|share|provide|tell|bring (?:it|this|that) up|say)"
_ASKED = (
    r"(?:unless|until|if|when)\b[^.()]{0,20}\b(?:(?:is |are |you're |you are )?(?:specifically )?"
    r"asked|agent (?:\w+ )?(?:asks|mentions?|does not mention|provides|gives|offers|just provides))"
)
_KEEP = re.compile(
    rf"(?:do not|don't|won't|never|not want to|n't want to)\b[^.()]{{0,15}}\b{_TELL}\b"
    rf"[^.()]{{0,60}}\b{_ASKED}"
    rf"|only {_TELL}\b[^.()]{{0,60}}\b{_ASKED}"
    rf"|(?:do not|don't) {_TELL} (?:it|this|that|them) to the agent",
    re.IGNORECASE,
)
_ONLY_IF = re.compile(r"^(?:if and )?only if the agent asks\b([^,]{0,80}),(.+)$", re.IGNORECASE)
_ASIDE = re.compile(r"\(([^()]{0,200})\)")


class _Secret(NamedTuple):
    """A thing to be kept, in the task's words, with its figures and its telling words."""

    sentence: str
    figures: frozenset[str]
    stems: frozenset[str]


def told_before_being_asked(part: UserPart) -> Iterator[UserFault]:
    """Yield the first message in which the user gives away what it was to keep, unasked."""
    for secret in _secrets(part):
        for said in part.talk.user:
            quote = next((s for s in words.sentences(said.text) if _gives_away(s, secret)), None)
            if quote is None:
                continue
            if not _was_asked(part, said.message_index, secret):
                text = f"unasked, against the task: {secret.sentence}"
                yield UserFault(FaultKind.TOLD, text, said.message_index, quote)
            break


def _secrets(part: UserPart) -> Iterator[_Secret]:
    for sentence in part.instructions:
        kept = _part_to_keep(sentence)
        if kept is None:
            continue
        others = frozenset().union(*(stems(s) for s in part.instructions if s != sentence))
        figures = frozenset(re.findall(r"\b\d{3,}\b", kept))
        own = stems(kept) - others
        if figures or own:
            yield _Secret(sentence, figures, own)


def _part_to_keep(sentence: str) -> str | None:
    """Return the part of a sentence that says what is to be kept."""
    only = _ONLY_IF.match(sentence)
    if only:
        return only[2]
    found = _KEEP.search(sentence)
    if found is None:
        return None
    for aside in _ASIDE.finditer(sentence):
        inside = _KEEP.search(aside[1])
        if inside:
            rest = aside[1][: inside.start()]
            return rest if len(rest) > 15 else _ASIDE.sub("", sentence)
    before, after = sentence[: found.start()], found[0]
    return re.sub(rf"^.*?\b{_TELL}\b", "", after, flags=re.IGNORECASE) + before


def _gives_away(sentence: str, secret: _Secret) -> bool:
    if secret.figures:
        return any(words.mentions(sentence, each) for each in secret.figures)
    return len(stems(sentence) & secret.stems) >= min(2, len(secret.stems))


def _was_asked(part: UserPart, at: int, secret: _Secret) -> bool:
    """Tell whether the agent had touched on it."""
    said = stems(part.agent_said_before(at))
    about = secret.stems | stems(secret.sentence)
    return len(said & about) > 1
