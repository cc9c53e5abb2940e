"""Failures of the simulated user: it was silent, made things up, or did not keep to its task."""

import re
from collections.abc import Iterator

from maseval.benchmark.tau2.explain.text import shown, shown_call
from maseval.benchmark.tau2.formats.message import (
    Tau2ToolCall,
    has_text,
    is_tool_call,
    tool_calls_of,
)
from maseval.benchmark.tau2.labels import words
from maseval.benchmark.tau2.labels.failure import Failure, Label, LabelRule, is_error
from maseval.benchmark.tau2.labels.instructions import INSTRUCTION_RULES
from maseval.benchmark.tau2.labels.leaving import LEAVING_RULES
from maseval.benchmark.tau2.labels.topics import (
    id_like,
    mentions,
    spellings,
    telling_values,
)

_OFTEN = 5


def empty_turns(failure: Failure) -> Label | None:
    """The user said and did nothing when it was its turn."""
    empty = [
        index
        for index, message in enumerate(failure.messages)
        if message["role"] == "user" and not has_text(message) and not is_tool_call(message)
    ]
    if not empty:
        return None
    places = ", ".join(map(str, empty))
    return Label("user", "empty turns", "empty turns", (f"the user is silent in message {places}",))


def invented_facts(failure: Failure) -> Label | None:
    """A wrong value comes from the user, who had it neither from the task nor from anybody."""
    wrong = [(at.message_index, at.call) for at in failure.wrong_writers]
    wrong += [(index, call) for index, call, answer in failure.writes if is_error(answer)]
    found = next(made_up(failure, wrong), None)
    return found and Label("user", "invented facts", "invented facts", found)


def made_up(failure: Failure, calls: list[tuple[int, Tau2ToolCall]]) -> Iterator[tuple[str, str]]:
    """The values in some calls that the user brought up without having been given them."""
    wanted = {v for action in failure.gold for v in telling_values(action.arguments)}
    for index, call in sorted(calls, key=lambda each: each[0]):
        for value in telling_values(call["arguments"]):
            if not id_like(value) or any(value in each for each in wanted):
                continue
            source = _first_told_by_user(failure, value, index)
            if source is not None:
                yield (
                    f"message {source}: the user gives {value!r}, which the task does not have",
                    f"message {index}: the agent uses it",
                )


def _first_told_by_user(failure: Failure, value: str, before: int) -> int | None:
    """Where the user was the first to give a value that it was not given itself."""
    if any(written in failure.scenario for written in spellings(value)):
        return None
    for index, message in enumerate(failure.messages[:before]):
        texts = [message.get("content") or ""]
        texts += [shown(c["arguments"], 10_000) for c in tool_calls_of(message) or ()]
        if any(written in text.lower() for text in texts for written in spellings(value)):
            return index if message["role"] == "user" else None
    return None


def turned_the_right_value_down(failure: Failure) -> Label | None:
    """The user was offered the right value, and asked for one that the task does not have."""
    if failure.swap is None:
        return None
    for field in failure.explanation.wrong_fields:
        wanted, found = field.expected, field.found
        if not (isinstance(wanted, str) and isinstance(found, str)):
            continue
        if not _is_word(wanted) or not _is_word(found) or found in failure.scenario:
            continue
        for index, text in failure.said_by("user"):
            if mentions(text, found) and _turns_down(failure, index, text, wanted):
                evidence = (
                    f"{field.place} should be {wanted!r}",
                    f"message {index}: the user wants {found!r}, which the task does not have",
                )
                return Label("user", "invented facts", "turned the right value down", evidence)
    return None


def _is_word(value: str) -> bool:
    """Whether a value is a word that people choose, like a colour: no id and no code."""
    return value.islower() and not id_like(value)


def _turns_down(failure: Failure, index: int, text: str, value: str) -> bool:
    """Whether the user says no to a value, or asks for something else after it was offered."""
    if _denies(text, value):
        return True
    offers = [offer for at, offer in failure.said_by("assistant") if at < index]
    return words.narrows(text) and any(mentions(offer, value) for offer in offers[-1:])


def _denies(text: str, value: str) -> bool:
    before = r"\b(?:not|n't|isn't|wasn't|instead of|rather than)\W+(?:\w+\W+){0,2}"
    return re.search(before + re.escape(value.lower()), words.plain(text).lower()) is not None


def never_acted(failure: Failure) -> Label | None:
    """The user was asked again and again to do something, and never used one of its tools."""
    to_do = [change.call for change in failure.to_add if change.call["requestor"] == "user"]
    acted = any(message["role"] == "user" and is_tool_call(message) for message in failure.messages)
    asked = [index for index, text in failure.said_by("assistant") if words.requests(text)]
    if acted or not to_do or len(asked) < _OFTEN:
        return None
    evidence = (
        f"the agent asks in {len(asked)} messages, the user calls no tool",
        *(f"missing: {shown_call(call)}" for call in to_do),
    )
    return Label("user", "never acted", "never acted", evidence)


USER_RULES: tuple[LabelRule, ...] = (
    empty_turns,
    *LEAVING_RULES,
    invented_facts,
    turned_the_right_value_down,
    never_acted,
    *INSTRUCTION_RULES,
)
