"""Why a record is not what the benchmark would have written, each cause with its evidence."""

from collections.abc import Callable, Iterator, Sequence

from maseval.benchmark.tau2.recount.causes import completeness, judging, tasks, verdicts
from maseval.benchmark.tau2.recount.causes.cause import Cause
from maseval.benchmark.tau2.recount.recount import Recount

__all__ = ["Cause", "causes"]

_LOOKS: Sequence[Callable[[Recount], Iterator[Cause]]] = (
    tasks.setting,
    tasks.shuffled,
    tasks.mixed_up_tasks,
    verdicts.edited_rewards,
    tasks.other_tasks,
    tasks.foreign_tasks,
    verdicts.changed_tools,
    verdicts.unlike_answers,
    verdicts.other_rules,
    completeness.endings,
    completeness.missing,
    completeness.repeated,
    completeness.unreadable,
    completeness.unfinished,
    judging.other_judgement,
    judging.unread_replies,
    judging.unjudged,
)


def causes(found: Recount) -> list[Cause]:
    """What is wrong with a record, that which explains most first."""
    return [cause for look in _LOOKS for cause in look(found)]
