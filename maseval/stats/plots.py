"""Plots for a page, as data that its script draws.

Each is a list of values with their intervals: pass^k, differences, or effects of a grid.

An element is ``[name, attributes, children]``, by the names of SVG; a child is an element or a
text. The page's script draws it element by element, so that no markup gets in, in the colours that
the page has for each ``class``. No figure tells things apart by colour.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from math import floor, log10
from typing import NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.core.words import in_points, percent
from maseval.stats.comparison import Comparison
from maseval.stats.effects import Effects
from maseval.stats.intervals import Interval
from maseval.stats.summary import Estimate, Summary

Drawing = list[object]
"""An element."""

_MARK = "mark"
_WIDTH = 680
_LEFT, _WIDER_LEFT, _RIGHT, _TOP, _ROW = 190, 270, 500, 76, 26
_LETTER = 6.8
# Of more runs only pass^1 is drawn.
_FEW_RUNS = 5


@dataclass(frozen=True)
class _Scale:
    """A map from values to places along one axis."""

    values: tuple[float, float]
    places: tuple[float, float]

    def __call__(self, value: float) -> float:
        low, high = self.values
        share = (value - low) / (high - low) if high > low else 0.5
        return self.places[0] + share * (self.places[1] - self.places[0])


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
        return span.low, span.high


def pass_plot(runs: Mapping[str, Summary]) -> Drawing:
    rows, spans, label = [], [], None
    for name, run in runs.items():
        for each in run.overall.pass_hat.values():
            if each.interval is not None and (each.k == 1 or len(runs) <= _FEW_RUNS):
                words = _format_estimate(each)
                rows.append(_Row(f"{name} {each.name}", each.value or 0.0, each.interval, words))
                spans.append(each.interval)
                label = each.label
    if not rows:
        raise ConfigurationError("no run has a value of pass^k; give runs with trials")
    methods = dict.fromkeys(f"{percent(each.level, 0)} CI, {each.method}" for each in spans)
    title = label or "pass^k"
    mean = "Chance that all of k trials pass" if title.endswith("^k") else "Mean over tasks"
    words = f"{mean}. Bar: {'; '.join(methods)}."
    return _draw(title, words, rows, _Scale((0.0, 1.0), (_LEFT, _RIGHT)), percent)


def _format_estimate(estimate: Estimate) -> str:
    number, *so_far, _ = estimate.parts
    span = f"{percent(estimate.low)} to {percent(estimate.high)}"
    return f"{number} ({', '.join([*so_far, span])})"


def difference_plot(comparison: Comparison) -> Drawing:
    """Draw a row for each pass^k of each group: the difference and its interval, beside 0."""
    rows = [
        _difference(f"{e.group or 'all'} {e.name}", e.difference, e.interval, e == comparison.main)
        for e in comparison.differences
    ]
    first, second = (_shorten(name, 40) for name in comparison.names)
    title = f"Difference in {comparison.main.label or 'pass^k'}"
    return _draw_differences(title, f"{second} minus {first}", rows, _LEFT)


def effects_plot(effects: Effects) -> Drawing:
    """Draw a row for each two levels of a factor, and for each interaction that is shown."""
    rows = []
    for each in (*effects.contrasts, *effects.interactions):
        name = ", ".join(f"{second} \u2212 {first}" for first, second in each.levels)
        rows.append(_difference(name, each.difference, each.interval, each.grade == "shown"))
    return _draw_differences(
        f"Effects on {effects.measure}",
        "second level minus first, over all other factors; bold: shown",
        rows,
        _WIDER_LEFT,
    )


def _difference(name: str, value: float, span: Interval, bold: bool) -> _Row:
    return _Row(
        name,
        value,
        span,
        f"{in_points(value)} ({in_points(span.low)} to {in_points(span.high)})",
        bold,
    )


def _draw_differences(title: str, words: str, rows: Sequence[_Row], left: int) -> Drawing:
    # The same reach to both sides, so that the line at 0 stands in the middle.
    reach = max(0.05, *(abs(end) for row in rows for end in row.ends)) * 1.08
    return _draw(title, words, rows, _Scale((-reach, reach), (left, _RIGHT)), in_points)


def _draw(
    title: str,
    words: str,
    rows: Sequence[_Row],
    across: _Scale,
    number: Callable[[float, int], str],
) -> Drawing:
    top, bottom = _TOP - 6, _TOP + len(rows) * _ROW
    parts = [_text(24, 48, words, size=11)]
    parts.append(_line(across(0.0), top, across(0.0), bottom, "quiet", 1.5))
    for value in ticks(*across.values):
        x = across(value)
        parts.append(_line(x, top, x, bottom))
        parts.append(_text(x, bottom + 18, number(value, 0), anchor="middle", size=11))
    for at, row in enumerate(rows):
        parts += _draw_row(row, _TOP + at * _ROW + _ROW / 2, across)
    described = ". ".join(f"{row.name}: {row.words}" for row in rows)
    return _figure(_WIDTH, bottom + 34, title, described, parts)


def _draw_row(row: _Row, y: float, across: _Scale) -> list[Drawing]:
    low, high = (across(end) for end in row.ends)
    ends = [_line(x, y - 4, x, y + 4, _MARK, 1.5) for x in (low, high)]
    left = across.places[0] - 12
    name = _shorten(row.name, int(left / _LETTER))
    return [
        _text(left, y + 4, name, "ink", anchor="end", bold=row.bold),
        _line(low, y, high, y, _MARK, 2),
        *ends,
        _marker(across(row.value), y, f"{row.name}: {row.words}"),
        _text(_RIGHT + 12, y + 4, row.words, size=11),
    ]


def _figure(
    width: float, height: float, title: str, description: str, parts: Iterable[Drawing]
) -> Drawing:
    """Return a drawing of elements; ``description`` is for people who cannot see it."""
    ground = {"class": "ground", "width": "100%", "height": "100%", "rx": "6"}
    head = _text(24, 28, title, "ink", size=15, bold=True)
    return [
        "svg",
        {
            "class": "maseval-plot",
            "role": "img",
            "viewBox": f"0 0 {width:g} {height:g}",
            "width": f"{width:g}",
            "height": f"{height:g}",
            "font-size": "12",
        },
        [
            ["title", {}, [title]],
            ["desc", {}, [description]],
            ["rect", ground, []],
            head,
            *parts,
        ],
    ]


def _text(
    x: float,
    y: float,
    words: str,
    kind: str = "quiet",
    *,
    anchor: str = "start",
    size: float = 12,
    bold: bool = False,
) -> Drawing:
    """Return words at a place; ``anchor`` is the end of them that stands there."""
    weight = {"font-weight": "600"} if bold else {}
    return [
        "text",
        {
            "class": kind,
            "x": f"{x:.1f}",
            "y": f"{y:.1f}",
            "text-anchor": anchor,
            "font-size": f"{size:g}",
            **weight,
        },
        [words],
    ]


def _line(
    x1: float, y1: float, x2: float, y2: float, kind: str = "grid", width: float = 1
) -> Drawing:
    return [
        "line",
        {
            "class": f"{kind} line",
            "x1": f"{x1:.1f}",
            "y1": f"{y1:.1f}",
            "x2": f"{x2:.1f}",
            "y2": f"{y2:.1f}",
            "stroke-width": f"{width:g}",
        },
        [],
    ]


def _marker(x: float, y: float, words: str) -> Drawing:
    """Return the sign of a value at a place; ``words`` appear when it is pointed at."""
    sign: Drawing = ["circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "4.2"}, []]
    return ["g", {"class": _MARK}, [["title", {}, [words]], sign]]


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return about so many round values from ``low`` to ``high``."""
    if high <= low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** floor(log10(rough))
    step = next(power * each for each in (1, 2, 2.5, 5, 10) if power * each >= rough * 0.999)
    first = -floor(-low / step + 1e-9)
    values = ((first + i) * step for i in count())
    return list(takewhile(lambda value: value <= high + step * 1e-9, values))


def _shorten(words: str, length: int) -> str:
    """Cut a long text in its middle, as names often differ at their ends."""
    half = length // 2
    return words if len(words) <= length else f"{words[:half]}…{words[half + 1 - length :]}"
