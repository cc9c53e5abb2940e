"""check_domain: find what keeps a domain, or one of its tasks, from working at all.

The audit asks whether tasks are good; here the question is whether they can be played and their
reference solutions earn the reward, before a model is paid for failing at them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.domains.faults import faults
from maseval.benchmark.tau2.formats.simulation import RawTask
from maseval.benchmark.tau2.review.audit.audited import (
    AuditedDomain,
    AuditedTask,
    audited_domain,
    missing_tool_text,
    toolkit_with,
)
from maseval.benchmark.tau2.world.reference import shortfall
from maseval.benchmark.tau2.world.tasks import RewardType
from maseval.core.exceptions import TaskFormatError
from maseval.core.words import count_of


def check_domain(domain: str | Domain) -> list[str]:
    """Return a sentence for each problem of a domain or of one of its tasks."""
    chosen = domain_named(domain)
    found = faults(chosen)
    if found:  # then no task could be played
        return found
    audited = audited_domain(chosen)
    return [
        problem
        for split in {file: split for split, file in chosen.task_files.items()}.values()
        for problem in _problems_of_split(audited, split)
    ]


def _problems_of_split(audited: AuditedDomain, split: str) -> Iterator[str]:
    try:
        tasks = load_raw_tasks(audited.domain, split)
    except TaskFormatError as error:
        yield str(error)
        return
    yield from _problems_of_ids(tasks, split)
    for raw in tasks:
        try:
            task = AuditedTask.of(audited, raw)
        except TaskFormatError as error:
            yield str(error)
            continue
        for problem in _problems_of_task(task):
            yield f"task {raw.get('id')!r}: {problem}"


def _problems_of_ids(tasks: Sequence[RawTask], split: str) -> Iterator[str]:
    for task_id, count in Counter(raw.get("id") for raw in tasks).items():
        if not task_id:
            yield f"{split!r} has {count_of(count, 'task')} without an id"
        elif count > 1:
            yield f"{count} tasks of {split!r} have the id {task_id!r}"


def _problems_of_task(task: AuditedTask) -> Iterator[str]:
    lacking = (a for a in task.spec.actions if toolkit_with(task.audited.domain, a) is None)
    unknown = [*map(missing_tool_text, lacking), *_unknown_functions(task)]
    if unknown:
        yield from unknown
        return
    try:
        yield from (f"{fault.name} fails: {fault.error}" for fault in task.gold.errors)
        yield from _problems_of_end(task)
    except Exception as error:  # a task's own functions: their faults are findings
        yield f"cannot be played: {type(error).__name__}: {error}"


def _unknown_functions(task: AuditedTask) -> Iterator[str]:
    world = task.audited.world
    sides = {"assistant": world.tools, "user": world.user_tools}
    asserted = [
        each.model_dump() for each in (task.criteria and task.criteria.env_assertions) or ()
    ]
    for call in [*(task.spec.start.initialization_actions or ()), *asserted]:
        toolkit = sides.get(call["env_type"])
        try:
            if toolkit is None:
                raise AttributeError(f"there is no side {call['env_type']!r} with tools")
            toolkit.task_function(call["func_name"])
        except AttributeError as error:
            yield f"{error}; mark what tasks may call with for_tasks"


def _problems_of_end(task: AuditedTask) -> Iterator[str]:
    missed = shortfall(task.setting)
    if missed.state and task.counts(RewardType.DB):
        yield (
            "the reference solution leads elsewhere when the two sides are synchronised after "
            "each call, as they are in a run, so nobody can earn DB; leave it out of reward_basis "
            "and use env_assertions"
        )
    for assertion in missed.assertions:
        yield f"the reference solution does not meet {assertion.message or assertion}"
    if missed.error is not None:
        yield f"cannot be played: {missed.error}"
