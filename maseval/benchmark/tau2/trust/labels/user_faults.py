"""Failures of the simulated user: it fell silent, left too early, or made things up."""

import json
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from maseval.benchmark.tau2.conversation.messages import (
    STOP,
    STOP_TOKENS,
    has_text,
    is_tool_call,
    spoken_text,
    tool_calls_of,
)
from maseval.benchmark.tau2.trust.explain.text import shown, shown_call
from maseval.benchmark.tau2.trust.labels.failure import (
    Failure,
    Label,
    LabelRule,
    id_like,
    telling_values,
)

_ASKS = re.compile(
    r"\b(confirm|proceed|go ahead|would you like|shall i|should i|do you want"
    r"|\(yes/no\)|yes or no)",
    re.IGNORECASE,
)
_AGREES = re.compile(
    r"^\W*(yes|yeah|yep|sure|ok(ay)?|correct|please (do|proceed|go ahead)|go ahead|i confirm"
    r"|that('s| is) (right|correct|fine))\b",
    re.IGNORECASE,
)


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


def stopped_before_the_action(failure: Failure) -> Label | None:
    """The user agreed, or was still being asked, and ended the conversation with that message.

    Only where nothing wrong was done and the missing calls could still have followed.
    """
    repair = failure.explanation.repair
    if repair is None or not repair.only_adds or repair.placement != "end":
        return None
    if failure.wrong_writers or _done_otherwise(failure):
        return None
    if failure.subject.case.recording.termination_reason != "user_stop" or not failure.messages:
        return None
    last = failure.messages[-1]
    if last["role"] != "user" or STOP not in (last.get("content") or ""):
        return None
    asked = _last_words(failure)
    if asked is None or not _ASKS.search(asked[1]) or not _about_the_missing(failure, asked[1]):
        return None
    reply = _without_tokens(spoken_text(last))
    if reply and not _AGREES.search(reply):
        return None
    return Label(
        "user",
        "stopped before the confirmed action",
        "stopped before the action",
        (
            f"message {asked[0]}, the agent asks: {shown(asked[1][-200:])}",
            f"message {len(failure.messages) - 1}, the user ends it: {shown(last['content'])}",
            *(f"still missing: {shown_call(change.call)}" for change in failure.to_add),
        ),
    )


def _done_otherwise(failure: Failure) -> bool:
    """Whether the agent has already done, in another way, what is missing."""
    worked = {i for i, _, answer in failure.writes if not _is_error(answer)}
    return any(index in worked for index, _ in failure.attempts)


def _is_error(answer: Mapping[str, Any]) -> bool:
    return (answer.get("content") or "").startswith("Error")


def _last_words(failure: Failure) -> tuple[int, str] | None:
    return next(iter(reversed(list(failure.said_by("assistant")))), None)


def _about_the_missing(failure: Failure, text: str) -> bool:
    """Whether the agent speaks of what a missing call is about."""
    values = (
        value for change in failure.to_add for value in telling_values(change.call["arguments"])
    )
    return any(value.lstrip("#").lower() in text.lower() for value in values)


def _without_tokens(text: str) -> str:
    for token in STOP_TOKENS:
        text = text.replace(token, "")
    return text.strip()


def invented_facts(failure: Failure) -> Label | None:
    """A wrong value comes from the user, who had it neither from the task nor from anybody."""
    known = _KnownFacts(failure)
    doubted = {(at.message_index, json.dumps(at.call["arguments"])) for at in failure.wrong_writers}
    failed = {
        (index, json.dumps(call["arguments"]))
        for index, call, answer in failure.writes
        if _is_error(answer)
    }
    wanted = {v for action in failure.gold for v in telling_values(action.arguments)}
    for index, arguments in sorted(doubted | failed):
        for value in telling_values(json.loads(arguments)):
            if not id_like(value) or any(value in each for each in wanted):
                continue
            source = known.first_told(value, before=index)
            if source is not None:
                evidence = (
                    f"message {source}: the user gives {value!r}, which the task does not have",
                    f"message {index}: the agent uses it",
                )
                return Label("user", "invented facts", "invented facts", evidence)
    return None


class _KnownFacts:
    """What could be known in a conversation, and from whom."""

    def __init__(self, failure: Failure) -> None:
        self._failure = failure

    @cached_property
    def _scenario(self) -> str:
        raw = self._failure.subject.case.raw_task
        told = (raw.get("user_scenario"), raw.get("ticket"), raw.get("initial_state"))
        return json.dumps(told, default=str).lower()

    def first_told(self, value: str, *, before: int) -> int | None:
        """Where the user was the first to give a value that it was not given itself."""
        plain = value.lower()
        if plain in self._scenario:
            return None
        for index, message in enumerate(self._failure.messages[:before]):
            texts = [message.get("content") or ""]
            texts += [json.dumps(c["arguments"]) for c in tool_calls_of(message) or ()]
            if any(plain in text.lower() for text in texts):
                return index if message["role"] == "user" else None
        return None


USER_RULES: tuple[LabelRule, ...] = (empty_turns, stopped_before_the_action, invented_facts)
