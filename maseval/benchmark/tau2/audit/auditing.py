"""audit: check a benchmark offline and without a model, and write the page of findings."""

from collections import Counter
from collections.abc import Iterator, Sequence

from maseval.benchmark.tau2.audit import (
    bank_amounts,
    bank_calls,
    bank_facts,
    criteria,
    knowledge,
    references,
)
from maseval.benchmark.tau2.audit.bank import BankGold, is_of_the_bank
from maseval.benchmark.tau2.audit.bank_documents import faults_of_documents
from maseval.benchmark.tau2.audit.subject import (
    KINDS,
    SEVERITIES,
    AuditedTask,
    Finding,
    audited_domain,
)
from maseval.benchmark.tau2.data_loader import VALID_DOMAINS, load_raw_tasks
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import AnyVersion, Release, release_of
from maseval.core.exceptions import TaskFormatError
from maseval.data.store import AnyPath

_TASK_CHECKS = (
    criteria.gold_raises,
    criteria.gold_is_refused,
    criteria.initial_data_is_ignored,
    criteria.gold_changes_nothing,
    criteria.gold_misses_its_checks,
    criteria.criteria_can_only_pass,
    criteria.doing_nothing_passes,
    criteria.assertions_not_counted,
    criteria.text_can_never_match,
    criteria.text_matches_by_chance,
    knowledge.ids_nobody_can_know,
    references.persona_contradictions,
    criteria.against_the_policy,
)
_DOMAIN_CHECKS = (
    criteria.checks_can_only_pass,
    criteria.equal_tasks,
    references.unknown_tools_in_policy,
    references.unknown_tools_in_documents,
    references.documents_that_disagree,
)
_MOST_SHOWN = 200


def audit(
    domain: str | Domain | None = None,
    *,
    split: str = "base",
    data_dir: AnyPath | None = None,
    version: AnyVersion = None,
) -> list[Finding]:
    """Return the findings about the tasks of a domain, errors first.

    Without ``domain``, airline, retail and telecom are audited. A domain of your own is given as
    its object, or by name once it is registered.
    """
    names = VALID_DOMAINS if domain is None else (domain,)
    findings = [
        each
        for name in names
        for each in _audit_domain(name, split, data_dir, release_of(name, version))
    ]
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def _audit_domain(
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
        yield from audit_task(task)
    for look in _DOMAIN_CHECKS:
        yield from look(audited, tasks)
    if is_of_the_bank(domain):
        yield from faults_of_documents(audited, tasks)


def audit_task(task: AuditedTask) -> Iterator[Finding]:
    """Yield the findings about one task; what goes wrong in playing it is one as well."""
    try:
        for look in _TASK_CHECKS:
            yield from look(task)
        if is_of_the_bank(task.audited.domain):
            gold = BankGold(task)
            for try_out in (*bank_calls.CHECKS, *bank_facts.CHECKS, *bank_amounts.CHECKS):
                yield from try_out(gold)
    except Exception as error:  # a task's own functions: their faults are findings
        text = f"it cannot be played: {type(error).__name__}: {error}"
        yield criteria.finding_about(task, "task cannot be read", "error", text)


def counts(findings: Sequence[Finding]) -> dict[tuple[str, str], int]:
    return dict(Counter((finding.domain, finding.kind) for finding in findings))


def text(findings: Sequence[Finding]) -> str:
    """Return one line a finding, the worst first."""
    return "\n".join(
        f"{f.severity:<8}{f.domain}{'' if f.task_id is None else f' task {f.task_id}'}: "
        f"{f.kind}: {f.text}"
        for f in findings
    )


def document(findings: Sequence[Finding], version: str) -> str:
    """Return the page: a table of counts, and every finding that is more than a note."""
    return "\n".join([*_head(findings, version), *_details(findings)]) + "\n"


def _head(findings: Sequence[Finding], version: str) -> Iterator[str]:
    domains = list(dict.fromkeys(sorted(finding.domain for finding in findings)))
    yield f"# Audit findings for tau2-bench {version}"
    yield ""
    yield (
        "What `audit()` finds in the published tasks. Scoring follows the original to the letter "
        "all the same; this page says where a number should be read with care. It is written by "
        "`python -m maseval.benchmark.tau2.audit`, and a test checks that it is up to date."
    )
    yield ""
    yield f"| finding | meaning | {' | '.join(domains)} |"
    yield f"|---|---|{'---:|' * len(domains)}"
    found = counts(findings)
    for kind, meaning in KINDS.items():
        row = [found.get((domain, kind), 0) for domain in domains]
        if any(row):
            yield f"| {kind} | {meaning} | {' | '.join(map(str, row))} |"


def _details(findings: Sequence[Finding]) -> Iterator[str]:
    for severity in SEVERITIES:
        chosen = [finding for finding in findings if finding.severity == severity]
        if not chosen:
            continue
        yield from ("", f"## {severity.capitalize()}s" if severity != "info" else "## To know")
        for kind in KINDS:
            of_kind = [finding for finding in chosen if finding.kind == kind]
            if of_kind:
                yield from ("", f"### {kind.capitalize()}", "")
                yield from map(_format_finding, of_kind[:_MOST_SHOWN])


def _format_finding(finding: Finding) -> str:
    where = finding.domain if finding.task_id is None else f"{finding.domain} `{finding.task_id}`"
    words = finding.text.replace("|", "\\|").replace("<", "&lt;").split()
    return f"- {where}: {' '.join(words)}"
