"""The right tool, used on another record: another line, order or reservation than the task's."""

from collections.abc import Iterator

from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.review.explain.explanation import format_value, render_call
from maseval.benchmark.tau2.review.labels.bookings import find_record
from maseval.benchmark.tau2.review.labels.failure import Failure, is_error
from maseval.benchmark.tau2.review.words import OWNERS, mentions
from maseval.stats.failure_labels import Label

# A customer names a line by its number.
_NUMBERS = ("phone_number",)


def acted_on_another_record(failure: Failure) -> Label | None:
    """A missing call was made for another record; the user's failure if only the user named it."""
    for change in failure.to_add:
        for index, made in _strays(failure, change.call):
            name, found, wanted = _records(made, change.call)
            evidence = (
                f"message {index}: {render_call(made)}",
                f"{name}: {format_value(found)} instead of {format_value(wanted)}",
            )
            said = _named_by_the_user(failure, index, found)
            if said is None or _is_named(failure, index, wanted):
                what = "acted on another record"
                return Label("agent", what, what, evidence)
            if any(each.lower() in failure.scenario for each in _names(failure, wanted)):
                told = (f"message {said}: the user names {found!r}, its task another one",)
                what = "instructions not followed"
                return Label("user", what, "named another record", (*told, *evidence))
    return None


def _strays(failure: Failure, wanted: Tau2ToolCall) -> Iterator[tuple[int, Tau2ToolCall]]:
    """Yield the writes that worked, with a missing call's tool on a record of no gold action."""
    for index, made, answer in failure.writes:
        if made["name"] != wanted["name"] or is_error(answer):
            continue
        name, found, other = _records(made, wanted)
        golds = [each.arguments.get(name) for each in failure.gold if each.name == made["name"]]
        if found and found != other and found not in golds:
            yield index, made


def _records(made: Tau2ToolCall, wanted: Tau2ToolCall) -> tuple[str, str, str]:
    """Return the argument that names the record of two calls, and its value in each."""
    for name, value in wanted["arguments"].items():
        found = made["arguments"].get(name)
        is_record = name.endswith("_id") and name not in OWNERS and "payment" not in name
        if is_record and isinstance(value, str) and isinstance(found, str):
            return name, found, value
    return "", "", ""


def _named_by_the_user(failure: Failure, before: int, record: str) -> int | None:
    """Return the message in which the user brings a record up; None if the agent did."""
    names = _names(failure, record)
    for index, message in enumerate(failure.messages[:before]):
        text = message.get("content") or ""
        if message["role"] != "tool" and any(mentions(text, name) for name in names):
            return index if message["role"] == "user" else None
    return None


def _is_named(failure: Failure, before: int, record: str) -> bool:
    """Tell whether the user has named a record as well."""
    names = _names(failure, record)
    said = (text for index, text in failure.said_by("user") if index < before)
    return any(mentions(text, name) for text in said for name in names)


def _names(failure: Failure, record: str) -> list[str]:
    """Return a record's id and the numbers that people call it by."""
    own = find_record(failure.subject.case.setting.world(), record)
    return [record, *(str(own[name]) for name in _NUMBERS if name in own)]
