"""The user does not do what its task says: it keeps a wish, drops one, or names another value."""

import re
from collections.abc import Iterator
from itertools import chain

from maseval.benchmark.tau2.explain.text import shown, shown_call
from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.labels import words
from maseval.benchmark.tau2.labels.failure import Failure, Label, LabelRule
from maseval.benchmark.tau2.labels.leaving import transferred_at
from maseval.benchmark.tau2.labels.topics import (
    id_like,
    mentions,
    names_its_values,
    proposes,
    speaks_of,
)

_CHANGE_OF_MIND = re.compile(r"(?:if|when) the (?:\w+ )?agent asks (?:you )?(?:for|to) confirm")

_WHATEVER = re.compile(
    r"\b(?:proceed|it|that|this|changes?|everything|anything|original|current|as is|for now|no)\b",
    re.IGNORECASE,
)


def change_of_mind_missed(failure: Failure) -> Label | None:
    """The user was to change its mind when asked to confirm, and did not, or in another way."""
    if not _CHANGE_OF_MIND.search(failure.scenario):
        return None
    missed = turned_down(failure, outright=True)
    found = next(chain(_agreed_to_wrong_calls(failure), missed), None)
    if found is None:
        return None
    evidence = ("the task: the user is to change its mind when it is asked to confirm", *found)
    return Label("user", "instructions not followed", "change of mind missed", evidence)


def _agreed_to_wrong_calls(failure: Failure) -> Iterator[tuple[str, str]]:
    wrong = [(at.message_index, at.call) for at in failure.wrong_writers]
    for index, call in wrong:
        reply = failure.consent_to(index)
        if reply is not None and words.agrees(reply[1]):
            yield f"message {reply[0]}: the user agrees", f"message {index}: {shown_call(call)}"


def turned_down(failure: Failure, *, outright: bool = False) -> Iterator[tuple[str, str]]:
    """Where the agent offered what is missing, and the user said no and never came back to it.

    Unless ``outright``, asking for less counts as well, if the offer was exact.
    """
    if not failure.nothing_wrong_done or failure.attempts or transferred_at(failure) is not None:
        return
    for change in failure.to_add:
        for index, offer in failure.offers_of(change.call):
            reply = failure.reply_after(index)
            if reply is None:
                continue
            refused = any(at <= index for at, _ in failure.refusals_of(change.call))
            said_no = _says_no_to(reply[1], change.call) or (
                not outright and words.narrows(reply[1]) and names_its_values(offer, change.call)
            )
            if refused or not said_no or _asked_again(failure, reply[0], change.call):
                continue
            yield (
                f"message {index}: the agent offers {shown_call(change.call)}",
                f"message {reply[0]}, the user: {shown(reply[1])}",
            )


def _says_no_to(text: str, call: Tau2ToolCall) -> bool:
    """Whether a sentence says no to a call, or to whatever was offered."""
    declined = [each for each in words.sentences(text) if words.declines(each)]
    return any(_WHATEVER.search(each) or proposes(each, call) for each in declined)


def _asked_again(failure: Failure, after: int, call: Tau2ToolCall) -> bool:
    later = [text for index, text in failure.said_by("user") if index > after]
    wishes = [
        sentence
        for text in later
        for sentence in words.sentences(text)
        if not words.declines(sentence) and not words.closes(sentence)
    ]
    return any(speaks_of(each, call) for each in wishes)


def named_another_value(failure: Failure) -> Label | None:
    """The agent did as the user said; the task has another value, or leaves it open."""
    if failure.swap is None:
        return None
    index, made, wanted = failure.swap
    differing = _differing(made, wanted)
    if not differing or not all(_said_by_user(failure, index, m) for m, _ in differing):
        return None
    evidence = tuple(f"the user says {m!r}, the reference {w!r}" for m, w in differing)
    if all(w.lower() in failure.scenario for _, w in differing):
        what = "instructions not followed"
        return Label("user", what, "named another value", evidence)
    return Label("task", "choice left open", "choice left open", evidence)


def _differing(made: Tau2ToolCall, wanted: Tau2ToolCall) -> list[tuple[str, str]]:
    """The plain words in which two calls differ; empty if anything else does."""
    pairs = []
    for name in {**made["arguments"], **wanted["arguments"]}:
        one, other = made["arguments"].get(name), wanted["arguments"].get(name)
        if one == other:
            continue
        if not isinstance(one, str) or not isinstance(other, str) or id_like(one + other):
            return []
        pairs.append((one, other))
    return pairs


def _said_by_user(failure: Failure, before: int, value: str) -> bool:
    said = (text for index, text in failure.said_by("user") if index < before)
    reply = failure.reply_before(before)
    return any(mentions(text, value) for text in said) or bool(
        reply and words.agrees(reply[1]) and _was_offered(failure, reply[0], value)
    )


def _was_offered(failure: Failure, before: int, value: str) -> bool:
    said = [text for index, text in failure.said_by("assistant") if index < before]
    return any(mentions(text, value) for text in said[-1:])


INSTRUCTION_RULES: tuple[LabelRule, ...] = (
    change_of_mind_missed,
    named_another_value,
)
