"""Values from outside in words: as text whatever they are, and safe to show whatever they contain.

A text of a model, a server or a file may hold characters that move the cursor or reorder a line.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable

from maseval.core.storage import strict_json

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


def as_file_name(text: str) -> str:
    """Return a name without what a file system or a shell could take for something else."""
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in text)
    return kept.strip("-")[:60] or "model"
