"""Failures in which the record does not show who is to blame."""

import re
from collections.abc import Iterator, Mapping

from maseval.benchmark.tau2 import words
from maseval.benchmark.tau2.domains.permanence import ABSENT
from maseval.benchmark.tau2.explain.explanation import format_value, render_call
from maseval.benchmark.tau2.explain.tracing import WrongField
from maseval.benchmark.tau2.formats.message import OUT_OF_SCOPE
from maseval.benchmark.tau2.labels.failure import Failure, is_error
from maseval.benchmark.tau2.labels.user_faults import made_up, transferred_at, turned_down
from maseval.benchmark.tau2.words import id_like, mentions, said_as, telling_values
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
                return Label("unclear", what, what, evidence)
    return None


def _setting(tool: str) -> str:
    """Return a pattern for the setting that one of the user's tools changes."""
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
    """Tell whether the user called a tool whose name or answer is about a setting."""
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
            evidence = (
                f"message {index}, the user: {format_value(text)}",
                f"message {at}: transferred",
            )
            return Label("unclear", "asked for a human", "asked for a human", evidence)
    return None


def write_of_the_user(failure: Failure) -> Label | None:
    """The wrong write was made by the user; whose idea it was stays undecided."""
    wrong = [change for change in failure.to_leave_out if change.call["requestor"] == "user"]
    if not wrong:
        return None
    evidence = tuple(f"message {c.message_index}: {render_call(c.call)}" for c in wrong)
    return Label("unclear", "a write of the user's", "write of the user", evidence)


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


def chosen_by_the_user(failure: Failure) -> Label | None:
    """The agent offered the right thing and another, and the user took the other."""
    if failure.swap is None:
        return None
    index, made, wanted = failure.swap
    right, other = _differing(wanted["arguments"], made["arguments"])
    if not right or not other:
        return None
    both = [*right, *other]
    offered = (
        at
        for at, text in failure.said_by("assistant")
        if at < index and all(mentions(text, each) for each in both)
    )
    taken = [
        at
        for at, text in failure.said_by("user")
        if at < index and any(mentions(text, each) for each in other)
    ]
    chosen = next(((at, later) for at in offered for later in taken if at < later), None)
    if chosen is None:
        return None
    evidence = (
        f"message {chosen[0]}: the agent offers {', '.join(both)}",
        f"message {chosen[1]}: the user takes {', '.join(other)}",
    )
    return Label("unclear", "chosen by the user", "chosen by the user", evidence)


def named_by_the_user(failure: Failure) -> Label | None:
    """The one call that should have been another was made with what the user itself named."""
    if failure.swap is None:
        return None
    index, made, wanted = failure.swap
    names = {**made["arguments"], **wanted["arguments"]}
    pairs = {n: (made["arguments"].get(n), wanted["arguments"].get(n)) for n in names}
    differing = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    said = "\n".join(text for at, text in failure.said_by("user") if at < index)
    if not differing or not all(_is_named(said, name, *pair) for name, pair in differing.items()):
        return None
    evidence = tuple(
        f"{name}: {format_value(one)} instead of {format_value(other)}, as the user said"
        for name, (one, other) in differing.items()
    )
    return Label("unclear", "chosen by the user", "named by the user", evidence)


def _is_named(said: str, name: str, made: object, wanted: object) -> bool:
    """Tell whether the user named a number with what it counts, or a kind of payment."""
    if isinstance(made, int) and not isinstance(made, bool):
        noun = said_as(name.rsplit("_", 1)[-1])
        return re.search(rf"\b{made}\b[^.?!\n]{{0,40}}\b(?:{noun})", said.lower()) is not None
    if "payment" not in name:
        return False
    kinds, other = _kinds(made), _kinds(wanted)
    return bool(kinds - other) and all(_mentions_kind(said, kind) for kind in kinds - other)


def _kinds(payments: object) -> set[str]:
    """Return the kinds of the payment methods in an argument: their ids without the number."""
    return {re.sub(r"_\d+$", "", value) for value in telling_values(payments) if id_like(value)}


def _mentions_kind(said: str, kind: str) -> bool:
    return re.search(rf"\b{kind.replace('_', '[ _]')}", said.lower()) is not None


def _differing(wanted: object, made: object) -> tuple[list[str], list[str]]:
    """Return the ids that only one of two calls has."""
    one, other = ([v for v in telling_values(each) if id_like(v)] for each in (wanted, made))
    return [v for v in one if v not in other], [v for v in other if v not in one]


def turned_down_by_the_user(failure: Failure) -> Label | None:
    """The agent offered what is missing, and the user said no to it."""
    found = next(turned_down(failure), None)
    return found and Label("unclear", "turned down by the user", "turned down", found)


def agreed_to_by_the_user(failure: Failure) -> Label | None:
    """The agent proposed what it should not have done, the policy allows it, the user said yes."""
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
    return Label("unclear", "agreed to by the user", "agreed to by the user", evidence)


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
    """The user named something that does not exist, and in the end something is missing."""
    if not failure.to_add or failure.to_leave_out:
        return None
    failed = [(index, call) for index, call, answer in failure.calls if is_error(answer)]
    found = next(made_up(failure, failed), None)
    return found and Label("unclear", "led astray by the user", "led astray", found)
