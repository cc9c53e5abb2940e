"""audit and check_domain: proof-read the tasks and tools of a benchmark offline.

The audit asks whether tasks are good, by reading and by experiment. ``check_domain`` asks whether
they can be played and their reference solutions earn the reward, before a model is paid for failing
at them.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from maseval.benchmark.tau2.data_loader import (
    VALID_DOMAINS,
    DataUnavailableError,
    UnknownTaskError,
    load_raw_tasks,
)
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.domains.faults import faults
from maseval.benchmark.tau2.domains.releases import AnyVersion, Release, release_of
from maseval.benchmark.tau2.formats.simulation import RawTask
from maseval.benchmark.tau2.review.audit import criteria, experiments, knowledge
from maseval.benchmark.tau2.review.audit.audited import (
    SEVERITIES,
    AuditedDomain,
    AuditedTask,
    TaskFinding,
    audited_domain,
    missing_tool_text,
    toolkit_with,
)
from maseval.benchmark.tau2.review.audit.experiments import (
    Holders,
    holders_beside,
    undecided_choices,
)
from maseval.benchmark.tau2.review.audit.tool_trials import faulty_tools
from maseval.benchmark.tau2.world.reference import shortfall
from maseval.benchmark.tau2.world.tasks import RewardType
from maseval.core.exceptions import TaskFormatError
from maseval.core.words import count_of
from maseval.data.folder import AnyPath

OnTask = Callable[[int, int], object]
"""Called with how many tasks have been looked at, and how many there are."""

_TASK_CHECKS = (
    criteria.gold_raises,
    criteria.gold_is_refused,
    criteria.initial_data_is_ignored,
    criteria.gold_changes_nothing,
    criteria.gold_misses_its_checks,
    criteria.criteria_can_only_pass,
    criteria.doing_nothing_passes,
    criteria.text_can_never_match,
    criteria.text_matches_by_chance,
    criteria.against_the_policy,
    knowledge.ids_nobody_can_know,
    knowledge.texts_in_no_answer,
    knowledge.persona_contradictions,
    knowledge.wishes_not_done,
    knowledge.tickets_without_amounts,
    knowledge.amounts_as_texts,
    knowledge.people_not_counted,
    experiments.free_texts,
    experiments.order_of_writes,
    experiments.order_in_lists,
)
_DOMAIN_CHECKS = (
    criteria.equal_requests,
    knowledge.unknown_tools,
    knowledge.unread_tables,
    faulty_tools,
)


def audit(
    domain: str | Domain | Sequence[str | Domain] | None = None,
    *,
    split: str = "base",
    data_dir: AnyPath | None = None,
    version: AnyVersion = None,
    task_id: str | None = None,
    on_progress: OnTask | None = None,
) -> list[TaskFinding]:
    """Return the findings about the tasks of one or more domains, errors first.

    Without ``domain``, airline, retail and telecom are audited. A domain of your own is given as
    its object, or by name once it is registered. With ``task_id`` only that task is looked at, in
    the domains that have it. ``on_progress`` is called with how many tasks have been looked at, of
    how many.
    """
    given = VALID_DOMAINS if domain is None else domain
    named = [given] if isinstance(given, str | Domain) else given
    audits = [_Audit(name, split, data_dir, release_of(name, version)) for name in named]
    if task_id is not None:
        audits = _with_task(audits, task_id)
    report = on_progress or (lambda done, total: None)
    total, done, findings = sum(len(each.raw_tasks) for each in audits), 0, []
    for each in audits:
        for number, found in enumerate(each.look(whole=task_id is None)):
            report(done + min(number, len(each.raw_tasks)), total)
            findings += found
        done += len(each.raw_tasks)
    report(total, total)
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


class _Audit:
    """The audit of one domain of one release."""

    def __init__(
        self, named: str | Domain, split: str, data_dir: AnyPath | None, release: Release
    ) -> None:
        self.domain = release.domain(named)
        self._audited = audited_domain(self.domain, data_dir, release.rules)
        self.raw_tasks = load_raw_tasks(self.domain, split, data_dir, version=release)

    def look(self, *, whole: bool) -> Iterator[list[TaskFinding]]:
        """Yield the findings about each task; with the last come those about the ``whole``."""
        tasks: list[AuditedTask] = []
        for raw in self.raw_tasks:
            try:
                tasks.append(AuditedTask.of(self._audited, raw))
            except TaskFormatError as error:
                make, task_id = self._audited.finding, str(raw.get("id"))
                yield [make("task cannot be read", "error", str(error), task_id=task_id)]
        beside = holders_beside(self._audited, tasks)
        for task in tasks:
            yield list(_audit_task(task, beside))
        if whole:
            yield [found for look in _DOMAIN_CHECKS for found in look(self._audited, tasks)]


def _with_task(audits: Sequence[_Audit], task_id: str) -> list[_Audit]:
    """Leave one task to each audit that has it."""
    found = []
    for each in audits:
        ids = [str(raw.get("id")) for raw in each.raw_tasks]
        each.raw_tasks = [raw for raw in each.raw_tasks if str(raw.get("id")) == task_id]
        if each.raw_tasks:
            found.append(each)
    if not found:
        raise UnknownTaskError(
            f"{each.domain.name} has no task {task_id!r}; it has {ids[0]!r} and {len(ids) - 1} more"
        )
    return found


def _audit_task(task: AuditedTask, beside: Holders) -> Iterator[TaskFinding]:
    """Yield the findings about one task; what goes wrong in playing it is one as well."""
    try:
        for look in _TASK_CHECKS:
            yield from look(task)
        yield from undecided_choices(task, beside)
    except DataUnavailableError:  # then no task can be played, and it is not the task's fault
        raise
    except Exception as error:  # a task's own functions: their faults are findings
        text = f"it cannot be played: {type(error).__name__}: {error}"
        yield task.finding("task cannot be read", "error", text)


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
