"""Plots as SVG text, drawn without a library, for a page or a file, in light and dark.

Of scores: pass^k against k, cost against score, differences, and effects of a grid. Of single
trials: a map of all trials of all tasks.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.core.figures import in_points, money, percent
from maseval.core.outcome import Outcome, TaskKey
from maseval.core.words import count_of
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
_CURVES_APART, _COSTS_APART = 16, 12

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
    known = [each for each in run.overall.estimates if each.value is not None]
    return [each for each in known if each.measure == "pass^k"]


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


def cost_and_score(runs: Mapping[str, Summary]) -> str:
    """Draw a point for each run whose costs are known, with the interval of its pass^1."""
    points = {name: point for name, run in runs.items() if (point := _cost_point(run))}
    if not points:
        raise ConfigurationError(
            "no run has both costs and a pass^1; give runs whose models have prices"
        )
    dearest = max(cost for cost, _ in points.values())
    across = Scale((0.0, dearest * 1.25 or 1.0), (_LEFT, _CURVES_RIGHT))
    ticks = {each: money(each) for each in svg.ticks(*across.values)}
    parts = _axes(across, ticks, "mean cost of a simulation")
    # Runs that cost about the same stand side by side, or their bars would hide one another.
    wanted = [across(cost) for cost, _ in points.values()]
    places = svg.spread_apart(wanted, _COSTS_APART, _LEFT + 6, _CURVES_RIGHT - 6)
    for number, (name, (cost, estimate)) in enumerate(points.items()):
        parts += _score_bar(f"{name}: {money(cost)}", places[number], estimate, number)
    parts += _cost_numbers(points, places)
    without = [name for name in runs if name not in points]
    notes = [f"Without costs: {', '.join(without)}."] if without else []
    notes += [] if all(map(_bar_of, (found for _, found in points.values()))) else [_NO_BAR]
    parts.append(svg.text(24, _FOOTNOTE, " ".join(notes), size=11))
    description = ". ".join(
        f"{name}: {money(cost)} a simulation, {estimate.name} {_format_estimate(estimate)}"
        for name, (cost, estimate) in points.items()
    )
    return figure(_WIDTH, _HEIGHT, "Cost against pass^1", description, parts)


def _cost_point(run: Summary) -> tuple[float, Estimate] | None:
    cost = run.overall.mean_cost
    points = [each for each in _points(run) if each.k == 1]
    return (cost, points[0]) if points and cost is not None else None


def _score_bar(name: str, x: float, estimate: Estimate, number: int) -> list[str]:
    kind, parts = svg.series(number), []
    if interval := _bar_of(estimate):
        ends = [_UP(interval.low), _UP(interval.high)]
        parts.append(svg.line(x, ends[0], x, ends[1], kind, 1.5))
        parts += [svg.line(x - 4, end, x + 4, end, kind, 1.5) for end in ends]
    hint = f"{name}, {_format_estimate(estimate)}"
    return [*parts, svg.marker(x, _height(estimate), number, hint)]


def _cost_numbers(
    points: Mapping[str, tuple[float, Estimate]], places: Sequence[float]
) -> list[str]:
    """Draw a number above each point, and the names that belong to them in a list beside."""
    rows = svg.spread_apart([_TOP + 8] * len(points), 16, _TOP + 8, _BOTTOM)
    parts = []
    for number, ((name, (_, found)), x, y) in enumerate(
        zip(points.items(), places, rows, strict=True)
    ):
        kind, top = svg.series(number), _UP(found.high if _bar_of(found) else found.value or 0) - 6
        parts.append(svg.text(x, top, str(number + 1), kind, anchor="middle", size=9, bold=True))
        words = svg.shorten(f"{number + 1} {name}", 22)
        parts.append(svg.text(_CURVES_RIGHT + 16, y, words, kind, bold=True))
    return parts


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
    shown = [each for each in comparison.differences if each.measure == "pass^k"]
    names = [f"{each.group or 'all'} {each.name}" for each in shown]
    rows = [
        _Row(name, each.difference, each.interval, each == comparison.main)
        for name, each in zip(names, shown, strict=True)
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


_MAP_LEFT, _MAP_TOP = 24, 52
_CELL, _GAP = 9.0, 2.0
_STEP = _CELL + _GAP
_ACROSS = int((_WIDTH - 2 * _MAP_LEFT) // _STEP)


def trial_map(outcomes: Iterable[Outcome], title: str = "Trials of each task") -> str:
    """Draw a column for each task, a cell for each trial; tasks that pass most often come first."""
    tasks: dict[TaskKey, list[Outcome]] = {}
    for outcome in outcomes:
        tasks.setdefault(outcome.key, []).append(outcome)
    if not tasks:
        raise ConfigurationError("no outcome to draw; give at least one")
    parts, y = _legend(), _MAP_TOP + 24.0
    tallies = []
    for group in dict.fromkeys(key.domain for key in tasks):
        mine = [trials for key, trials in tasks.items() if key.domain == group]
        mine.sort(key=lambda trials: -sum(bool(each.passed) for each in trials) / len(trials))
        tallies.append(_tally(group, mine))
        parts.append(svg.text(_MAP_LEFT, y + 10, tallies[-1], "ink", size=12))
        y += 20
        for start in range(0, len(mine), _ACROSS):
            band = mine[start : start + _ACROSS]
            parts += [_column(trials, _MAP_LEFT + i * _STEP, y) for i, trials in enumerate(band)]
            y += max(len(trials) for trials in band) * _STEP + 9
        y += 8
    return figure(_WIDTH, y + 4, title, ". ".join(tallies), parts)


_SIGNS = {None: "·", True: "✓", False: "✗"}


def _column(trials: Sequence[Outcome], x: float, y: float) -> str:
    ordered = sorted(trials, key=lambda trial: trial.trial)
    states, cells = "".join(_SIGNS[trial.passed] for trial in ordered), ""
    for row, trial in enumerate(ordered):
        # For pages that link a cell to its simulation.
        name = "/".join(filter(None, (trial.domain, trial.task_id, str(trial.trial))))
        attribute = f' data-simulation="{escape(name)}"'
        cells += _cell(x, y + row * _STEP, trial.passed, attribute)
    return f"<g>{svg.hint(f'{ordered[0].key}: {states}')}{cells}</g>"


def _cell(x: float, y: float, passed: bool | None, attribute: str = "") -> str:
    # Full, hollow or a dot: distinguishable without colour.
    if passed:
        place = f'x="{x:g}" y="{y:g}" width="{_CELL:g}" height="{_CELL:g}"'
        return f'<rect class="good"{attribute} {place} rx="1"/>'
    if passed is None:
        return f'<circle class="quiet" cx="{x + _CELL / 2:g}" cy="{y + _CELL / 2:g}" r="1.5"/>'
    inner = _CELL - 1.4
    return (
        f'<rect class="bad line"{attribute} x="{x + 0.7:g}" y="{y + 0.7:g}" width="{inner:g}" '
        f'height="{inner:g}" rx="1" stroke-width="1.4"/>'
    )


def _legend() -> list[str]:
    parts, x, y = [], float(_MAP_LEFT), _MAP_TOP + 2.5
    for passed, words in ((True, "passed"), (False, "did not pass"), (None, "no verdict")):
        parts += [_cell(x, _MAP_TOP - 6, passed), svg.text(x + 14, y, words, size=11)]
        x += 14 + 7 * len(words) + 12
    parts.append(svg.text(_WIDTH - _MAP_LEFT, y, "one column per task", anchor="end", size=11))
    return parts


def _tally(group: str, tasks: Sequence[Sequence[Outcome]]) -> str:
    counted = [[t.passed for t in trials if t.passed is not None] for trials in tasks]
    always = sum(bool(each) and all(each) for each in counted)
    never = sum(bool(each) and not any(each) for each in counted)
    none = sum(not each for each in counted)
    rest = f", {none} missing" if none else ""
    mixed = len(tasks) - always - never - none
    name = f"{group}: " if group else ""
    return (
        f"{name}{count_of(len(tasks), 'task')}, {always} always pass, {mixed} sometimes, "
        f"{never} never{rest}"
    )
