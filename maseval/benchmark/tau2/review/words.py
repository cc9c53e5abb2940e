"""The values of a call, and whether a text has them: ids, names, dates, numbers."""

import re
from collections.abc import Iterator

from maseval.benchmark.tau2.formats.message import Tau2ToolCall

OWNERS = ("user_id", "customer_id")
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)


def telling_values(value: object) -> Iterator[str]:
    """Yield the texts in a call's arguments that can be recognised elsewhere: ids, names, dates."""
    match value:
        case str() if len(value) >= 3:
            yield value
        case dict():
            for each in value.values():
                yield from telling_values(each)
        case list():
            for each in value:
                yield from telling_values(each)


def spellings(value: str) -> list[str]:
    """Return the ways to write a value, in lower case; a date also with the name of its month."""
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", value)
    if found is None or not 1 <= int(found[2]) <= 12:
        return [value.lower()]
    year, month, day = found[1], MONTHS[int(found[2]) - 1], str(int(found[3]))
    names = (month, month[:3])
    ordered = [form for name in names for form in (f"{name} {day}, {year}", f"{day} {name} {year}")]
    return [value, *ordered, f"{found[2]}/{found[3]}/{year}"]


def has_date(text: str, date: str) -> bool:
    """Return True if the parts of a date stand in a text in lower case, in whatever order."""
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", date)
    if found is None or not 1 <= int(found[2]) <= 12:
        return date in text
    year, month, day = map(int, found.groups())
    numbers = {int(each) for each in re.findall(r"\d{1,4}", text)}
    has_month = month in numbers or MONTHS[month - 1][:3] in text
    return has_month and day in numbers and not numbers.isdisjoint((year, year % 100))


def mentions(text: str, value: str) -> bool:
    """Return True if a value stands in a text by itself, not as a part of a longer word."""
    return stands_in(text.lower(), value.lstrip("#").lower())


def stands_in(lower: str, word: str) -> bool:
    """Return True if a text in lower case has a word as it is, and not as a part of another."""
    at = lower.find(word)
    while at >= 0:
        before, after = lower[at - 1 : at], lower[at + len(word) : at + len(word) + 1]
        decimal = before == "." and lower[at - 2 : at - 1].isdigit()
        joined = before in ("_", "-") or after in ("_", "-") or decimal
        if not (before.isalnum() or after.isalnum() or joined):
            return True
        at = lower.find(word, at + 1)
    return False


def record(call: Tau2ToolCall) -> str | None:
    """Return the record a call is about: its first argument, unless that is a person."""
    first, value = next(iter(call["arguments"].items()), (None, None))
    return value if isinstance(value, str) and first not in OWNERS else None
