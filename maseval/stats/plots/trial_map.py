"""Every trial of every task as a cell: which tasks always pass, sometimes, or never."""

from collections.abc import Iterable, Sequence
from html import escape

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome, TaskKey
from maseval.stats.plots import svg
from maseval.stats.plots.svg import Figure

_WIDTH, _LEFT, _TOP = 680, 24, 52
_CELL, _GAP = 9.0, 2.0
_STEP = _CELL + _GAP
_ACROSS = int((_WIDTH - 2 * _LEFT) // _STEP)


def trial_map(outcomes: Iterable[Outcome], title: str = "Trials of each task") -> str:
    """A column for each task, a cell for each trial; tasks that pass most often stand first."""
    tasks: dict[TaskKey, list[Outcome]] = {}
    for outcome in outcomes:
        tasks.setdefault(outcome.key, []).append(outcome)
    if not tasks:
        raise ConfigurationError("no outcome to draw; give at least one")
    parts, y = _legend(), _TOP + 24.0
    described = []
    for group in dict.fromkeys(key.group for key in tasks):
        mine = [trials for key, trials in tasks.items() if key.group == group]
        drawn, y = _group(group, sorted(mine, key=_order), y)
        parts += drawn
        described.append(_tally(group, mine))
    return str(Figure(_WIDTH, y + 4, title, ". ".join(described), parts))


def _order(trials: Sequence[Outcome]) -> float:
    return -sum(bool(trial.passed) for trial in trials) / len(trials)


def _group(group: str, tasks: Sequence[Sequence[Outcome]], y: float) -> tuple[list[str], float]:
    parts = [svg.text(_LEFT, y + 10, _tally(group, tasks), "ink", size=12)]
    y += 20
    for start in range(0, len(tasks), _ACROSS):
        band = tasks[start : start + _ACROSS]
        parts += [_column(trials, _LEFT + i * _STEP, y) for i, trials in enumerate(band)]
        y += max(len(trials) for trials in band) * _STEP + 9
    return parts, y + 8


def _column(trials: Sequence[Outcome], x: float, y: float) -> str:
    ordered = sorted(trials, key=lambda trial: trial.trial)
    states = "".join(_sign(trial.passed) for trial in ordered)
    cells = "".join(
        _cell(x, y + row * _STEP, trial.passed, _name(trial)) for row, trial in enumerate(ordered)
    )
    return f"<g>{svg.hinted(f'{ordered[0].key}: {states}')}{cells}</g>"


def _sign(passed: bool | None) -> str:
    return "·" if passed is None else "✓" if passed else "✗"


def _name(trial: Outcome) -> str:
    """Which simulation a cell is, for pages that lead to it."""
    name = "/".join(filter(None, (trial.group, trial.task, str(trial.trial))))
    return f' data-simulation="{escape(name)}"'


def _cell(x: float, y: float, passed: bool | None, name: str = "") -> str:
    """Full, hollow or a dot: distinguishable without colour."""
    if passed:
        place = f'x="{x:g}" y="{y:g}" width="{_CELL:g}" height="{_CELL:g}"'
        return f'<rect class="good"{name} {place} rx="1"/>'
    if passed is None:
        return f'<circle class="quiet" cx="{x + _CELL / 2:g}" cy="{y + _CELL / 2:g}" r="1.5"/>'
    inner = _CELL - 1.4
    return (
        f'<rect class="bad line"{name} x="{x + 0.7:g}" y="{y + 0.7:g}" width="{inner:g}" '
        f'height="{inner:g}" rx="1" stroke-width="1.4"/>'
    )


def _legend() -> list[str]:
    parts, x = [], float(_LEFT)
    for passed, words in ((True, "passed"), (False, "did not pass"), (None, "missing")):
        parts += [_cell(x, _TOP - 6, passed), svg.text(x + 14, _TOP + 2.5, words, size=11)]
        x += 14 + 7 * len(words) + 12
    parts.append(svg.text(_WIDTH - _LEFT, _TOP + 2.5, "one column per task", anchor="end", size=11))
    return parts


def _tally(group: str, tasks: Sequence[Sequence[Outcome]]) -> str:
    counted = [[t.passed for t in trials if t.passed is not None] for trials in tasks]
    always = sum(bool(each) and all(each) for each in counted)
    never = sum(bool(each) and not any(each) for each in counted)
    none = sum(not each for each in counted)
    rest = f", {none} not run" if none else ""
    mixed = len(tasks) - always - never - none
    name = f"{group}: " if group else ""
    return f"{name}{len(tasks)} tasks, {always} always pass, {mixed} sometimes, {never} never{rest}"
