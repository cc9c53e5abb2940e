"""Plots of single trials: a map of all trials of all tasks, and failures counted by label."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from maseval.core.exceptions import ConfigurationError
from maseval.core.figures import percent
from maseval.core.outcome import Outcome, TaskKey
from maseval.core.words import count_of
from maseval.stats.plots import svg
from maseval.stats.plots.svg import Figure, Scale

_WIDTH = 680

_MAP_LEFT, _MAP_TOP = 24, 52
_CELL, _GAP = 9.0, 2.0
_STEP = _CELL + _GAP
_ACROSS = int((_WIDTH - 2 * _MAP_LEFT) // _STEP)

_BARS_LEFT, _BARS_RIGHT, _BARS_TOP, _ROW = 280, 590, 48, 26


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
    return str(Figure(_WIDTH, y + 4, title, ". ".join(tallies), parts))


def _column(trials: Sequence[Outcome], x: float, y: float) -> str:
    ordered = sorted(trials, key=lambda trial: trial.trial)
    signs = {None: "·", True: "✓", False: "✗"}
    states = "".join(signs[trial.passed] for trial in ordered)
    cells = "".join(
        _cell(x, y + row * _STEP, trial.passed, _simulation_attribute(trial))
        for row, trial in enumerate(ordered)
    )
    return f"<g>{svg.hint(f'{ordered[0].key}: {states}')}{cells}</g>"


def _simulation_attribute(trial: Outcome) -> str:
    """Return an attribute that names the simulation, for pages that link a cell to it."""
    name = "/".join(filter(None, (trial.domain, trial.task_id, str(trial.trial))))
    return f' data-simulation="{escape(name)}"'


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


def label_bars(counts: Mapping[str, int], title: str = "Failed simulations by label") -> str:
    """Draw a bar for each label that occurs, the most frequent first, with its number and share.

    A label such as ``agent: forbidden write`` has the colour of what stands before the colon.
    """
    occurring = {label: count for label, count in counts.items() if count}
    if any(count < 0 for count in occurring.values()):
        raise ConfigurationError(f"counts of labels are 0 or more, not {dict(counts)}")
    total = sum(occurring.values())
    if not total:
        words = svg.text(24, _BARS_TOP + 16, "No simulation failed.", "ink")
        return str(Figure(_WIDTH, _BARS_TOP + 36, title, "No simulation failed.", [words]))
    ordered = sorted(occurring.items(), key=lambda item: -item[1])
    kinds = list(dict.fromkeys(_label_kind(label) for label, _ in ordered))
    across = Scale((0, ordered[0][1]), (_BARS_LEFT, _BARS_RIGHT))
    parts = []
    for row, (label, count) in enumerate(ordered):
        series = svg.series(kinds.index(_label_kind(label)))
        parts += _bar(label, count, total, _BARS_TOP + row * _ROW, across, series)
    description = ", ".join(f"{label}: {count}" for label, count in ordered)
    height = _BARS_TOP + len(ordered) * _ROW + 14
    return str(Figure(_WIDTH, height, f"{title} ({total})", description, parts))


def _label_kind(label: str) -> str:
    return label.partition(":")[0].strip()


def _bar(label: str, count: int, total: int, y: float, across: Scale, series: str) -> list[str]:
    end = across(count)
    hint = svg.hint(f"{label}: {count} of {total}")
    return [
        svg.text(_BARS_LEFT - 10, y + 13.5, svg.shorten(label, 40), "ink", anchor="end"),
        f'<rect class="{series}" data-label="{escape(label)}" x="{_BARS_LEFT}" y="{y:g}" '
        f'width="{end - _BARS_LEFT:.1f}" height="{_ROW - 8}" rx="2">{hint}</rect>',
        svg.text(end + 7, y + 13.5, f"{count}  ({percent(count / total, 0)})"),
    ]
