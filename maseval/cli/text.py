"""Texts of models and files, made safe to print."""

import re

from rich.markup import escape

# Everything that moves the cursor, rings, hides or reorders: shown by its number instead.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def visible(text: str) -> str:
    """The text with control and direction characters spelled out; line breaks and tabs stay."""
    return _UNSEEN.sub(lambda match: f"\\u{{{ord(match[0]):X}}}", text)


def inert(text: str) -> str:
    """The text for a console that reads markup: nothing in it is taken for markup."""
    return escape(visible(text))


def shortened(text: str, length: int) -> str:
    """The text in one line of at most ``length`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def duration(seconds: float | None) -> str:
    """``34 s``, ``2:05`` or ``1:02:05``."""
    if seconds is None:
        return "?"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, minutes = divmod(whole // 60, 60)
    start = f"{hours}:{minutes:02}" if hours else f"{minutes}"
    return f"{start}:{whole % 60:02}"


def money(cost: float) -> str:
    """Dollars, with more digits for small sums."""
    return f"${cost:,.2f}" if cost >= 1 or cost == 0 else f"${cost:.4f}"


def count(number: int) -> str:
    """Tokens in three digits: ``1.2M``."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)
