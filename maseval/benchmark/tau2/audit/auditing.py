"""audit: proof-read a benchmark, offline and without a model."""

from collections.abc import Iterator

from maseval.benchmark.tau2.audit import (
    criteria,
    documents,
    knowledge,
    preconditions,
    references,
)
from maseval.benchmark.tau2.audit.audited import AuditedTask, audited_domain
from maseval.benchmark.tau2.audit.finding import SEVERITIES, Finding
from maseval.benchmark.tau2.data_loader import VALID_DOMAINS, load_raw_tasks
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import AnyVersion, Release, release_of
from maseval.core.exceptions import TaskFormatError
from maseval.data.store import AnyPath

_TASK_CHECKS = (
    *criteria.TASK_CHECKS,
    *knowledge.TASK_CHECKS,
    *references.TASK_CHECKS,
    *preconditions.TASK_CHECKS,
)
_DOMAIN_CHECKS = (
    *criteria.DOMAIN_CHECKS,
    *references.DOMAIN_CHECKS,
    *documents.DOMAIN_CHECKS,
)


def audit(
    domain: str | Domain | None = None,
    *,
    split: str = "base",
    data_dir: AnyPath | None = None,
    version: AnyVersion = None,
) -> list[Finding]:
    """What is odd or wrong in the tasks of a domain, the worst first.

    Without ``domain``, airline, retail and telecom are audited. A domain of your own is given as
    its object, or by name once it is registered.
    """
    names = VALID_DOMAINS if domain is None else (domain,)
    findings = [
        each for name in names for each in _of(name, split, data_dir, release_of(name, version))
    ]
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def _of(
    named: str | Domain, split: str, data_dir: AnyPath | None, release: Release
) -> Iterator[Finding]:
    domain = release.domain(named)
    audited = audited_domain(domain, data_dir, release.rules)
    tasks = []
    for raw in load_raw_tasks(domain, split, data_dir, version=release):
        try:
            tasks.append(AuditedTask.of(audited, raw))
        except TaskFormatError as error:
            task_id = str(raw.get("id"))
            yield Finding(domain.name, task_id, "task cannot be read", "error", str(error))
    for task in tasks:
        yield from _of_task(task)
    for look in _DOMAIN_CHECKS:
        yield from look(audited, tasks)


def _of_task(task: AuditedTask) -> Iterator[Finding]:
    try:
        for look in _TASK_CHECKS:
            yield from look(task)
    except Exception as error:  # a task's own functions: their faults are findings
        text = f"it cannot be played: {type(error).__name__}: {error}"
        yield criteria.found(task, "task cannot be read", "error", text)
