"""Times as reports have them, in the nanoseconds since 1970 that a span counts in."""

from datetime import datetime

from maseval.core.shapes import Shape, number

SECOND = 1_000_000_000


def moment(text: object) -> int | None:
    """The moment that an ISO 8601 text names; without a zone it is local time, as in reports."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError):
        return None
    return int(found.timestamp()) * SECOND + found.microsecond * 1000


def lasting(seconds: object) -> int:
    """A duration; nothing for what is not one."""
    return int(max(number(seconds) or 0.0, 0.0) * SECOND)


def began_and_ended(entry: Shape) -> tuple[int, int] | None:
    """The times of a log entry: ``timestamp`` or ``start_time``, and how long it took."""
    start = moment(entry.get("timestamp"))
    if start is None and (epoch := number(entry.get("start_time"))) is not None:
        start = int(epoch * SECOND)
    return None if start is None else (start, start + lasting(entry.get("duration_seconds")))


def spread(first: int, last: int, count: int) -> list[int]:
    """``count`` moments at equal distances after ``first``, of which the last one is ``last``."""
    return [first + (last - first) * place // count for place in range(1, count + 1)]
