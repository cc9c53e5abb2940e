"""Recorded values as cells of a column's type; what does not fit is null."""

import math
from collections.abc import Callable
from datetime import UTC, datetime

from maseval.core.shapes import number, text
from maseval.core.storage.redaction import Secrets
from maseval.frames.columns import Cell, ColumnType

_LARGEST = 2**63


def cell_maker(secrets: Secrets) -> Callable[[ColumnType, object], Cell]:
    """Makes cells, in whose texts no secret is left."""
    clean = secrets.removed_from_text

    def cell(kind: ColumnType, value: object) -> Cell:
        if value is None:
            return None
        return _encodable(clean(text(value))) if kind == "text" else _OTHERS[kind](value)

    return cell


def _encodable(words: str) -> str:
    """Half of a surrogate pair, which JSON can hold and UTF-8 cannot, becomes a question mark."""
    try:
        words.encode()
    except UnicodeEncodeError:
        return words.encode(errors="replace").decode()
    return words


def _integer(value: object) -> int | None:
    found = number(value)
    if found is None or not math.isfinite(found) or not -_LARGEST <= found < _LARGEST:
        return None
    return int(found)


def _number(value: object) -> float | None:
    found = number(value)
    try:
        return None if found is None else float(found)
    except OverflowError:
        return None


def _boolean(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _time(value: object) -> datetime | None:
    """Without a time zone, as it was recorded; one with an offset is converted to UTC."""
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None


_OTHERS: dict[ColumnType, Callable[[object], Cell]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "time": _time,
}
