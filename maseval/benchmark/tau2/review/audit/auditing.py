"""audit: check a benchmark offline and without a model, and write the page of findings."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Self

from maseval.benchmark.tau2.data_loader import (
    VALID_DOMAINS,
    DataUnavailableError,
    UnknownTaskError,
    data_fingerprint,
    load_raw_tasks,
)
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import AnyVersion, Release, release_of
from maseval.benchmark.tau2.review.audit import (
    bank_amounts,
    bank_calls,
    bank_facts,
    criteria,
    knowledge,
    references,
    telling,
    tool_trials,
    variations,
)
from maseval.benchmark.tau2.review.audit.bank import BankGold, is_of_the_bank
from maseval.benchmark.tau2.review.audit.bank_documents import faults_of_documents
from maseval.benchmark.tau2.review.audit.choices import (
    ChoicesOfDomain,
    unasked_changes,
    undecided_choices,
)
from maseval.benchmark.tau2.review.audit.subject import (
    KINDS,
    SEVERITIES,
    AuditedDomain,
    AuditedTask,
    Finding,
    audited_domain,
)
from maseval.benchmark.tau2.review.audit.ways_around import WaysOfDomain, ways_left_open
from maseval.core.exceptions import TaskFormatError
from maseval.data.cache import cache_dir
from maseval.data.kept import KeptValues, package_fingerprint
from maseval.data.store import AnyPath

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
    criteria.assertions_not_counted,
    criteria.text_can_never_match,
    criteria.text_matches_by_chance,
    knowledge.ids_nobody_can_know,
    knowledge.details_nobody_gives,
    references.persona_contradictions,
    references.strangers,
    references.wrong_statuses,
    criteria.against_the_policy,
    telling.texts_nobody_answers,
)
_EXPERIMENTS = (
    variations.free_texts,
    variations.order_of_writes,
    variations.order_in_lists,
    variations.fewer_calls,
)
# The bank's calls lie within others, and are varied by those who know them.
_BANK_EXPERIMENTS = (*bank_calls.CHECKS, *bank_facts.CHECKS, *bank_amounts.CHECKS)
_DOMAIN_CHECKS = (
    criteria.checks_can_only_pass,
    criteria.equal_tasks,
    criteria.requests_stored_twice,
    tool_trials.faulty_tools,
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
    task_id: str | None = None,
    fresh: bool = False,
    on_progress: OnTask | None = None,
) -> list[Finding]:
    """Return the findings about the tasks of a domain, errors first.

    Without ``domain``, airline, retail and telecom are audited. A domain of your own is given as
    its object, or by name once it is registered. Findings about published data are kept in the
    cache folder; ``fresh`` looks for them again, as does ``task_id``, which asks for one task.
    ``on_progress`` is called with how many tasks have been looked at, of how many.
    """
    names = VALID_DOMAINS if domain is None else (domain,)
    audits = [_Audit(name, split, data_dir, release_of(name, version)) for name in names]
    findings = []
    for number, each in enumerate(audits):
        progress = _shift(on_progress, audits, number)
        found = each.of_task(task_id) if task_id is not None else each.findings(fresh, progress)
        findings += found
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def _shift(on_progress: "OnTask | None", audits: "Sequence[_Audit]", number: int) -> "OnTask":
    """Return a counter of one domain's tasks that goes on where the last one ended."""
    before = sum(len(each.raw_tasks) for each in audits[:number])
    total = sum(len(each.raw_tasks) for each in audits)

    def count(done: int) -> None:
        if on_progress is not None:
            on_progress(before + done, total)

    return lambda done, _: count(done)


FINDINGS = "findings"
"""The key under which the findings about a domain are kept."""


def known_findings(named: str | Domain, version: AnyVersion = None) -> list[Finding]:
    """Return the findings about a published domain that an audit has kept, if there was one.

    A domain of your own, about which none are kept, is audited.
    """
    release = release_of(named, version)
    domain = release.domain(named)
    if domain.data_dir is not None:
        return audit(domain, version=version)
    known = kept_findings(domain, release, "base").get(FINDINGS)
    return [Finding(**each) for each in known or ()]


def kept_findings(domain: Domain, release: Release, split: str) -> KeptValues:
    """Return where the findings about a published domain are kept: data and code decide them."""
    name = f"{domain.name}-{release.name}-{split}"
    clean = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)
    code = package_fingerprint()
    decided_by = [code, name, data_fingerprint(domain, version=release)]
    return KeptValues(cache_dir() / "audit" / f"{clean}.jsonl", code and decided_by)


class _Audit:
    """The audit of one domain of one release."""

    def __init__(
        self, named: str | Domain, split: str, data_dir: AnyPath | None, release: Release
    ) -> None:
        self._domain = release.domain(named)
        self._audited = audited_domain(self._domain, data_dir, release.rules)
        self.raw_tasks = load_raw_tasks(self._domain, split, data_dir, version=release)
        kept = data_dir is None and self._domain.data_dir is None
        self._kept = kept_findings(self._domain, release, split) if kept else None
        self._unreadable: list[Finding] = []

    def findings(self, fresh: bool, on_progress: OnTask) -> list[Finding]:
        """Return what was found before in the same data, or look for it."""
        known = None if fresh or self._kept is None else self._kept.get(FINDINGS)
        found = None if known is None else [Finding(**each) for each in known]
        if found is None:
            found = list(self._look(on_progress))
            if self._kept is not None:
                self._kept.put(FINDINGS, [each.to_dict() for each in found])
                self._kept.save()
        on_progress(len(self.raw_tasks), len(self.raw_tasks))
        return found

    def of_task(self, task_id: str) -> list[Finding]:
        """Play the experiments of one task again; those of the domain that concern it, too."""
        tasks = self._tasks()
        chosen = [task for task in tasks if task.id == task_id]
        if not chosen and not any(each.task_id == task_id for each in self._unreadable):
            raise UnknownTaskError(
                f"{self._domain.name} has no task {task_id!r}; it has {tasks[0].id!r} and "
                f"{len(tasks) - 1} more"
            )
        views = DomainViews.of(self._audited, tasks)
        own = [each for task in chosen for each in audit_task(task, views)]
        shared = self._look_at_all(tasks)
        concerned = [each for each in shared if task_id in _tasks_of(each)]
        return [*(each for each in self._unreadable if each.task_id == task_id), *own, *concerned]

    def _look(self, on_progress: OnTask) -> Iterator[Finding]:
        tasks = self._tasks()
        yield from self._unreadable
        views = DomainViews.of(self._audited, tasks)
        for number, task in enumerate(tasks):
            on_progress(number, len(tasks))
            yield from audit_task(task, views)
        yield from self._look_at_all(tasks)

    def _look_at_all(self, tasks: Sequence[AuditedTask]) -> Iterator[Finding]:
        for look in _DOMAIN_CHECKS:
            yield from look(self._audited, tasks)
        if is_of_the_bank(self._domain):
            yield from faults_of_documents(self._audited, tasks)
            yield from bank_calls.bookkeeping_that_counts(self._audited, tasks)

    def _tasks(self) -> list[AuditedTask]:
        """Read the tasks; those that cannot be read are findings."""
        tasks = []
        self._unreadable = []
        for raw in self.raw_tasks:
            try:
                tasks.append(AuditedTask.of(self._audited, raw))
            except TaskFormatError as error:
                name, task_id = self._domain.name, str(raw.get("id"))
                found = Finding(name, task_id, "task cannot be read", "error", str(error))
                self._unreadable.append(found)
        return tasks


def _tasks_of(finding: Finding) -> Sequence[str]:
    tasks = finding.evidence.get("tasks")
    return [str(each) for each in tasks] if isinstance(tasks, list) else []


class DomainViews(NamedTuple):
    """The knowledge of all tasks of a domain that experiments with one of them need."""

    choices: ChoicesOfDomain
    ways: WaysOfDomain

    @classmethod
    def of(cls, audited: AuditedDomain, tasks: Sequence[AuditedTask]) -> Self:
        return cls(ChoicesOfDomain(audited, tasks), WaysOfDomain(audited, tasks))


def audit_task(task: AuditedTask, views: DomainViews | None = None) -> Iterator[Finding]:
    """Yield the findings about one task; what goes wrong in playing it is one as well.

    Without ``views`` of its domain, nothing is known of the other tasks.
    """
    known = views or DomainViews.of(task.audited, [task])
    try:
        for look in _TASK_CHECKS:
            yield from look(task)
        if is_of_the_bank(task.audited.domain):
            gold = BankGold(task)
            for try_out in _BANK_EXPERIMENTS:
                yield from try_out(gold)
            return
        for vary in _EXPERIMENTS:
            yield from vary(task)
        yield from undecided_choices(task, known.choices)
        yield from unasked_changes(task, known.choices)
        yield from ways_left_open(task, known.ways)
    except DataUnavailableError:  # then no task can be played, and it is not the task's fault
        raise
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
        "`python -m maseval.benchmark.tau2.review.audit`, and a test checks that it is up to date."
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
