"""Failures in which both had a part, or of which the record does not show whose they are."""

import re
from collections.abc import Iterator, Mapping

from maseval.benchmark.tau2.formats.message import OUT_OF_SCOPE, spoken_text
from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.explain.explanation import format_value, render_call
from maseval.benchmark.tau2.review.explain.tracing import WrongField
from maseval.benchmark.tau2.review.labels.failure import Failure, is_error
from maseval.benchmark.tau2.review.labels.user_faults import made_up, transferred_at
from maseval.benchmark.tau2.review.words import proposes
from maseval.benchmark.tau2.world.state.permanence import ABSENT
from maseval.stats.failure_labels import Label

_CLAIMS = r"\b(?:turned|switched|set|enabled|disabled|granted|is|are|both|already|made sure)\b"
_LATER = r"\b(?:i'll|i will|let me|should i|can you|could you|do i)\b"


def language_not_read(failure: Failure) -> Label | None:
    """The conversation is not in English, and the rules that follow read words."""
    if failure.talk.is_english:
        return None
    said = next((text for _, text in failure.said_by("user")), "")
    evidence = (f"not in English: {format_value(said)}",)
    return Label("unclear", "language not read", "language not read", evidence)


def reported_without_looking(failure: Failure) -> Label | None:
    """The user says how a setting is that it never looked at, and that setting is what is wrong."""
    for change in failure.to_add:
        if change.call["requestor"] != "user":
            continue
        topic = _setting(change.call["name"])
        for index, sentence in _claims(failure, topic):
            if not _has_looked(failure, index, topic):
                evidence = (
                    f"message {index}, the user: {format_value(sentence)}",
                    f"it has not looked, and missing is {render_call(change.call)}",
                )
                what = "reported without looking"
                return Label("user", what, what, evidence)
    return None


def _setting(tool: str) -> str:
    """Return a pattern for the setting that one of the user's tools changes."""
    verbs = r"^(?:toggle|turn|set|reset|reseat|grant|disconnect|connect|check)_|_(?:on|off)$"
    noun = re.sub(r"_(?:mode|preference|settings|mode_preference)$", "", re.sub(verbs, "", tool))
    return noun.replace("_", r"[ _-]?")


def _claims(failure: Failure, topic: str) -> Iterator[tuple[int, str]]:
    """Yield what the user says of a setting after the agent has spoken of it."""
    question = ""
    for index, message in enumerate(failure.messages):
        text = spoken_text(message) if message["role"] in ("user", "assistant") else ""
        if message["role"] == "assistant":
            question = text or question
            continue
        for sentence in words.sentences(text) if re.search(topic, question.lower()) else ():
            said = sentence.lower()
            asked = said.endswith("?") or re.search(_LATER, said)
            if re.search(topic, said) and re.search(_CLAIMS, said) and not asked:
                yield index, sentence


def _has_looked(failure: Failure, before: int, topic: str) -> bool:
    """Tell whether the user called a tool whose name or answer is about a setting."""
    for index, call, answer in failure.calls:
        if index < before and call["requestor"] == "user":
            name = call["name"].replace("_", " ")
            if re.search(topic, name) or re.search(topic, (answer.get("content") or "").lower()):
                return True
    return False


def asked_for_a_human(failure: Failure) -> Label | None:
    """The user asked for somebody else before the agent had refused anything or offered it.

    If its task has that, it was for the agent to go on; otherwise it is open who gave up.
    """
    at = transferred_at(failure)
    missing = failure.to_add or failure.explanation.to_be_said
    if at is None or not missing or failure.wrong_writes or words.wants_a_human(failure.scenario):
        return None
    for index, text in failure.said_by("user"):
        if index < at and words.wants_a_human(text):
            earlier = [said for place, said in failure.said_by("assistant") if place < index]
            if any(words.refusal(said) or words.speaks_of_a_transfer(said) for said in earlier):
                return None
            evidence = (
                f"message {index}, the user: {format_value(text)}",
                f"message {at}: transferred",
            )
            return Label("unclear", "asked for a human", "asked for a human", evidence)
    return None


def write_of_the_user(failure: Failure) -> Label | None:
    """The wrong write was made by the user; it is the agent's if the agent had asked for it."""
    wrong = [change for change in failure.to_leave_out if change.call["requestor"] == "user"]
    if not wrong:
        return None
    evidence = tuple(f"message {c.message_index}: {render_call(c.call)}" for c in wrong)
    at, call = wrong[0].message_index or 0, wrong[0].call
    told = [(index, text) for index, text in failure.said_by("assistant") if index < at][-1:]
    asked = any(proposes(text, call) for _, text in told)
    # What it was asked to do once, it has done more than once.
    since = [made for index, made, _ in failure.calls if told and told[0][0] < index <= at + 2]
    asked = asked and sum(render_call(made) == render_call(call) for made in since) < 2
    return Label(
        "agent" if asked else "user", "a write of the user's", "write of the user", evidence
    )


def same_outcome(failure: Failure) -> Label | None:
    """Only the history of payments differs, and it adds up to the same amount."""
    wrong = failure.explanation.wrong_fields
    if not wrong or not all(_is_booked_amount(field) for field in wrong):
        return None
    expected, found = (sum(_amounts(wrong, side)) for side in ("expected", "found"))
    if abs(expected - found) > 0.005:
        return None
    evidence = tuple(
        f"{each.place}: expected {format_value(each.expected)}, found {format_value(each.found)}"
        for each in wrong
    )
    return Label("unclear", "same outcome by other steps", "same outcome", evidence)


def _is_booked_amount(field: WrongField) -> bool:
    path = field.place.path
    return "payment_history" in path and (path[-1] == "amount" or isinstance(path[-1], int))


def _amounts(wrong: tuple[WrongField, ...], side: str) -> Iterator[float]:
    for field in wrong:
        value = getattr(field, side)
        if isinstance(value, Mapping):
            yield float(value.get("amount", 0))
        elif value is not ABSENT and field.place.path[-1] == "amount":
            yield float(value)


def out_of_scope(failure: Failure) -> Label | None:
    """The user ended it because its task does not say how to go on."""
    last = failure.messages[-1]
    if last["role"] != "user" or OUT_OF_SCOPE not in (last.get("content") or ""):
        return None
    failed = [call for _, call, answer in failure.writes if is_error(answer)]
    if failed or transferred_at(failure) is not None:
        return None
    evidence = (
        f"message {len(failure.messages) - 1}, the user: {format_value(last.get('content'))}",
    )
    return Label("unclear", "out of scope", "out of scope", evidence)


def led_astray(failure: Failure) -> Label | None:
    """The user named something that does not exist, and the agent found nothing of the kind."""
    if not failure.to_add or failure.to_leave_out:
        return None
    calls = [(index, call) for index, call, answer in failure.calls if is_error(answer)]
    found = {(index, call["name"]) for index, call, answer in failure.calls if not is_error(answer)}
    lost = [
        (index, call)
        for index, call in calls
        if not any(later > index and name == call["name"] for later, name in found)
    ]
    evidence = next(made_up(failure, lost), None)
    return evidence and Label("user", "led astray by the user", "led astray", evidence)
