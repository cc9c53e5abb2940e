"""Wrong values and changes that the user had a part in: whose idea they were.

Who named a value first, or brought a change up, is held to it. Where the task does not say what to
choose, the choice is nobody's fault but the task's.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.explain.explanation import format_value, render_call
from maseval.benchmark.tau2.review.labels.failure import Failure
from maseval.benchmark.tau2.review.words import (
    gives_figures,
    id_like,
    mentions,
    proposes,
    record,
    said_as,
    says_the_like,
    telling_values,
)
from maseval.stats.failure_labels import Label, Who

_CONDITION = re.compile(
    r"\b(?:if|unless|otherwise|as long as|provided|in case|depending|whether|only when|except)\b",
    re.IGNORECASE,
)
_BY_PRICE = re.compile(r"\b(?:cheap|expens|lowest|costl|least|affordable|sav(?:e|ing)|budget)")
_BY_TIME = re.compile(
    r"\b(?:earli|lat(?:er|est)|before|after|morning|noon|evening|night|short|fast|quick|direct|"
    r"nonstop|non-stop|same|one.?stop|second|next|depart|arriv|\d+ ?[ap]\.?m\b)"
)
_EXCLUDES = re.compile(
    r"(?:\bnot|n't|\bnever) (?:want|wish|accept|agree|like|need)\b(?P<after>.{0,60})"
    r"|(?P<before>.{0,60})\byourself\b"
)
_FOLLOWS = re.compile(r"amount|price|nonfree")
# How the scenarios call the ways to pay.
_ALSO_CALLED = {
    "gift_card": "gift|gc\\b",
    "credit_card": "credit|cc\\b|visa|master|amex|(?:my|the|your|a) card",
}


def named_by_the_user(failure: Failure) -> Label | None:
    """The one call that should have been another was made with what the user asked for."""
    if failure.swap is None:
        return None
    index, made, wanted = failure.swap
    pairs = list(differing_values("", made["arguments"], wanted["arguments"]))
    # What is to be paid follows from what is chosen.
    chosen = [pair for pair in pairs if pair[1] is not None and not _FOLLOWS.search(pair[0])]
    if failure.has_agreed_to(wanted, made, index):
        return None
    if not chosen or not all(is_named(failure, index, *pair) for pair in chosen):
        return None
    evidence = tuple(
        f"{name}: {format_value(one)} instead of {format_value(other)}, as the user said"
        for name, one, other in chosen
    )
    if all(
        _is_in_the_task(failure, name, other) or _is_made_up(failure, one)
        for name, one, other in chosen
    ):
        return Label("user", "instructions not followed", "named by the user", evidence)
    return Label("task", "choice left open", "choice left open", evidence)


def differing_values(
    name: str, made: object, wanted: object
) -> Iterator[tuple[str, object, object]]:
    """Yield the single values in which two calls differ, under the names of their arguments."""
    if isinstance(made, dict) and isinstance(wanted, dict):
        for key in {**made, **wanted}:
            yield from differing_values(str(key), made.get(key), wanted.get(key))
    elif isinstance(made, list) and isinstance(wanted, list) and len(made) == len(wanted):
        for one, other in zip(made, wanted, strict=True):
            yield from differing_values(name, one, other)
    elif made != wanted:
        yield name, made, wanted


def is_named(failure: Failure, before: int, name: str, made: object, wanted: object) -> bool:
    """Tell whether the user named a value before a call, and not on a condition."""
    said = [
        sentence
        for at, text in failure.said_by("user")
        if at < before
        for sentence in words.sentences(text)
        if not _CONDITION.search(sentence)
    ]
    if isinstance(made, int) and not isinstance(made, bool):
        noun = said_as(name.rsplit("_", 1)[-1])
        pattern = re.compile(rf"\b{made}\b[^.?!\n]{{0,40}}\b(?:{noun})", re.IGNORECASE)
        return any(map(pattern.search, said))
    if "payment" in name:
        kinds = _kinds(made) - _kinds(wanted) or _kinds(made)
        named = [value for value in telling_values(made) if any(value in each for each in said)]
        return bool(named) or all(
            any(_speaks_of_kind(each, kind) for each in said) for kind in kinds
        )
    if not isinstance(made, str):
        return False
    if id_like(made):
        return _is_first_told_by_the_user(failure, before, made)
    plain = made.replace("_", " ")
    return any(mentions(each, plain) for each in said) or _is_agreed_to(failure, before, plain)


def _is_first_told_by_the_user(failure: Failure, before: int, value: str) -> bool:
    """Tell whether of the two sides, the user named a value first."""
    for message in failure.messages[:before]:
        if message["role"] != "tool" and any(
            each in (message.get("content") or "").lower() for each in words.spellings(value)
        ):
            return message["role"] == "user"
    return False


def _is_agreed_to(failure: Failure, before: int, value: str) -> bool:
    """Tell whether the user said yes to a text with a value."""
    reply = failure.reply_before(before)
    if reply is None or not words.agrees(reply[1]):
        return False
    said = [text for index, text in failure.said_by("assistant") if index < reply[0]]
    return any(mentions(text, value) for text in said[-1:])


def _is_in_the_task(failure: Failure, name: str, wanted: object) -> bool:
    """Tell whether the task says which value was wanted."""
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        return re.search(rf"\b(?:{said_as(name.rsplit('_', 1)[-1])})", failure.scenario) is not None
    if "payment" in name:
        return any(_speaks_of_kind(failure.scenario, kind) for kind in _kinds(wanted))
    values = list(telling_values(wanted))
    return bool(values) and all(
        any(each in failure.scenario for each in (*words.spellings(value), value.replace("_", " ")))
        for value in values
    )


def _is_made_up(failure: Failure, value: object) -> bool:
    """Tell whether an id or a date stands nowhere in the task."""
    return (
        isinstance(value, str)
        and bool(id_like(value))
        and not any(each in failure.scenario for each in words.spellings(value))
    )


def _kinds(payments: object) -> set[str]:
    """Return the kinds of the payment methods in an argument: their ids without the number."""
    return {re.sub(r"_\d+$", "", value) for value in telling_values(payments) if id_like(value)}


def _speaks_of_kind(said: str, kind: str) -> bool:
    names = _ALSO_CALLED.get(kind, kind.replace("_", "[ _]"))
    return re.search(rf"\b(?:{names})", said.lower()) is not None


def chosen_by_the_user(failure: Failure) -> Label | None:
    """The agent named the right thing and another, and the user took the other.

    What the agent recommends, it has chosen itself.
    """
    if failure.swap is None:
        return None
    index, made, wanted = failure.swap
    right, other = _ids_apart(wanted["arguments"], made["arguments"])
    if not right or not other:
        return None
    both = [*right, *other]
    offered = (
        (at, text)
        for at, text in failure.said_by("assistant")
        if at < index and all(mentions(text, each) for each in both)
    )
    taken = [
        at
        for at, text in failure.said_by("user")
        if at < index and any(mentions(text, each) for each in other)
    ]
    chosen = next(
        ((*offer, later) for offer in offered for later in taken if offer[0] < later), None
    )
    if chosen is None:
        return None
    at, offer, later = chosen
    evidence = (
        f"message {at}: the agent offers {', '.join(both)}",
        f"message {later}: the user takes {', '.join(other)}",
    )
    if not can_be_told_apart(failure, right, other):
        return Label("task", "choice left open", "chosen by the user", evidence)
    if _recommends(offer, right, other):
        return Label("agent", "wrong arguments", "recommended another", evidence)
    return Label("user", "chosen by the user", "chosen by the user", evidence)


def _ids_apart(wanted: object, made: object) -> tuple[list[str], list[str]]:
    """Return the ids that only one of two calls has."""
    one, other = ([v for v in telling_values(each) if id_like(v)] for each in (wanted, made))
    return [v for v in one if v not in other], [v for v in other if v not in one]


def _recommends(offer: str, right: list[str], other: list[str]) -> bool:
    """Tell whether a text asks about one of two things, which it names last and more often."""
    one, two = (
        [sum(mentions(sentence, value) for value in ids) for sentence in words.sentences(offer)]
        for ids in (right, other)
    )
    named = [pair for pair in zip(one, two, strict=True) if any(pair)]
    return words.asks(offer) and sum(two) > sum(one) and named[-1][0] == 0


def can_be_told_apart(failure: Failure, right: list[str], other: list[str]) -> bool:
    """Tell whether the task says something by which two records differ."""
    one, two = (list(_records_with(failure, each)) for each in (right, other))
    apart = _texts(one) ^ _texts(two)
    if any(mentions(failure.scenario, each) for each in (*apart, *right, *other)):
        return True
    keys = {key for each in (*one, *two) for key in each}
    if any("time" in key for key in keys) and _BY_TIME.search(failure.scenario):
        return True
    return any("price" in key for key in keys) and _BY_PRICE.search(failure.scenario) is not None


def _records_with(failure: Failure, ids: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the innermost records of the tools' answers that have one of some ids."""
    for _, _, answer in failure.calls:
        text = answer.get("content") or ""
        if any(each in text for each in ids):
            try:
                yield from _having(json.loads(text), set(ids))
            except ValueError:
                continue


def _having(value: object, ids: set[str]) -> Iterator[Mapping[str, Any]]:
    match value:
        case dict():
            if any(isinstance(each, str) and each in ids for each in value.values()):
                yield value
            for each in value.values():
                yield from _having(each, ids)
        case list():
            for each in value:
                yield from _having(each, ids)


def _texts(records: list[Mapping[str, Any]]) -> set[str]:
    return {text.lower() for each in records for text in telling_values(each)}


def agreed_to_by_the_user(failure: Failure) -> Label | None:
    """The policy allows what should not have been done, and the user said yes to it.

    It is the user's if the user brought it up and its task does not have it, or if its task
    excludes it. If the agent proposed it, both went there, and neither is clearly first.
    """
    wrong = [each for each in failure.wrong_writes if not failure.is_gold(each[1])]
    missing = {change.call["name"] for change in failure.to_add}
    if not wrong or any(call["name"] in missing for _, call in wrong):
        return None
    replies = [failure.agreement_to(index, call) for index, call in wrong]
    agreed = [reply for reply in replies if reply is not None]
    if len(agreed) < len(wrong):
        return None
    evidence = (
        *(f"message {index}: {render_call(call)}" for index, call in wrong),
        *(f"message {at}, the user: {format_value(text)}" for at, text in dict.fromkeys(agreed)),
    )
    index, call = wrong[0]
    who: Who = "user" if _is_the_users_idea(failure, index, call, agreed[0]) else "unclear"
    return Label(who, "agreed to by the user", "agreed to by the user", evidence)


def _is_the_users_idea(
    failure: Failure, index: int, call: Tau2ToolCall, agreed: tuple[int, str]
) -> bool:
    if _is_excluded(failure, call):
        return True
    name = record(call)
    if not _is_brought_up_by_the_user(failure, index, call):
        return False
    strange = name is not None and name.lower() not in failure.scenario
    if strange and _is_first_told_by_the_user(failure, index, name or ""):
        return True
    if not proposes(failure.scenario, call):
        return True
    # Its task has it under some condition: the user can only keep to it if it is told the price.
    told = [text for at, text in failure.said_by("assistant") if at < agreed[0]]
    return not failure.to_add and any(map(gives_figures, told[-2:]))


def _is_brought_up_by_the_user(failure: Failure, before: int, call: Tau2ToolCall) -> bool:
    for message in failure.messages[:before]:
        text = message.get("content") or ""
        if message["role"] in ("user", "assistant") and text:
            spoken = any(says_the_like(each, call) for each in words.sentences(text))
            name = record(call)
            if (spoken or (name and mentions(text, name))) and not failure.names_another(
                text, call
            ):
                return message["role"] == "user"
    return False


def _is_excluded(failure: Failure, call: Tau2ToolCall) -> bool:
    """Tell whether the task says that the user does not want what a call does."""
    found = _EXCLUDES.finditer(failure.scenario)
    return any(says_the_like(each["after"] or each["before"] or "", call) for each in found)
