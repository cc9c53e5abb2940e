"""pass^k for less: a task stops at its first failure.

A task whose k trials all pass counts 1, any other counts 0, and one failure settles which. With as
many planned trials as k, what comes after a failure cannot change pass^k, so a run without it has
the same estimate and the same interval as the full run. What it does not have is a fair pass^1 of
all trials: tasks that pass have more of them. pass^j of a smaller j is estimated from the first j
trials alone, which every task has or has failed in; those are as good as any j trials.

To stop a task after equal outcomes, as if the rest were known, is another matter: a task that
passes half of the time passes its first two trials in a quarter of all cases, and four of four in a
sixteenth. pass^4 would come out higher by ten points and more.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome, TaskKey
from maseval.stats.estimation import Estimate, estimate
from maseval.stats.intervals import LEVEL
from maseval.stats.summary import GroupSummary, Ks, Planned, Summary, summarise, with_gaps
from maseval.stats.trials import Trials, by_task

EQUAL_OUTCOMES_REFUSED = (
    "a task is not stopped after equal outcomes: two passes are no proof of four, and pass^4 would "
    "come out 10 points too high or more; a task may stop at its first failure"
)
ONLY_FIRST = (
    "Each task stopped at its first failure: pass^{0} is that of a full run, and a smaller k is "
    "from the first k trials of each task only."
)


def is_settled(verdicts: Iterable[bool | None]) -> bool:
    """Return whether a task needs no further trial for pass^k: one has failed."""
    return any(verdict is False for verdict in verdicts)


def first_trials(outcomes: Iterable[Outcome], j: int) -> list[Outcome]:
    """Return the first j trials of each task, those after its first failure as failures.

    They have the pass^j of a run without that rule. They have no other fair measure.
    """
    found = [each for each in outcomes if each.trial < j]
    failed = {each.task for each in found if each.passed is False}
    there = {(each.task, each.trial) for each in found}
    return found + [
        Outcome(*key, trial, passed=False)
        for key in failed
        for trial in range(j)
        if (key, trial) not in there
    ]


def pass_hat_until_failure(
    outcomes: Sequence[Outcome], k: int, *, level: float = LEVEL
) -> dict[int, Estimate]:
    """Estimate pass^1 to pass^k of a run of k trials in which tasks stop at their first failure.

    Trials are numbered from 0. pass^k is that of the full run; pass^j is that of the first j
    trials. A task without any verdict is left out; if one passed only some of them and never
    failed, there is no value, but its bounds. Raise ConfigurationError for a trial beyond the first
    k.
    """
    if k < 1:
        raise ConfigurationError(f"k is {k}; give 1 or more")
    by_task(outcomes)  # raises for a trial that appears twice
    tasks: dict[TaskKey, dict[int, bool | None]] = {}
    for each in outcomes:
        if each.trial >= k:
            raise ConfigurationError(
                f"trial {each.trial} of task {str(each.task)!r} is beyond the {k} planned: tasks "
                f"stop at their first failure only where pass^k is asked of k trials"
            )
        tasks.setdefault(each.task, {})[each.trial] = each.passed
    return {j: _first_trials(tasks, j, level) for j in range(1, k + 1)}


def summarise_run(outcomes: Iterable[Outcome], planned: Planned, k: int, ks: Ks = None) -> Summary:
    """Summarise a run with all that was planned, as ``first_trials_only`` does for ``k``."""
    every = with_gaps(outcomes, planned)
    return first_trials_only(summarise(every, ks=ks), every, k)


def first_trials_only(found: Summary, outcomes: Sequence[Outcome], k: int) -> Summary:
    """Return a summary in which every pass^j is that of the first j trials of each task.

    ``outcomes`` have those that are missing, too. ``k`` is the one for which tasks stop at their
    first failure; 0 leaves everything as it is.
    """
    if not k:
        return found
    return replace(found, groups=[_of_group(each, outcomes, k) for each in found.groups])


def _of_group(group: GroupSummary, outcomes: Sequence[Outcome], k: int) -> GroupSummary:
    mine = [each for each in outcomes if group.group in (None, each.domain)]
    estimates = [*pass_hat_until_failure(mine, k).values()] if mine else []
    return replace(group, estimates=estimates)


def _first_trials(
    tasks: Mapping[TaskKey, Mapping[int, bool | None]], j: int, level: float
) -> Estimate:
    """Estimate pass^j from the first j trials; only whether all passed is known of each task."""
    counts = [_count(task, j) for task in tasks.values()]
    found = estimate(counts, k=j, planned=[j] * len(counts), level=level)
    return replace(found, rerun=None)


def _count(task: Mapping[int, bool | None], j: int) -> Trials:
    verdicts = [task.get(trial) for trial in range(j)]
    if is_settled(verdicts):
        return Trials(j, j - 1)
    passed = sum(verdict is True for verdict in verdicts)
    return Trials(passed, passed)
