"""What a call is about, and whether a text speaks of it."""

import re
from collections.abc import Iterator, Mapping

from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.labels.words import sentences

_TOKEN = re.compile(r"[#\w][\w.@'+-]*[\w]")
OWNERS = ("user_id", "customer_id")
_ADVERBS = r"(?:(?:now|just|also|already|successfully) )*"
_DONE = rf"\b(?:i(?:'ve| have) {_ADVERBS}|(?:has|have) {_ADVERBS}been {_ADVERBS})"
_CARRIED_OUT = r"(?:process|complet|finali|made|appli|submit|issu)"
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
_COMMON = {
    *("set", "reservation", "order", "pending", "delivered", "item", "items", "user", "data"),
    *("details", "method", "status", "preference", "settings", "mode", "to", "by", "id", "line"),
}
_SAID_AS: Mapping[str, str] = {
    "update": "updat|chang|upgrad|downgrad|modif|add|switch|remov|mov",
    "modify": "modif|chang|updat|swap|switch|replac|adjust",
    "exchange": "exchang|swap|switch|replac",
    "return": "return|refund",
    "cancel": "cancel",
    "book": "book",
    "send": "send|sent|issu|offer|receiv|get",
    "certificate": "certificat|compensat|voucher",
    "flights": "flight|cabin|class|econom|business|nonstop|itinerar",
    "baggages": "bag|suitcase|luggage",
    "passengers": "passenger|name",
    "address": "address",
    "payment": "pay|bill",
    "enable": "enabl|turn|activat|switch",
    "toggle": "toggl|turn|switch|enabl|disabl",
    "refuel": "refuel|add|top",
}


def telling_values(value: object) -> Iterator[str]:
    """The texts in a call's arguments that can be recognised elsewhere: ids, names, dates."""
    match value:
        case str() if len(value) >= 3:
            yield value
        case dict():
            for each in value.values():
                yield from telling_values(each)
        case list():
            for each in value:
                yield from telling_values(each)


def id_like(text: str) -> list[str]:
    """The words of a text that look like ids, numbers or addresses: they have a digit or an @."""
    words = _TOKEN.findall(text)
    return [word for word in words if len(word) >= 4 and re.search(r"[\d@]", word)]


def spellings(value: str) -> list[str]:
    """How people write a value, in small letters: a date also with the name of its month."""
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", value)
    if found is None or not 1 <= int(found[2]) <= 12:
        return [value.lower()]
    year, month, day = found[1], _MONTHS[int(found[2]) - 1], str(int(found[3]))
    names = (month, month[:3])
    ordered = [form for name in names for form in (f"{name} {day}, {year}", f"{day} {name} {year}")]
    return [value, *ordered, f"{found[2]}/{found[3]}/{year}"]


def mentions(text: str, value: str) -> bool:
    """Whether a value stands in a text by itself, not as a part of a longer word."""
    bare = re.escape(value.lstrip("#").lower())
    return re.search(rf"(?<![\w.-]){bare}(?![\w-])", text.lower()) is not None


def own_values(call: Tau2ToolCall) -> list[str]:
    """What distinguishes a call from others for the same person; who it is for is left out."""
    arguments = {k: v for k, v in call["arguments"].items() if k not in OWNERS}
    return list(dict.fromkeys(telling_values(arguments)))


def speaks_of(text: str, call: Tau2ToolCall) -> bool:
    """Whether a text is about a call: it says what its name says, or names its record.

    Otherwise it has to name two of its values: one alone may be chance.
    """
    name = record(call)
    if says_the_like(text, call) or (name is not None and mentions(text, name)):
        return True
    return names_its_values(text, call)


def proposes(text: str, call: Tau2ToolCall) -> bool:
    """Whether a text speaks of a call in one sentence, or names its record or two of its values."""
    name = record(call)
    if (name is not None and mentions(text, name)) or names_its_values(text, call):
        return True
    return any(says_the_like(each, call) for each in sentences(text))


def names_its_values(text: str, call: Tau2ToolCall) -> bool:
    """Whether at least two of a call's own values are named: one alone may be chance."""
    return sum(mentions(text, value) for value in own_values(call)) > 1


def means(text: str, call: Tau2ToolCall) -> bool:
    """Whether a text says what a call does: the name of its record alone is not enough."""
    return says_the_like(text, call) or names_its_values(text, call)


def other_ids(text: str, call: Tau2ToolCall) -> bool:
    """Whether a text names ids of the kind that a call has, and not all of the call's own.

    Dates and bare numbers do not count: they may stand for anything.
    """
    own = [v for v in own_values(call) if id_like(v) == [v] and re.search(r"[A-Za-z]", v)]
    for kind in {_shape(value) for value in own}:
        there = {word for word in id_like(text) if _shape(word) == kind}
        if there and not {value for value in own if _shape(value) == kind} <= there:
            return True
    return False


def _shape(value: str) -> str:
    """The form of an id: its letters, and how many digits."""
    return re.sub(r"\d", "0", value.lstrip("#"))


def says_the_like(text: str, call: Tau2ToolCall) -> bool:
    """Whether a text says what a call's name says, in these or in other words."""
    patterns = _topic(call)
    return bool(patterns) and all(re.search(each, text.lower()) for each in patterns)


def reports_it_done(sentence: str, call: Tau2ToolCall) -> bool:
    """Whether a sentence says that what a call's name says has been done."""
    patterns = [each.replace("return|refund", "return|remov") for each in _topic(call)]
    text = sentence.lower()
    if not patterns or not all(re.search(each, text) for each in patterns):
        return False
    verb = patterns[0].removeprefix(r"\b")
    return re.search(rf"{_DONE}(?:{verb}|{_CARRIED_OUT})", text) is not None


def record(call: Tau2ToolCall) -> str | None:
    """The record a call is about: its first argument, unless that is a person."""
    first, value = next(iter(call["arguments"].items()), (None, None))
    return value if isinstance(value, str) and first not in OWNERS else None


def _topic(call: Tau2ToolCall) -> list[str]:
    words = [word for word in call["name"].split("_") if word not in _COMMON]
    return [rf"\b(?:{said_as(word)})" for word in words]


def said_as(word: str) -> str:
    """How people say a word of a tool's name: the beginnings of the words they use."""
    return _SAID_AS.get(word, word[:5])
