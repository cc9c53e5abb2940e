"""pass^k against k: how reliable an agent is, with a confidence band."""

from collections.abc import Mapping

from maseval.core.exceptions import ConfigurationError
from maseval.stats.estimation import Estimate
from maseval.stats.pass_k import Measure
from maseval.stats.plots import svg
from maseval.stats.plots.svg import Figure, Scale
from maseval.stats.summary import Summary

_WIDTH, _HEIGHT = 680, 412
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 484, 52, 336
_APART = 16


def pass_curves(runs: Mapping[str, Summary], measure: Measure = "pass^k") -> str:
    """One line with its band for each run, over all its tasks."""
    curves = {name: _points(summary, measure) for name, summary in runs.items()}
    curves = {name: points for name, points in curves.items() if points}
    if not curves:
        raise ConfigurationError(f"no run has a value of {measure}; give runs with trials")
    last = max(points[-1].k for points in curves.values())
    across = Scale((0.75, last + 0.25), (_LEFT, _RIGHT))
    up = Scale((0.0, 1.0), (_BOTTOM, _TOP))
    parts = [*svg.percent_axis(up, _LEFT, _RIGHT), *_k_axis(across, last)]
    beside = _beside(curves, across)
    for number, points in enumerate(curves.values()):
        parts += _band(points, number, beside[number], up)
    for number, (name, points) in enumerate(curves.items()):
        parts += _curve(name, points, number, beside[number], up)
    parts += _names(curves, up, across)
    title = f"{measure} against k"
    what = "all of k trials pass" if measure == "pass^k" else "at least one of k trials passes"
    parts.append(svg.text(24, 398, f"Chance that {what}. {_band_meaning(curves)}", size=11))
    return str(Figure(_WIDTH, _HEIGHT, title, _described(curves), parts))


def _points(summary: Summary, measure: Measure) -> list[Estimate]:
    return [
        each
        for each in summary.overall.estimates
        if each.measure == measure and each.value is not None
    ]


def _beside(curves: Mapping[str, list[Estimate]], across: Scale) -> list[Scale]:
    """Where each run is drawn: with one k, side by side, or the bars would hide one another."""
    if any(len(points) > 1 for points in curves.values()):
        return [across] * len(curves)
    left, right = across.places
    shifts = [_APART * (number - (len(curves) - 1) / 2) for number in range(len(curves))]
    return [Scale(across.values, (left + shift, right + shift)) for shift in shifts]


def _value(point: Estimate) -> float:
    return point.value or 0.0


def _k_axis(across: Scale, last: int) -> list[str]:
    step = max(1, round(last / 12))
    labels = [
        svg.text(across(k), _BOTTOM + 20, str(k), anchor="middle") for k in range(1, last + 1, step)
    ]
    return [*labels, svg.text((_LEFT + _RIGHT) / 2, _BOTTOM + 38, "k", anchor="middle")]


def _band(points: list[Estimate], number: int, across: Scale, up: Scale) -> list[str]:
    known = [(point.k, point.interval) for point in points if point.interval is not None]
    if len(known) == 1:
        ((k, only),) = known
        return [svg.line(across(k), up(only.low), across(k), up(only.high), svg.series(number), 2)]
    upper = [(across(k), up(interval.high)) for k, interval in known]
    lower = [(across(k), up(interval.low)) for k, interval in reversed(known)]
    return [svg.area(upper + lower, svg.series(number))] if known else []


def _curve(name: str, points: list[Estimate], number: int, across: Scale, up: Scale) -> list[str]:
    places = [(across(point.k), up(_value(point))) for point in points]
    signs = [
        svg.marker(x, y, number, f"{name}: {point.name} {_shown(point)}")
        for (x, y), point in zip(places, points, strict=True)
    ]
    return [svg.polyline(places, svg.series(number), svg.DASHES[number % svg.SERIES]), *signs]


def _names(curves: Mapping[str, list[Estimate]], up: Scale, across: Scale) -> list[str]:
    """Each name beside the end of its line, so that no legend has to be searched."""
    wanted = [up(_value(points[-1])) for points in curves.values()]
    parts = []
    places = svg.apart(wanted, 32, _TOP + 8, _BOTTOM - 14)
    for number, ((name, points), y) in enumerate(zip(curves.items(), places, strict=True)):
        end = across(points[-1].k), up(_value(points[-1]))
        parts.append(svg.line(end[0] + 7, end[1], _RIGHT + 12, y, "grid"))
        parts.append(
            svg.text(_RIGHT + 16, y, svg.shortened(name, 22), svg.series(number), bold=True)
        )
        parts.append(svg.text(_RIGHT + 16, y + 14, _shown(points[-1]), size=11))
    return parts


def _shown(point: Estimate) -> str:
    interval = point.interval
    span = f" ({interval.low:.1%} to {interval.high:.1%})" if interval else ""
    return f"{_value(point):.1%}{span}"


def _band_meaning(curves: Mapping[str, list[Estimate]]) -> str:
    intervals = [point.interval for points in curves.values() for point in points]
    known = next((interval for interval in intervals if interval is not None), None)
    return f"Band: {known.level:.0%} CI, clustered by task." if known else "One task has no CI."


def _described(curves: Mapping[str, list[Estimate]]) -> str:
    return ". ".join(
        f"{name}: {', '.join(f'{point.name} {_shown(point)}' for point in points)}"
        for name, points in curves.items()
    )
