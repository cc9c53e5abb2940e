"""Cost against score: what a better score costs."""

from collections.abc import Mapping

from maseval.core.exceptions import ConfigurationError
from maseval.stats.estimation import Estimate
from maseval.stats.plots import svg
from maseval.stats.plots.svg import Figure, Scale
from maseval.stats.summary import Summary

_WIDTH, _HEIGHT = 680, 408
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 640, 52, 332
_APART = 12


def cost_and_score(runs: Mapping[str, Summary], k: int = 1) -> str:
    """A point for each run whose costs are known, with the interval of its pass^k."""
    points = {name: point for name, run in runs.items() if (point := _point(run, k))}
    if not points:
        raise ConfigurationError(
            f"no run has both costs and a pass^{k}; give runs whose models have prices"
        )
    dearest = max(cost for cost, _ in points.values())
    across = Scale((0.0, dearest * 1.25 or 1.0), (_LEFT, _RIGHT))
    up = Scale((0.0, 1.0), (_BOTTOM, _TOP))
    parts = [*svg.percent_axis(up, _LEFT, _RIGHT), *_cost_axis(across)]
    # Runs that cost about the same stand side by side, or their bars would hide one another.
    wanted = [across(cost) for cost, _ in points.values()]
    places = svg.apart(wanted, _APART, _LEFT + 6, _RIGHT - 6)
    for number, (name, (cost, estimate)) in enumerate(points.items()):
        parts += _drawn(f"{name}: {_money(cost)}", places[number], estimate, number, up)
    parts += _labels(points, across, up)
    without = [name for name in runs if name not in points]
    if without:
        parts.append(svg.text(24, 396, f"Without costs: {', '.join(without)}", size=11))
    described = ". ".join(
        f"{name}: {_money(cost)} a simulation, {estimate.name} {_shown(estimate)}"
        for name, (cost, estimate) in points.items()
    )
    return str(Figure(_WIDTH, _HEIGHT, f"Cost against pass^{k}", described, parts))


def _point(run: Summary, k: int) -> tuple[float, Estimate] | None:
    cost = run.overall.mean_cost
    for each in run.overall.estimates:
        if (each.measure, each.k) == ("pass^k", k) and each.value is not None and cost is not None:
            return cost, each
    return None


def _cost_axis(across: Scale) -> list[str]:
    values = svg.ticks(*across.values)
    labels = [
        svg.text(across(value), _BOTTOM + 20, _money(value), anchor="middle") for value in values
    ]
    middle = (_LEFT + _RIGHT) / 2
    return [*labels, svg.text(middle, _BOTTOM + 38, "mean cost of a simulation", anchor="middle")]


def _drawn(name: str, x: float, estimate: Estimate, number: int, up: Scale) -> list[str]:
    kind, interval = svg.series(number), estimate.interval
    whisker = []
    if interval:
        ends = up(interval.low), up(interval.high)
        whisker = [
            svg.line(x, *(ends[0], x, ends[1]), kind, 1.5),
            *(svg.line(x - 4, end, x + 4, end, kind, 1.5) for end in ends),
        ]
    hint = f"{name}, {_shown(estimate)}"
    return [*whisker, svg.marker(x, up(estimate.value or 0.0), number, hint)]


def _labels(points: Mapping[str, tuple[float, Estimate]], across: Scale, up: Scale) -> list[str]:
    """Beside each point, on the side where there is room, without two of them on one another."""
    wanted = [up(estimate.value or 0.0) + 4 for _, estimate in points.values()]
    places = svg.apart(wanted, 16, _TOP + 4, _BOTTOM - 2)
    parts = []
    for number, ((name, (cost, _)), y) in enumerate(zip(points.items(), places, strict=True)):
        x = across(cost)
        left = x > (_LEFT + _RIGHT) / 2
        place, anchor = (x - 10, "end") if left else (x + 10, "start")
        words = svg.shortened(name, 30)
        parts.append(svg.text(place, y, words, svg.series(number), anchor=anchor, bold=True))
    return parts


def _shown(estimate: Estimate) -> str:
    interval = estimate.interval
    span = f" ({interval.low:.1%} to {interval.high:.1%})" if interval else ""
    return f"{estimate.value or 0.0:.1%}{span}"


def _money(cost: float) -> str:
    return f"${cost:.2f}" if cost >= 0.1 or not cost else f"${cost:.4f}".rstrip("0")
