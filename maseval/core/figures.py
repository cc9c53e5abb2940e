"""Figures as people read them: one form for each kind of number, wherever it is shown.

Halves are rounded up, as everybody learns it: 31.25 is 31.3. Python rounds them to the even digit
and JavaScript up, so that a page and a terminal would disagree; ``text.js`` has the same rule.
"""

import math

SMALLEST_P = 0.001


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
