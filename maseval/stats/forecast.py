"""Forecasts: what a question costs before anything is run.

Two claims have two prices. **On these tasks** only the luck of the trials is in the way, and more
trials help. **On tasks like these** the tasks are a sample, too: how much they differ is averaged
out by more tasks alone, and unlimited trials still leave a width.

A difference is detectable if it is found with 80 % power at the 5 % level: (z_97.5 + z_80) standard
errors, with Student's quantile for tasks like these.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from maseval.core.exceptions import ConfigurationError
from maseval.core.words import count_of, in_percent, money, percent
from maseval.stats.clusters import Places
from maseval.stats.intervals import LEVEL, two_sided_z, weighted_interval
from maseval.stats.planning import (
    MOST_TASKS,
    MOST_TRIALS,
    Draws,
    fewest_tasks,
    noise_of_clusters,
    reach,
    smallest_above,
    too_few_tasks,
    with_trials,
)
from maseval.stats.result import IF_KNOWN, Result
from maseval.stats.summary import estimate
from maseval.stats.trial_noise import trial_noise
from maseval.stats.trials import Trials, fewest_trials, measure_name

# How far the rates of a benchmark's tasks scatter, where no run says so; public results of tau2
# have 19 points in telecom, 22 in retail and 34 in airline.
USUAL_SPREAD = 0.25

_ASSUMPTION = (
    f"assumed: the pass rates of tasks have a standard deviation of "
    f"{in_percent(USUAL_SPREAD, 0)} points; a pilot with two trials of each task would measure it"
)

_MOST_ROWS = 8

LEAST_POINTS = 1e-6
"""The least difference or precision to plan for; no number of trials shows a smaller one."""


@dataclass(frozen=True)
class TaskSet(Result):
    """The facts about the tasks that are known before a run.

    ``luck`` is the mean variance of one trial of a task, ``between`` that of the tasks' own rates,
    ``differing`` that of the true difference between two systems from task to task. ``trials`` are
    those that a finished baseline has of each task, None if it is to be run, too. ``cost`` and
    ``seconds`` are those of one simulation. Of two levels of a grid's factor, a trial of a task is
    one in each of so many ``cells`` of a level: on average, as not every task is in all of them.
    ``score`` is the rate with its range; None if the rate is stated. The tasks are of so many
    ``clusters``, which are then what differs; None if each is one of its own.
    """

    tasks: int
    rate: float
    luck: float
    between: float
    differing: float = 0.0
    trials: int | None = None
    cost: float | None = None
    seconds: float | None = None
    notes: tuple[str, ...] = ()
    cells: float = 1.0
    score: Mapping[str, Any] | None = None
    label: str | None = field(default=None, metadata=IF_KNOWN)
    """What the rates are of, where that is not the verdict: ``resisted^k``."""

    @property
    def measure(self) -> str:
        """The name of the rate."""
        return measure_name(1, self.label)

    clusters: int | None = field(default=None, metadata=IF_KNOWN)

    @property
    def draws(self) -> int:
        """The number of what varies independently: clusters, or else tasks."""
        return self.clusters or self.tasks

    @property
    def unit(self) -> str:
        return "cluster" if self.clusters else "task"

    def in_cells(self, cells: float) -> "TaskSet":
        """Return the tasks for levels that are compared in so many cells, whose luck evens out."""
        return replace(self, luck=self.luck / cells, cells=cells)

    def variance(self, trials: float) -> float:
        """Return the variance of the difference on these tasks."""
        theirs = self.trials or trials
        return self.luck * (1 / trials + 1 / theirs) / self.tasks

    def detectable(self, trials: float, differing: float | None = None) -> float | None:
        """Return what is found on these tasks, or on others where the systems differ by task."""
        if self.draws < fewest_tasks(LEVEL):
            return None
        error = math.sqrt(self.variance(trials) + (differing or 0.0) / self.draws)
        return min(1.0, self._reach(differing) * error)

    def _reach(self, differing: float | None) -> float:
        return reach(LEVEL, None if differing is None else self.draws)

    def half_width(self, trials: float) -> float:
        # No interval of a share is wider than from 0 to 1.
        return min(0.5, two_sided_z(LEVEL) * math.sqrt(self.luck / trials / self.tasks))

    def half_width_like(self, trials: float, draws: int | None = None) -> float | None:
        """Return the half-width for tasks of two kinds that scatter as these are known to.

        None for one task, which says nothing of others.
        """
        rate, number = self.rate, draws or self.draws
        if number < 2:
            return None
        spread = self.between + self.luck / trials * self.draws / self.tasks
        # Two kinds of tasks stand for all, above and below the rate: they have its mean, and this
        # variance.
        out = math.sqrt(min(1.0, spread / (rate * (1 - rate)))) if 0 < rate < 1 else 0.0
        counts = {rate - out * rate: (1 - rate) * number}
        better = rate + out * (1 - rate)
        counts[better] = counts.get(better, 0.0) + rate * number
        return weighted_interval(counts, LEVEL).half_width

    def simulations(self, trials: int) -> int:
        return round(self.tasks * self.cells) * trials * (1 if self.trials else 2)

    def row(self, trials: int) -> "TrialsForecast":
        number = self.simulations(trials)
        return TrialsForecast(
            trials,
            number,
            self.detectable(trials),
            self.detectable(trials, self.differing),
            self.half_width(trials),
            self.half_width_like(trials),
            None if self.cost is None else number * self.cost,
            None if self.seconds is None else number * self.seconds,
        )

    def on_difference(self, difference: float) -> list[str]:
        """Return what it takes to show it, for both claims."""
        wanted = f"a difference of {in_percent(difference)} points"
        least = min(self.score.get("worst", 1.0), self.score["low"]) if self.score else self.rate
        if difference > 1 - least:
            gain = f"at a rate of {percent(least)} no system can be that much better"
            return [f"{wanted}: {gain}"]
        if few := too_few_tasks(self.draws, LEVEL, unit=self.unit):
            return [f"{wanted}: {few}"]
        return [
            f"{wanted}, on these tasks: {self._trials_for(difference)}",
            f"{wanted}, on tasks like these: {self._trials_for(difference, self.differing)}",
        ]

    def _trials_for(self, difference: float, differing: float | None = None) -> str:
        allowed = (difference / self._reach(differing)) ** 2 * self.tasks
        # The luck of a finished baseline stays, however many trials the new run has.
        luck = self.luck / self.trials if self.trials else 0.0
        differing = (differing or 0.0) * self.tasks / self.draws
        if differing + luck >= allowed:
            return self._why_not(differing, allowed)
        runs = 1 if self.trials else 2
        left = allowed - luck - differing
        # What lies above a whole number by rounding alone is that number.
        trials = math.ceil(runs * self.luck / left - 1e-9)
        if trials > MOST_TRIALS:
            return f"cannot be shown with these tasks: it would take {trials:,} trials of each"
        return f"{count_of(trials, 'trial')} per task, {self._price(self.simulations(trials))}"

    def _why_not(self, differing: float, allowed: float) -> str:
        if differing >= allowed:
            draws = math.ceil(differing / allowed * self.draws)
            return (
                "cannot be shown with these tasks by any number of trials, as the systems differ "
                f"too much from {self.unit} to {self.unit}; it takes more than "
                f"{count_of(draws, self.unit)}"
            )
        return (
            f"cannot be shown against this baseline of {count_of(self.trials or 0, 'trial')} "
            "per task, however many trials the new run has: give the baseline more, too"
        )

    def _price(self, simulations: int) -> str:
        cost, seconds = self.cost, self.seconds
        parts = [
            count_of(simulations, "simulation"),
            None if cost is None else money(simulations * cost),
            None if seconds is None else f"{simulations * seconds / 3600:,.1f} h",
        ]
        return ", ".join(filter(None, parts))

    def on_precision(self, precision: float) -> list[str]:
        """Return what it takes to know pass^1 to within a half-width, for both claims."""
        wanted = f"\u00b1{in_percent(precision)} points"
        here = math.ceil(self.luck / self.tasks * (two_sided_z(LEVEL) / precision) ** 2)
        answers = [f"{wanted}, on these tasks: {self._precise(here)}"]
        like = f"{wanted}, on tasks like these"

        def is_reached(trials: float, tasks: int | None = None) -> bool:
            width = self.half_width_like(trials, tasks)
            return width is not None and width <= precision

        trials = smallest_above(0, MOST_TRIALS, is_reached)
        if trials is not None:
            return [*answers, f"{like}: {self._precise(trials)}"]
        draws = smallest_above(self.draws, MOST_TASKS, lambda n: is_reached(math.inf, n))
        least, unit = self.half_width_like(math.inf), self.unit
        left = "" if least is None else f": even unlimited trials leave \u00b1{in_percent(least)}"
        many = f"at least {count_of(draws, unit)}" if draws else f"more than {MOST_TASKS:,} {unit}s"
        why = f"not reachable with {count_of(self.draws, unit)}{left}; it takes {many}"
        return [*answers, f"{like}: {why}"]

    def _precise(self, trials: int) -> str:
        if trials > MOST_TRIALS:
            return f"not reachable: it would take {trials:,} trials of each task"
        trials = max(1, trials)
        price = self._price(trials * round(self.tasks * self.cells))
        return f"{count_of(trials, 'trial')} per task of one run, {price}"


def stated_tasks(tasks: int, rate: float) -> TaskSet:
    """Describe tasks of which only the pass rate is known."""
    if not 1 <= tasks <= MOST_TASKS:
        raise ConfigurationError(f"tasks is {tasks}; give 1 to {MOST_TASKS:,}")
    _check_share("rate", rate)
    whole = rate * (1 - rate)
    between = _usual_spread(whole)
    return TaskSet(tasks, rate, whole - between, between, notes=(_ASSUMPTION,))


def _usual_spread(whole: float) -> float:
    return min(whole / 2, USUAL_SPREAD**2)


def observed_tasks(pilot: Sequence[Trials], places: Places | None = None) -> TaskSet:
    """Describe the tasks of a pilot, which is also the finished baseline."""
    counted, places = with_trials(pilot, places)
    if not counted:
        raise ConfigurationError("no task of the pilot has a verdict; give a run that has some")
    score = estimate(counted, places=places).in_brief()
    noise = noise_of_clusters(counted, 1, None, places)
    clusters = None if places is None else len({place.cluster for place in places})
    rate = score["value"] or 0.0
    # As long as a task has no verdict, this is no finished baseline.
    trials = fewest_trials(pilot) or None
    whole = rate * (1 - rate)
    if noise is None or (clusters or len(counted)) < 2:
        between = _usual_spread(whole)
        notes: tuple[str, ...] = (_ASSUMPTION,)
        luck = whole - between
    else:
        luck, notes = trial_noise(counted, 1, 1) or 0.0, ()
        between = max(0.0, Draws.of(counted, places).variance - noise)
    # Where all trials agree there may still be luck: as much as one more failure would show.
    luck = luck or 1 / (sum(each.total for each in counted) + 2)
    return TaskSet(
        len(pilot),
        rate,
        luck,
        between,
        trials=trials,
        notes=notes,
        score=score,
        clusters=clusters,
    )


@dataclass(frozen=True)
class TrialsForecast(Result):
    """A number of trials of each task, with what it would show and cost.

    ``detectable`` differences and half-widths are given for both claims. ``simulations``, ``cost``
    and ``seconds`` are those of the runs that are still to be made.
    """

    trials: int
    simulations: int
    detectable: float | None
    detectable_like: float | None
    half_width: float
    half_width_like: float | None
    cost: float | None
    seconds: float | None


@dataclass(frozen=True)
class Forecast(Result):
    """The price of a question: a row for each number of trials, and the answers in words."""

    about: TaskSet
    rows: list[TrialsForecast]
    answers: list[str]
    notes: list[str] = field(default_factory=list)


def _check_share(name: str, value: float, least: float = 0.0) -> None:
    if not least < value < 1:  # nor is a value that is no number
        text = f"{name} is {value:g}; give a share above {least:g} and below 1, such as 0.05"
        raise ConfigurationError(f"{text} (on the command line 5)")


def forecast(
    about: TaskSet,
    *,
    difference: float | None = None,
    precision: float | None = None,
) -> Forecast:
    """Say what 1 to 8 trials of each task would show and cost.

    ``difference`` is the one to be shown and ``precision`` the half-width wanted, as shares: 0.05
    is five points. Each gets an answer for both claims: what it takes, or that these tasks cannot.
    """
    for name, value in (("difference", difference), ("precision", precision)):
        if value is not None:
            _check_share(name, value, LEAST_POINTS)
    rows = [about.row(trials) for trials in range(1, _MOST_ROWS + 1)]
    answers = []
    if difference is not None:
        answers += about.on_difference(difference)
    if precision is not None:
        answers += about.on_precision(precision)
    # Whoever plans a grid pays for every cell of both levels.
    both = "both runs" if about.cells == 1 else "the cells of both levels"
    runs = "the new run alone; the baseline exists" if about.trials else both
    notes = [*about.notes, f"simulations, cost and time are those of {runs}"]
    if not about.differing:
        notes.append("on tasks like these: best case, if the systems differ equally on every task")
    return Forecast(about, rows, answers, notes)
