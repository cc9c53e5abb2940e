"""Failures of the simulated user: it was silent, made things up, or did not keep to its task."""

import re
from collections.abc import Iterator

from maseval.benchmark.tau2.conversation.messages import (
    STOP,
    has_text,
    is_tool_call,
    tool_calls_of,
)
from maseval.benchmark.tau2.forms.message import Tau2ToolCall
from maseval.benchmark.tau2.trust.explain.text import shown, shown_call
from maseval.benchmark.tau2.trust.labels import words
from maseval.benchmark.tau2.trust.labels.failure import Failure, Label, LabelRule, is_error
from maseval.benchmark.tau2.trust.labels.leaving import LEAVING_RULES, transferred_at
from maseval.benchmark.tau2.trust.labels.topics import (
    id_like,
    mentions,
    speaks_of,
    telling_values,
    touches,
)

_CHANGE_OF_MIND = re.compile(r"(?:if|when) the (?:\w+ )?agent asks (?:you )?(?:for|to) confirm")


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
    if value.lower() in failure.scenario:
        return None
    for index, message in enumerate(failure.messages[:before]):
        texts = [message.get("content") or ""]
        texts += [shown(c["arguments"], 10_000) for c in tool_calls_of(message) or ()]
        if any(value.lower() in text.lower() for text in texts):
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
        if found.lower() in failure.scenario:
            continue
        for index, text in failure.said_by("user"):
            if mentions(text, found) and _denies(text, wanted):
                evidence = (
                    f"{field.place} should be {wanted!r}",
                    f"message {index}: the user wants {found!r}, which the task does not have",
                )
                return Label("user", "invented facts", "turned the right value down", evidence)
    return None


def _denies(text: str, value: str) -> bool:
    before = r"\b(?:not|n't|isn't|wasn't|instead of|rather than)\W+(?:\w+\W+){0,2}"
    return re.search(before + re.escape(value.lower()), words.plain(text).lower()) is not None


def kept_what_it_should_have_dropped(failure: Failure) -> Label | None:
    """The user was to change its mind when asked to confirm, and confirmed everything."""
    if failure.swap is None or not _CHANGE_OF_MIND.search(failure.scenario):
        return None
    index, made, wanted = failure.swap
    said = list(failure.said_by("user"))
    answer = next(((i, text) for i, text in reversed(said) if i < index), None)
    if answer is None or not words.agrees(answer[1]) or not _more_than(made, wanted):
        return None
    evidence = (
        "the task: the user is to change its mind when it is asked to confirm",
        f"message {answer[0]}: the user agrees to all of it",
        f"message {index}: {shown_call(made)}",
    )
    return Label("user", "instructions not followed", "kept what it should have dropped", evidence)


def _more_than(made: Tau2ToolCall, wanted: Tau2ToolCall) -> bool:
    """Whether a call does all that another does, and more: its lists are longer."""
    longer = False
    for name, value in wanted["arguments"].items():
        given = made["arguments"].get(name)
        if isinstance(value, list) and isinstance(given, list):
            if not all(each in given for each in value):
                return False
            longer = longer or len(given) > len(value)
        elif given != value:
            return False
    return longer


def never_asked(failure: Failure) -> Label | None:
    """The task has the user ask for something, and the user never did; nothing was refused."""
    missing = [change.call for change in failure.to_add]
    last = failure.messages[-1]
    ended = last["role"] == "user" and STOP in (last.get("content") or "")
    if not missing or not failure.nothing_wrong_done or not ended:
        return None
    if transferred_at(failure) is not None or _anything_refused(failure):
        return None
    for call in missing:
        if not speaks_of(failure.scenario, call) or touches(failure.words_of_the_user, call):
            return None
    evidence = (f"the task asks for it, the user never did: {shown_call(each)}" for each in missing)
    return Label("user", "instructions not followed", "never asked", tuple(evidence))


def _anything_refused(failure: Failure) -> bool:
    return any(words.refusal(text) for _, text in failure.said_by("assistant"))


USER_RULES: tuple[LabelRule, ...] = (
    empty_turns,
    *LEAVING_RULES,
    invented_facts,
    turned_the_right_value_down,
    kept_what_it_should_have_dropped,
    never_asked,
)
