"""``maseval plan``: what a question costs, from a pilot, an earlier run or stated rates."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Literal

from maseval.app.comparing.compared_runs import refuse_first_failures
from maseval.app.results.examined import RunFindings, examine_run
from maseval.app.results.finding import open_recording
from maseval.core.exceptions import ConfigurationError
from maseval.core.words import count_of
from maseval.stats.forecast import (
    Forecast,
    TaskSet,
    differing_variance,
    forecast,
    observed_tasks,
    stated_tasks,
)
from maseval.stats.planning import Pairs
from maseval.stats.trials import by_task, mean_cost

BaselineKind = Literal["finished", "alongside"]
"""The baseline is the earlier run, or is run again trial by trial beside the new one."""


def plan(
    runs: Sequence[str | os.PathLike[str]] = (),
    *,
    tasks: int | None = None,
    rate: float | None = None,
    spread: float | None = None,
    difference: float | None = None,
    precision: float | None = None,
    baseline: BaselineKind | None = None,
    concurrency: int = 1,
) -> Forecast:
    """Say what 1 to 8 trials would show and cost, and what a difference or a precision takes.

    ``runs`` are a pilot or earlier run, which is the baseline unless one is to run ``alongside``,
    and a second run on the same tasks, which shows how much systems differ from task to task.
    Without a run the number of ``tasks`` and their pass ``rate`` are stated, and how far the rates
    of single tasks ``spread``. Rates, ``difference`` and ``precision`` are shares: 0.05 is five
    points. Time is that of ``concurrency`` simulations at once.
    """
    if concurrency < 1:
        raise ConfigurationError(f"concurrency is {concurrency}; give at least 1")
    if len(runs) > 2:
        raise ConfigurationError(
            f"{count_of(len(runs), 'run')} given; give a pilot, and at most one to compare it with"
        )
    if runs:
        if (rate, spread) != (None, None):
            raise ConfigurationError("rate and spread are those of the run; leave them out")
        about = _observe(runs, baseline or "finished", tasks)
    else:
        if tasks is None or rate is None:
            raise ConfigurationError(
                "there is nothing to plan from; give a run, or the number of tasks and their pass "
                "rate: --tasks 50 --rate 60 (tasks=50, rate=0.6)"
            )
        if baseline == "finished":
            raise ConfigurationError("a finished baseline needs a run; name one")
        about = stated_tasks(tasks, rate, spread)
    if about.seconds is not None:
        about = replace(about, seconds=about.seconds / concurrency)
    return forecast(about, difference=difference, precision=precision)


def _observe(
    runs: Sequence[str | os.PathLike[str]], baseline: BaselineKind, tasks: int | None
) -> TaskSet:
    """Describe the tasks of a pilot, and how a second run differs from it."""
    recordings = [open_recording(run) for run in runs]
    for run, each in zip(runs, recordings, strict=True):
        refuse_first_failures(run, each.config)
    examined = [examine_run(each, ()) for each in recordings]
    lines = [each.lines for each in examined]
    pilot = by_task(lines[0])
    about = observed_tasks([*pilot.values()])
    seconds = [line.seconds for line in lines[0] if line.passed is not None]
    about = replace(
        about,
        cost=mean_cost(lines[0]),
        seconds=fmean(seconds) if any(seconds) else None,
        trials=about.trials if baseline == "finished" else None,
        notes=(*about.notes, *_notes(examined)),
    )
    if len(lines) > 1:
        other = by_task(lines[1])
        shared = [key for key in pilot if pilot[key].total and key in other and other[key].total]
        if not shared:
            raise ConfigurationError("the two runs share no task with a verdict; give others")
        pairs = Pairs([pilot[key] for key in shared], [other[key] for key in shared])
        differing = differing_variance(pairs)
        if differing is None:
            why = "one trial of each task does not show how the systems differ from task to task"
            about = replace(about, notes=(*about.notes, why))
        else:
            # The same luck as in a comparison of the two, so that both give the same answer.
            luck = (pairs.noise(1) or 0.0) / 2
            about = replace(about, differing=differing, luck=luck or about.luck)
    if tasks is not None and tasks != about.tasks:
        if baseline == "finished":
            raise ConfigurationError(
                f"the finished baseline has {count_of(about.tasks, 'task')}, not {tasks}; plan for "
                "these, or for a baseline that runs alongside"
            )
        note = f"planned for {count_of(tasks, 'task')} like the {about.tasks} of the pilot"
        about = replace(about, tasks=tasks, notes=(*about.notes, note))
    return about


def _notes(runs: Sequence[RunFindings]) -> Iterator[str]:
    for each in runs:
        path, stopped = each.folder.path, each.folder.config.stopped
        if stopped is not None:
            yield f"{path}: {stopped.note}"
        if each.check is not None and (note := each.check.note_on_recomputed):
            yield f"{path}: {note}"
