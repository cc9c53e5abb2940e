"""Plots as SVG text, drawn without a library, for a page or a file, in light and dark.

Each is a list of values with their intervals: pass^k, differences, or effects of a grid.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.core.words import in_points, percent
from maseval.stats import svg
from maseval.stats.comparison import Comparison
from maseval.stats.effects import Effects
from maseval.stats.intervals import TOO_FEW, Interval
from maseval.stats.summary import Estimate, Summary
from maseval.stats.svg import Scale, figure

_WIDTH = 680
_LEFT, _WIDER_LEFT, _RIGHT, _TOP, _ROW = 190, 270, 500, 76, 26
_LETTER = 6.8
# Of more runs only pass^1 is drawn.
_FEW_RUNS = 5


class _Row(NamedTuple):
    """A value with its interval, in a row of a plot; ``words`` say both."""

    name: str
    value: float
    interval: Interval
    words: str
    bold: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        span = self.interval
        return (span.low, span.high) if span.tells else (self.value, self.value)


def pass_plot(runs: Mapping[str, Summary]) -> str:
    """Draw a row for each pass^k of each run, over all its tasks."""
    rows, spans = [], []
    for name, run in runs.items():
        for each in run.overall.pass_hat.values():
            if each.interval is not None and (each.k == 1 or len(runs) <= _FEW_RUNS):
                words = _format_estimate(each)
                rows.append(_Row(f"{name} {each.name}", each.value or 0.0, each.interval, words))
                spans.append(each.interval)
    if not rows:
        raise ConfigurationError("no run has a value of pass^k; give runs with trials")
    methods = dict.fromkeys(f"{percent(each.level, 0)} CI, {each.method}" for each in spans)
    words = f"Chance that all of k trials pass. Bar: {'; '.join(methods)}."
    return _draw("pass^k", words, rows, Scale((0.0, 1.0), (_LEFT, _RIGHT)), percent)


def _format_estimate(estimate: Estimate) -> str:
    span = f"{percent(estimate.low)} to {percent(estimate.high)}"
    return f"{percent(estimate.value or 0.0)} ({span})"


def difference_plot(comparison: Comparison) -> str:
    """Draw a row for each pass^k of each group: the difference and its interval, beside 0."""
    rows = [
        _difference(f"{e.group or 'all'} {e.name}", e.difference, e.interval, e == comparison.main)
        for e in comparison.differences
    ]
    first, second = (svg.shorten(name, 40) for name in comparison.names)
    return _draw_differences("Difference in pass^k", f"{second} minus {first}", rows, _LEFT)


def effects_plot(effects: Effects) -> str:
    """Draw a row for each two levels of a factor, and for each interaction that is shown."""
    rows = []
    for each in (*effects.contrasts, *effects.interactions):
        name = ", ".join(f"{second} \u2212 {first}" for first, second in each.levels)
        rows.append(_difference(name, each.difference, each.interval, each.grade == "shown"))
    words = "second level minus first, over all other factors; bold: shown"
    return _draw_differences(f"Effects on {effects.measure}", words, rows, _WIDER_LEFT)


def _difference(name: str, value: float, span: Interval, bold: bool) -> _Row:
    words = f"{in_points(value)} ({in_points(span.low)} to {in_points(span.high)})"
    return _Row(name, value, span, words, bold)


def _draw_differences(title: str, words: str, rows: Sequence[_Row], left: int) -> str:
    # The same reach to both sides, so that the line at 0 stands in the middle.
    reach = max(0.05, *(abs(end) for row in rows for end in row.ends)) * 1.08
    return _draw(title, words, rows, Scale((-reach, reach), (left, _RIGHT)), in_points)


def _draw(
    title: str,
    words: str,
    rows: Sequence[_Row],
    across: Scale,
    number: Callable[[float, int], str],
) -> str:
    top, bottom = _TOP - 6, _TOP + len(rows) * _ROW
    parts = [svg.text(24, 48, words, size=11)]
    parts.append(svg.line(across(0.0), top, across(0.0), bottom, "quiet", 1.5))
    for value in svg.ticks(*across.values):
        x = across(value)
        parts.append(svg.line(x, top, x, bottom))
        parts.append(svg.text(x, bottom + 18, number(value, 0), anchor="middle", size=11))
    for at, row in enumerate(rows):
        parts += _draw_row(row, _TOP + at * _ROW + _ROW / 2, across, number)
    described = ". ".join(f"{row.name}: {row.words}" for row in rows)
    return figure(_WIDTH, bottom + 34, title, described, parts)


def _draw_row(row: _Row, y: float, across: Scale, number: Callable[[float, int], str]) -> list[str]:
    low, high = (across(end) for end in row.ends)
    tells = row.interval.tells
    ends = [svg.line(x, y - 4, x, y + 4, svg.MARK, 1.5) for x in (low, high)]
    whisker = [svg.line(low, y, high, y, svg.MARK, 2), *ends] if tells else []
    beside = row.words if tells else f"{number(row.value, 1)}, {TOO_FEW}"
    left = across.places[0] - 12
    name = svg.shorten(row.name, int(left / _LETTER))
    return [
        svg.text(left, y + 4, name, "ink", anchor="end", bold=row.bold),
        *whisker,
        svg.marker(across(row.value), y, f"{row.name}: {row.words}"),
        svg.text(_RIGHT + 12, y + 4, beside, size=11),
    ]
