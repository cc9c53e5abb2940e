"""Disclosures of what the task tells the user to keep to itself until it is asked."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from maseval.benchmark.tau2 import words
from maseval.benchmark.tau2.users.finding import FaultKind, UserFault
from maseval.benchmark.tau2.users.part import UserPart, stems

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
