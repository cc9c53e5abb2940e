"""Values as people read them: figures in one form for each kind, and texts that are safe to show.

Halves are rounded up, as everybody learns it: 31.25 is 31.3. Python rounds them to the even digit
and JavaScript up, so that a page and a terminal would disagree; ``text.js`` has the same rule. A
text of a model, a server or a file may hold characters that move the cursor or reorder a line.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from maseval.core.storage import strict_json

SMALLEST_P = 0.001
_HOLE = re.compile(r"\{\{(\w+)\}\}")


def round_half_up(number: float, digits: int) -> float:
    """Round half up, away from zero, as the number reads in decimals: 28.75 is 28.8."""
    scale = 10**digits
    # Twelve digits bring back the half that a product of binary numbers may have lost.
    size = float(f"{abs(number) * scale:.12g}")
    return math.copysign(math.floor(size + 0.5) / scale, number)


def in_percent(share: float, digits: int = 1) -> str:
    """Format a share without its sign: ``31.3``."""
    return f"{round_half_up(100 * share, digits) + 0.0:.{digits}f}"


def percent(share: float, digits: int = 1) -> str:
    """Format a share: ``31.3%``."""
    return f"{in_percent(share, digits)}%"


def between(low: float, high: float, digits: int = 1) -> str:
    """Format the ends of an interval of shares: ``[57.9, 64.8]``."""
    return f"[{in_percent(low, digits)}, {in_percent(high, digits)}]"


def score_parts(score: Mapping[str, Any]) -> list[str]:
    """Return a score as every command shows it: the number, and what stands beside it.

    Where verdicts are missing, what there is may have been chosen: the number is then the range of
    what it can still become.
    """
    value, span = percent(score["value"]), between(score["low"], score["high"])
    if score.get("worst") is None or score.get("best") is None:
        return [value, span]
    return [f"{in_percent(score['worst'])} to {percent(score['best'])}", f"so far {value}", span]


def in_points(difference: float, digits: int = 1) -> str:
    """Format a difference of two shares in percentage points, with its sign: ``+9.1``."""
    return f"{round_half_up(100 * difference, digits) + 0.0:+.{digits}f}"


def p_value(value: float) -> str:
    """Format with three digits; a smaller one is never zero: ``0.031``, ``< 0.001``."""
    return f"< {SMALLEST_P}" if value < SMALLEST_P else f"{round_half_up(value, 3):.3f}"


def p_is(value: float) -> str:
    """Format as a statement: ``p = 0.031``, ``p < 0.001``."""
    shown = p_value(value)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def money(cost: float | None) -> str:
    """Format dollars, small sums with more digits; a cost that is not known is never zero."""
    if cost is None:
        return "not known"
    if 0 < cost < 0.00005:
        return "< $0.0001"
    if 0 < cost < 1:
        return f"${round_half_up(cost, 4):.4f}".removesuffix("0").removesuffix("0")
    return f"${round_half_up(cost, 2):,.2f}"


def duration(seconds: float | None) -> str:
    """Format as ``34 s``, ``2:05`` or ``1:02:05``."""
    if seconds is None:
        return "?"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, minutes = divmod(whole // 60, 60)
    start = f"{hours}:{minutes:02}" if hours else f"{minutes}"
    return f"{start}:{whole % 60:02}"


# An encoder is made once. What contains itself is noticed by its depth.
_encoded = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False).encode


def text(value: object) -> str:
    """Return a string as it is, anything else as JSON in which every letter stands for itself."""
    if isinstance(value, str):
        return value
    if type(value) is int:  # as JSON has it, and most of what is not a text
        return str(value)
    try:
        return _encoded(value)
    except (TypeError, ValueError, RecursionError):  # something that JSON cannot hold
        plain = strict_json.plain(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def count_of(number: int, noun: str) -> str:
    """Return a number of things in words: ``1 task``, ``2 tasks``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


_COUNTS = {2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six"}


def words_on_code(versions: Iterable[str | None]) -> str | None:
    """Say how many simulations ran under each state of the code; None if all under one."""
    found = Counter(versions)
    if len(found) < 2:
        return None
    *most, last = (number for _, number in found.most_common())
    listed = f"{', '.join(map(str, most))} and {count_of(last, 'simulation')}"
    return f"{_COUNTS.get(len(found), len(found))} versions of the code: {listed}."


def text_or_none(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else text(value)


# Everything that moves the cursor, rings, hides or reorders: shown by its number instead.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_EXCERPT = 200


def visible(text: str) -> str:
    """Spell out control and direction characters of a text; line breaks and tabs stay."""
    return _UNSEEN.sub(lambda match: f"\\u{{{ord(match[0]):X}}}", text)


def excerpt(text: object, length: int = _EXCERPT) -> str:
    """Return the first characters of what was received, in one line that is safe to show.

    Bytes are read as far as they are text.
    """
    if isinstance(text, bytes | bytearray):
        text = bytes(text[: 4 * length]).decode(errors="replace")
    # Cut before anything else: it may be megabytes.
    start = str(text)[: 4 * length]
    line = visible(" ".join(start.split()))
    return line if len(line) <= length else f"{line[:length]} …"


def cut(text: str, length: int) -> str:
    """Return a text, with an ellipsis in place of what is too long."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def shorten_line(text: str, length: int) -> str:
    """Return a text as one line of at most ``length`` characters."""
    return cut(" ".join(text.split()), length)


def first_few(things: Iterable[object], most: int) -> str:
    """Return the first things in words, and how many more there are."""
    names = [*map(str, things)]
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def value_or_type(thing: object) -> str:
    """Return a plain value as it is, and the type of anything else.

    What a name leads to may hold anything, such as all environment variables.
    """
    kind = type(thing)
    if thing is None or kind in (bool, int, float, str):
        return excerpt(repr(thing))
    return f"an object of the type {kind.__qualname__}"


def as_file_name(text: str) -> str:
    """Return a name without what a file system or a shell could take for something else."""
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in text)
    return kept.strip("-")[:60] or "model"


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """Return the template with its ``{{names}}`` replaced in one pass: values are not expanded."""
    return _HOLE.sub(lambda hole: values.get(hole[1], hole[0]), template)
