"""What a call is about, and whether a text speaks of it."""

import re
from collections.abc import Iterator, Mapping

from maseval.benchmark.tau2.forms.message import Tau2ToolCall

_TOKEN = re.compile(r"[#\w][\w.@'+-]*[\w]")
_OWNERS = ("user_id", "customer_id")
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


def mentions(text: str, value: str) -> bool:
    """Whether a value stands in a text by itself, not as a part of a longer word."""
    bare = re.escape(value.lstrip("#").lower())
    return re.search(rf"(?<![\w.-]){bare}(?![\w-])", text.lower()) is not None


def own_values(call: Tau2ToolCall) -> list[str]:
    """What distinguishes a call from others for the same person; who it is for is left out."""
    arguments = {k: v for k, v in call["arguments"].items() if k not in _OWNERS}
    return list(dict.fromkeys(telling_values(arguments)))


def speaks_of(text: str, call: Tau2ToolCall) -> bool:
    """Whether a text is about a call: it says what its name says, or names its record.

    Otherwise it has to name two of its values: one alone may be chance.
    """
    record = _record(call)
    if says_the_like(text, call) or (record is not None and mentions(text, record)):
        return True
    return names_its_values(text, call)


def names_its_values(text: str, call: Tau2ToolCall) -> bool:
    """Whether at least two of a call's own values are named: one alone may be chance."""
    return sum(mentions(text, value) for value in own_values(call)) > 1


def says_the_like(text: str, call: Tau2ToolCall) -> bool:
    """Whether a text says what a call's name says, in these or in other words."""
    patterns = _topic(call)
    return bool(patterns) and all(re.search(each, text.lower()) for each in patterns)


def _record(call: Tau2ToolCall) -> str | None:
    """The record a call is about: its first argument, unless that is a person."""
    first, value = next(iter(call["arguments"].items()), (None, None))
    return value if isinstance(value, str) and first not in _OWNERS else None


def _topic(call: Tau2ToolCall) -> list[str]:
    words = [word for word in call["name"].split("_") if word not in _COMMON]
    return [rf"\b(?:{_SAID_AS.get(word, word[:5])})" for word in words]
