"""``maseval plan``: what a question costs, from a pilot, an earlier run or stated rates."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from statistics import fmean, variance

from maseval.app.benchmarks import RecordedOutcomes
from maseval.app.comparing.cells import expand_grids
from maseval.app.comparing.compared_runs import load_run, notes_on_runs
from maseval.app.results.names import open_recording
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import TaskKey
from maseval.core.scoring_options import ScoringOptions
from maseval.core.words import count_of
from maseval.runs.config import cell_of
from maseval.stats.clusters import counted_tasks, in_order, mean_of, places_of
from maseval.stats.forecast import Forecast, TaskSet, forecast, observed_tasks, stated_tasks
from maseval.stats.planning import Pairs
from maseval.stats.summary import summarise, with_gaps
from maseval.stats.trials import Trials, by_task, mean_cost, task_scores


def plan(
    runs: Sequence[str | os.PathLike[str]] = (),
    *,
    tasks: int | None = None,
    rate: float | None = None,
    difference: float | None = None,
    precision: float | None = None,
    between: str | None = None,
    cells: float = 1.0,
    measure: str | None = None,
) -> Forecast:
    """Say what 1 to 8 trials would show and cost, and what a difference or a precision takes.

    ``runs`` has a pilot or earlier run, which is the baseline. Without a run the number of
    ``tasks`` and their pass ``rate`` are stated. Rates, ``difference`` and ``precision`` are
    shares: 0.05 is five points. Time is that of one simulation after the other.

    ``between`` names two levels of a factor, ``system=react,team``: ``runs`` are then the folder of
    a grid or its cells, and the trials those of each cell. Without a run, ``cells`` is in how many
    combinations of the other factors the levels are compared. ``measure`` names the number of the
    run's benchmark that the question is about, in the place of its verdict.
    """
    if between is not None and runs:
        about = _observe_levels(runs, between, measure)
    elif len(runs) > 1:
        raise ConfigurationError(
            "several runs are given; give one: `maseval compare` says what would decide two"
        )
    elif runs:
        if (tasks, rate) != (None, None):
            raise ConfigurationError("tasks and rate are those of the run; leave them out")
        about = _observe(runs[0], measure)
    else:
        if tasks is None or rate is None:
            raise ConfigurationError(
                "there is nothing to plan from; give a run, or the number of tasks and their pass "
                "rate: --tasks 50 --rate 60 (tasks=50, rate=0.6)"
            )
        about = stated_tasks(tasks, rate).in_cells(cells)
    return forecast(about, difference=difference, precision=precision)


def _observe(run: str | os.PathLike[str], measure: str | None) -> TaskSet:
    """Describe the tasks of a pilot, by the outcomes that count in a comparison."""
    found = _load_whole(run, measure)
    about = observed_tasks(*counted_tasks(found.outcomes))
    seconds = [each.seconds for each in found.outcomes if each.passed is not None]
    return replace(
        about,
        score=summarise(found.outcomes).overall.pass_1,
        label=None if found.measure is None else found.measure.label,
        cost=mean_cost(found.outcomes),
        # Outcomes that no report was read for have times of 0, which nobody measured.
        seconds=fmean(seconds) if any(seconds) else None,
        notes=(*about.notes, *_notes_on(found)),
    )


def _load_whole(run: str | os.PathLike[str], measure: str | None) -> RecordedOutcomes:
    """Read what counts of a run in a comparison, with all that it lacks."""
    found = load_run(open_recording(run), ScoringOptions(), measure=measure)
    # Tasks of the split that a file lacks have to be run as well, so they count in the price.
    missing = [(*key, 0) for key in found.unlisted]
    return found._replace(outcomes=with_gaps(found.outcomes, missing))


def _notes_on(found: RecordedOutcomes) -> list[str]:
    name, shortfall = str(found.recording.path), summarise(found.outcomes).overall.shortfall
    missing = [f"{shortfall} The plan assumes their pass rate for all."] if shortfall else []
    rates = found.measure and f"rates are those of {found.measure.name}"
    notes = [f"{name}: {note}" for note in filter(None, (rates, *missing, *found.notes))]
    return [*notes, *notes_on_runs({name: found})]


def read_levels(between: str, known: Iterable[Mapping[str, str]]) -> tuple[str, str, str]:
    """Return the factor and the two levels that ``system=react,team`` names; raise if it does not.

    Of a factor with two levels the name is enough. ``known`` are the cells of the grid.
    """
    factor, _, named = between.partition("=")
    levels = list(dict.fromkeys(each[factor] for each in known if factor in each))
    wanted = [each.strip() for each in named.split(",")] if named else levels
    if len(wanted) != 2 or not set(wanted) <= set(levels):
        there = f"{factor} has {', '.join(levels)}" if levels else f"there is no factor {factor!r}"
        raise ConfigurationError(
            f"between is {between!r}, and {there}; name two of its levels: system=react,team"
        )
    return factor, wanted[0], wanted[1]


def _observe_levels(
    runs: Sequence[str | os.PathLike[str]], between: str, measure: str | None
) -> TaskSet:
    """Describe the tasks of a pilot grid, and how two levels of a factor differ.

    They are paired within each combination of the other factors; what they differ by on a task is
    the mean over the combinations that have it.
    """
    found = [_load_whole(run, measure) for run in expand_grids(runs)[0]]
    cells = [cell_of(each.recording.config.values) for each in found]
    factor, *levels = read_levels(between, cells)
    lines = [each.outcomes for each in found]
    sides: list[dict[tuple[object, TaskKey], Trials]] = [{}, {}]
    for cell, each in zip(cells, lines, strict=True):
        if (level := cell.pop(factor, None)) in levels:
            # The factor is popped: what is left names the combination in which two levels are a
            # pair.
            others, counted = frozenset(cell.items()), by_task(each).items()
            sides[levels.index(level)] |= {(others, key): n for key, n in counted if n.total}
    shared = [key for key in sides[0] if key in sides[1]]
    if not shared:
        raise ConfigurationError(f"no two cells differ in {factor} alone; run some that do first")
    keys = [key for _, key in shared]
    places = in_order(places_of(chain(*lines)), keys)
    rates = [mean_of(task_scores([side[key] for key in shared], 1), places) for side in sides]
    if rates[0] > rates[1]:  # named in either order, the better one is what could be shown
        sides.reverse()
        levels.reverse()
    first, second = ([side[key] for key in shared] for side in sides)
    pairs = Pairs(first, second, 1, places, places)
    pilot: dict[TaskKey, Trials] = {}
    for key, trials in zip(keys, first, strict=True):
        # All trials of a task, in whatever combination, together tell most about its rate.
        pilot[key] = Trials(*map(sum, zip(pilot.get(key, (0, 0)), trials, strict=True)))
    about = observed_tasks([*pilot.values()], in_order(places_of(chain(*lines)), pilot))
    number = len(shared) / len(pilot)
    used = [line for each in lines for line in each if line.passed is not None]
    noise = pairs.noise()
    many = count_of(len({combination for combination, _ in shared}), "combination")
    note = f"{levels[0]} and {levels[1]} are compared in {many} of the other factors; the trials "
    about = replace(
        about,
        # The noise of a difference is that of both sides, which are taken to be alike.
        luck=(pairs.noise(1) or 0.0) / 2 or about.luck,
        trials=None,
        cost=mean_cost(used),
        seconds=fmean(line.seconds for line in used) or None,
        notes=(*about.notes, f"{note}are those of each cell", *chain(*map(_notes_on, found))),
    )
    if noise is not None and about.draws > 1:
        # What the luck of the trials does not explain of the spread is a difference between tasks.
        # An estimate of it may come out below zero.
        differing = variance(_mean_differences(pairs, keys)) - noise / number
        about = replace(about, differing=max(0.0, differing))
    return about.in_cells(number)


def _mean_differences(pairs: Pairs, keys: Sequence[TaskKey]) -> list[float]:
    """Return what two levels differ by on each task, the mean over the combinations that have it.

    Clusters have all combinations in one.
    """
    if pairs.by_cluster is not None:
        return pairs.differences
    by_key: dict[TaskKey, list[float]] = {}
    for key, difference in zip(keys, pairs.differences, strict=True):
        by_key.setdefault(key, []).append(difference)
    return [fmean(each) for each in by_key.values()]
