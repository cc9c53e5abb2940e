"""What the user reports of its own device, or asks for, before the agent gives up."""

import re
from collections.abc import Iterator

from maseval.benchmark.tau2.explain.text import shown, shown_call
from maseval.benchmark.tau2.labels import words
from maseval.benchmark.tau2.labels.failure import Failure, Label, LabelRule
from maseval.benchmark.tau2.labels.leaving import transferred_at

_CLAIMS = r"\b(?:turned|switched|set|enabled|disabled|granted|is|are|both|already|made sure)\b"
_LATER = r"\b(?:i'll|i will|let me|should i|can you|could you|do i)\b"


def reported_without_looking(failure: Failure) -> Label | None:
    """The user says how a setting is that it never looked at, and that setting is what is wrong."""
    for change in failure.to_add:
        if change.call["requestor"] != "user":
            continue
        topic = _setting(change.call["name"])
        for index, sentence in _claims(failure, topic):
            if not _has_looked(failure, index, topic):
                evidence = (
                    f"message {index}, the user: {shown(sentence)}",
                    f"it has not looked, and missing is {shown_call(change.call)}",
                )
                what = "reported without looking"
                return Label("unclear", what, what, evidence)
    return None


def _setting(tool: str) -> str:
    """What of the device a tool of the user's changes, as people write it."""
    verbs = r"^(?:toggle|turn|set|reset|reseat|grant|disconnect|connect|check)_|_(?:on|off)$"
    noun = re.sub(r"_(?:mode|preference|settings|mode_preference)$", "", re.sub(verbs, "", tool))
    return noun.replace("_", r"[ _-]?")


def _claims(failure: Failure, topic: str) -> Iterator[tuple[int, str]]:
    for index, text in failure.said_by("user"):
        for sentence in words.sentences(text):
            said = sentence.lower()
            asked = said.endswith("?") or re.search(_LATER, said)
            if re.search(topic, said) and re.search(_CLAIMS, said) and not asked:
                yield index, sentence


def _has_looked(failure: Failure, before: int, topic: str) -> bool:
    """Whether a tool of the user's was about a setting, by its name or in its answer."""
    for index, call, answer in failure.calls:
        if index < before and call["requestor"] == "user":
            name = call["name"].replace("_", " ")
            if re.search(topic, name) or re.search(topic, (answer.get("content") or "").lower()):
                return True
    return False


def asked_for_a_human(failure: Failure) -> Label | None:
    """The user asked for somebody else before the agent had refused anything or offered it."""
    at = transferred_at(failure)
    missing = failure.to_add or failure.explanation.to_be_said
    if at is None or not missing or failure.wrong_writes:
        return None
    for index, text in failure.said_by("user"):
        if index < at and words.wants_a_human(text):
            earlier = [said for place, said in failure.said_by("assistant") if place < index]
            if any(words.refusal(said) or words.speaks_of_a_transfer(said) for said in earlier):
                return None
            evidence = (f"message {index}, the user: {shown(text)}", f"message {at}: transferred")
            return Label("unclear", "asked for a human", "asked for a human", evidence)
    return None


REPORT_RULES: tuple[LabelRule, ...] = (reported_without_looking, asked_for_a_human)
