"""Two runs: by how much the second differs, for each group and k, with its interval."""

from collections.abc import Sequence

from maseval.core.exceptions import ConfigurationError
from maseval.stats.comparison import Comparison, Difference
from maseval.stats.plots import svg
from maseval.stats.plots.svg import Figure, Scale

_WIDTH, _TOP, _ROW = 680, 76, 26
_LEFT, _RIGHT = 190, 520


def difference_plot(comparison: Comparison) -> str:
    """A row for each pass^k of each group: the difference and its interval, beside a line at 0."""
    rows = [each for each in comparison.differences if each.measure == "pass^k"]
    if not rows:
        raise ConfigurationError("the comparison has no pass^k to draw; give runs with trials")
    first, second = comparison.names
    across = _scale(rows)
    bottom = _TOP + len(rows) * _ROW
    parts = [
        svg.text(24, 48, f"{svg.shortened(second, 40)} minus {svg.shortened(first, 40)}", size=11),
        *_axis(across, bottom),
    ]
    for number, row in enumerate(rows):
        parts += _drawn(row, _TOP + number * _ROW + _ROW / 2, across, comparison.main == row)
    title = "Difference in pass^k"
    described = ". ".join(f"{_name(row)}: {_shown(row)} percentage points" for row in rows)
    return str(Figure(_WIDTH, bottom + 34, title, described, parts))


def _scale(rows: Sequence[Difference]) -> Scale:
    """The same reach to both sides, so that the line at 0 stands in the middle."""
    ends = [abs(end) for row in rows for end in _ends(row)]
    reach = max(0.05, *ends) * 1.08
    return Scale((-reach, reach), (_LEFT, _RIGHT))


def _ends(row: Difference) -> tuple[float, float]:
    if row.interval is None:
        return row.difference, row.difference
    return row.interval.low, row.interval.high


def _axis(across: Scale, bottom: float) -> list[str]:
    parts = [svg.line(across(0.0), _TOP - 6, across(0.0), bottom, "quiet", 1.5)]
    for value in svg.ticks(*across.values):
        x = across(value)
        parts.append(svg.line(x, _TOP - 6, x, bottom))
        parts.append(svg.text(x, bottom + 18, f"{100 * value:+.0f}", anchor="middle", size=11))
    return parts


def _drawn(row: Difference, y: float, across: Scale, main: bool) -> list[str]:
    low, high = (across(end) for end in _ends(row))
    kind = svg.series(0)
    ends = [svg.line(x, y - 4, x, y + 4, kind, 1.5) for x in (low, high)]
    whisker = [svg.line(low, y, high, y, kind, 2), *ends] if row.interval else []
    return [
        svg.text(_LEFT - 12, y + 4, svg.shortened(_name(row), 26), "ink", anchor="end", bold=main),
        *whisker,
        svg.marker(across(row.difference), y, 0, f"{_name(row)}: {_shown(row)}"),
        svg.text(_RIGHT + 12, y + 4, _shown(row), size=11),
    ]


def _name(row: Difference) -> str:
    return f"{row.group or 'all'} {row.name}"


def _shown(row: Difference) -> str:
    span = row.interval
    reach = f" ({100 * span.low:+.1f} to {100 * span.high:+.1f})" if span else ""
    return f"{100 * row.difference:+.1f}{reach}"
