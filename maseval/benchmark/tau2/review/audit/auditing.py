"""audit: check the tasks and tools of a benchmark offline, by reading and by experiment."""

from collections.abc import Callable, Iterator, Sequence

from maseval.benchmark.tau2.data_loader import (
    VALID_DOMAINS,
    DataUnavailableError,
    UnknownTaskError,
    load_raw_tasks,
)
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import AnyVersion, Release, release_of
from maseval.benchmark.tau2.review.audit import criteria, experiments, knowledge, references
from maseval.benchmark.tau2.review.audit.alternatives import (
    Holders,
    holders_beside,
    undecided_choices,
)
from maseval.benchmark.tau2.review.audit.audited import (
    SEVERITIES,
    AuditedTask,
    TaskFinding,
    audited_domain,
)
from maseval.benchmark.tau2.review.audit.tool_trials import faulty_tools
from maseval.core.exceptions import TaskFormatError
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
    references.persona_contradictions,
    references.wishes_not_done,
    references.tickets_without_amounts,
    references.amounts_as_texts,
    references.people_not_counted,
    experiments.free_texts,
    experiments.order_of_writes,
    experiments.order_in_lists,
)
_DOMAIN_CHECKS = (
    criteria.equal_requests,
    references.unknown_tools,
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
