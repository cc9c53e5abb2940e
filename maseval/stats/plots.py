"""Plots as SVG text, drawn without a library, for a page or a file, in light and dark.

They show pass^k against k, differences, and effects of a grid.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.core.figures import in_points, percent
from maseval.stats import svg
from maseval.stats.comparison import Comparison
from maseval.stats.effects import Effects
from maseval.stats.intervals import TOO_FEW, Interval
from maseval.stats.summary import Estimate, Summary
from maseval.stats.svg import Scale, figure

_WIDTH, _HEIGHT = 680, 412
_LEFT, _TOP, _BOTTOM = 64, 52, 336
_FOOTNOTE = 398
_UP = Scale((0.0, 1.0), (_BOTTOM, _TOP))

# Names stand to the right.
_CURVES_RIGHT = 484
_CURVES_APART = 16

_NO_BAR = f"Without a bar: {TOO_FEW}."

_ROWS_LEFT, _WIDER_LEFT, _ROWS_RIGHT, _ROWS_TOP, _ROW = 190, 270, 520, 76, 26
_LETTER = 6.8


def pass_curves(runs: Mapping[str, Summary]) -> str:
    """Draw one line with its confidence band for each run, over all its tasks."""
    curves = {name: points for name, run in runs.items() if (points := _points(run))}
    if not curves:
        raise ConfigurationError("no run has a value of pass^k; give runs with trials")
    last = max(points[-1].k for points in curves.values())
    across = Scale((0.75, last + 0.25), (_LEFT, _CURVES_RIGHT))
    every = range(1, last + 1, max(1, round(last / 12)))
    parts = _axes(across, {k: str(k) for k in every}, "k")
    scales = _scales_of_runs(curves, across)
    for number, points in enumerate(curves.values()):
        parts += _band(points, number, scales[number])
    for number, (name, points) in enumerate(curves.items()):
        parts += _curve(name, points, number, scales[number])
    parts += _curve_names(curves, across)
    note = f"Chance that all of k trials pass. {_band_meaning(curves)}"
    parts.append(svg.text(24, _FOOTNOTE, note, size=11))
    description = ". ".join(
        f"{name}: {', '.join(f'{point.name} {_format_estimate(point)}' for point in points)}"
        for name, points in curves.items()
    )
    return figure(_WIDTH, _HEIGHT, "pass^k against k", description, parts)


def _points(run: Summary) -> list[Estimate]:
    return [*run.overall.pass_hat.values()]


def _scales_of_runs(curves: Mapping[str, list[Estimate]], across: Scale) -> list[Scale]:
    """Return a scale for each run; with one k, side by side, or bars would hide one another."""
    apart = 0 if any(len(points) > 1 for points in curves.values()) else _CURVES_APART
    shifts = [apart * (number - (len(curves) - 1) / 2) for number in range(len(curves))]
    left, right = across.places
    return [Scale(across.values, (left + shift, right + shift)) for shift in shifts]


def _height(point: Estimate) -> float:
    return _UP(point.value or 0.0)


def _axes(across: Scale, marks: Mapping[float, str], title: str) -> list[str]:
    """Return the percentages to the left, and these words along the bottom."""
    labels = [
        svg.text(across(at), _BOTTOM + 20, words, anchor="middle") for at, words in marks.items()
    ]
    middle = svg.text((_LEFT + _CURVES_RIGHT) / 2, _BOTTOM + 38, title, anchor="middle")
    return [*svg.percent_axis(_UP, _LEFT, _CURVES_RIGHT), *labels, middle]


def _band(points: list[Estimate], number: int, across: Scale) -> list[str]:
    known = [(across(point.k), span) for point in points if (span := _bar_of(point))]
    if len(known) == 1:
        ((x, only),) = known
        return [svg.line(x, _UP(only.low), x, _UP(only.high), svg.series(number), 2)]
    upper = [(x, _UP(interval.high)) for x, interval in known]
    lower = [(x, _UP(interval.low)) for x, interval in reversed(known)]
    return [svg.area(upper + lower, svg.series(number))] if known else []


def _curve(name: str, points: list[Estimate], number: int, across: Scale) -> list[str]:
    places = [(across(point.k), _height(point)) for point in points]
    signs = [
        svg.marker(x, y, number, f"{name}: {point.name} {_format_estimate(point)}")
        for (x, y), point in zip(places, points, strict=True)
    ]
    return [svg.polyline(places, svg.series(number), svg.DASHES[number % svg.SERIES]), *signs]


def _curve_names(curves: Mapping[str, list[Estimate]], across: Scale) -> list[str]:
    """Draw each name beside the end of its line, so that no legend has to be searched.

    Where there are too many for two lines each, the numbers are left to the marks.
    """
    ends = [points[-1] for points in curves.values()]
    low, high = _TOP + 8, _BOTTOM - 14
    has_room = len(ends) <= (high - low) / 32 + 1
    places = svg.spread_apart([_height(end) for end in ends], 32 if has_room else 15, low, high)
    x, parts = _CURVES_RIGHT + 16, []
    for number, (name, end, y) in enumerate(zip(curves, ends, places, strict=True)):
        parts += [
            svg.line(across(end.k) + 7, _height(end), x - 4, y, "grid"),
            svg.text(x, y, svg.shorten(name, 22), svg.series(number), bold=True),
        ]
        if has_room:
            parts.append(svg.text(x, y + 14, _beside(end), size=11))
    return parts


def _band_meaning(curves: Mapping[str, list[Estimate]]) -> str:
    intervals = [point.interval for points in curves.values() for point in points]
    known = [interval for interval in intervals if interval is not None]
    methods = dict.fromkeys(f"{percent(each.level, 0)} CI, {each.method}" for each in known)
    none = "" if all(each.tells for each in known) else f" {_NO_BAR}"
    return f"Band: {'; '.join(methods)}.{none}"


def _bar_of(found: Estimate) -> Interval | None:
    return found.interval if found.interval is not None and found.interval.tells else None


def _beside(estimate: Estimate) -> str:
    """Return the value with its interval, or with the words that stand for a bar."""
    few = f"{percent(estimate.value or 0.0)}, {TOO_FEW}"
    return _format_estimate(estimate) if _bar_of(estimate) else few


def _format_estimate(estimate: Estimate) -> str:
    span = f"{percent(estimate.low)} to {percent(estimate.high)}"
    return f"{percent(estimate.value or 0.0)} ({span})"


class _Row(NamedTuple):
    """A difference with its interval, in a row of a plot."""

    name: str
    value: float
    interval: Interval
    bold: bool

    @property
    def words(self) -> str:
        low, high = in_points(self.interval.low), in_points(self.interval.high)
        return f"{in_points(self.value)} ({low} to {high})"

    @property
    def ends(self) -> tuple[float, float]:
        span = self.interval
        return (span.low, span.high) if span.tells else (self.value, self.value)


def difference_plot(comparison: Comparison) -> str:
    """Draw a row for each pass^k of each group: the difference and its interval, beside 0."""
    rows = [
        _Row(f"{e.group or 'all'} {e.name}", e.difference, e.interval, e == comparison.main)
        for e in comparison.differences
    ]
    first, second = (svg.shorten(name, 40) for name in comparison.names)
    return _draw_rows("Difference in pass^k", f"{second} minus {first}", rows)


def effects_plot(effects: Effects) -> str:
    """Draw a row for each two levels of a factor, and for each interaction that is shown."""
    rows = []
    for each in (*effects.contrasts, *effects.interactions):
        name = ", ".join(f"{second} \u2212 {first}" for first, second in each.levels)
        rows.append(_Row(name, each.difference, each.interval, each.grade == "shown"))
    words = "second level minus first, over all other factors; bold: shown"
    return _draw_rows(f"Effects on {effects.measure}", words, rows, _WIDER_LEFT)


def _draw_rows(title: str, words: str, rows: Sequence[_Row], left: int = _ROWS_LEFT) -> str:
    # The same reach to both sides, so that the line at 0 stands in the middle.
    reach = max(0.05, *(abs(end) for row in rows for end in row.ends)) * 1.08
    across = Scale((-reach, reach), (left, _ROWS_RIGHT))
    bottom = _ROWS_TOP + len(rows) * _ROW
    parts = [svg.text(24, 48, words, size=11), *_zero_axis(across, bottom)]
    for number, row in enumerate(rows):
        parts += _draw_row(row, _ROWS_TOP + number * _ROW + _ROW / 2, across)
    described = [f"{row.name}: {row.words} percentage points" for row in rows]
    return figure(_WIDTH, bottom + 34, title, ". ".join(described), parts)


def _zero_axis(across: Scale, bottom: float) -> list[str]:
    top = _ROWS_TOP - 6
    parts = [svg.line(across(0.0), top, across(0.0), bottom, "quiet", 1.5)]
    for value in svg.ticks(*across.values):
        x = across(value)
        parts.append(svg.line(x, top, x, bottom))
        parts.append(svg.text(x, bottom + 18, in_points(value, 0), anchor="middle", size=11))
    return parts


def _draw_row(row: _Row, y: float, across: Scale) -> list[str]:
    low, high = (across(end) for end in row.ends)
    kind, tells = svg.series(0), row.interval.tells
    ends = [svg.line(x, y - 4, x, y + 4, kind, 1.5) for x in (low, high)]
    whisker = [svg.line(low, y, high, y, kind, 2), *ends] if tells else []
    beside = row.words if tells else f"{in_points(row.value)}, {TOO_FEW}"
    left = across.places[0] - 12
    name = svg.shorten(row.name, int(left / _LETTER))
    return [
        svg.text(left, y + 4, name, "ink", anchor="end", bold=row.bold),
        *whisker,
        svg.marker(across(row.value), y, 0, f"{row.name}: {row.words}"),
        svg.text(_ROWS_RIGHT + 12, y + 4, beside, size=11),
    ]
