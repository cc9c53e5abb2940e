"""Texts of models, servers and files, made safe to show."""

import re

# Everything that moves the cursor, rings, hides or reorders: shown by its number instead.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_EXCERPT = 200


def visible(text: str) -> str:
    """The text with control and direction characters spelled out; line breaks and tabs stay."""
    return _UNSEEN.sub(lambda match: f"\\u{{{ord(match[0]):X}}}", text)


def excerpt(text: object, length: int = _EXCERPT) -> str:
    """The first characters of what was received, in one line that does nothing where it is shown.

    Bytes are read as far as they are text.
    """
    if isinstance(text, bytes | bytearray):
        text = bytes(text[: 4 * length]).decode(errors="replace")
    # Cut before anything else: it may be megabytes.
    start = str(text)[: 4 * length]
    line = visible(" ".join(start.split()))
    return line if len(line) <= length else f"{line[:length]} …"
