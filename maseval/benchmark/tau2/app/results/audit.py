"""``maseval tau2 audit``: proof-read a benchmark's tasks."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from maseval.app.benchmarks import OnProgress
from maseval.benchmark.tau2.app.running.tasks import BASE_DOMAINS, domain_name
from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.review.audit import KINDS, SEVERITIES, Finding
from maseval.benchmark.tau2.review.audit import audit as audit_domain
from maseval.core.exceptions import ConfigurationError


class AuditFinding(NamedTuple):
    """A finding with the meaning of its kind; ``task_id`` is None if it is about all tasks."""

    domain: str
    task_id: str | None
    kind: str
    meaning: str
    severity: str
    text: str
    evidence: Mapping[str, object]


@dataclass(frozen=True)
class Audit:
    """The findings in these domains, the worst first; ``counts`` are by severity."""

    domains: Sequence[str]
    remarks: Sequence[AuditFinding]
    counts: Mapping[str, int]
    data_version: str

    def to_dict(self) -> dict[str, object]:
        """Return the audit as JSON."""
        return {
            "domains": list(self.domains),
            "data_version": self.data_version,
            "counts": dict(self.counts),
            "findings": [remark._asdict() for remark in self.remarks],
        }


def audit(
    domain: str | Sequence[str] = BASE_DOMAINS,
    *,
    severity: str = "info",
    split: str = "base",
    data_version: str | None = None,
    show: str | None = None,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
) -> Audit:
    """Proof-read the tasks of domains; ``severity`` is the least that is listed.

    ``show`` asks for one task, whose experiments are then played again; ``fresh`` looks again where
    findings about the same data are kept from before.
    """
    if severity not in SEVERITIES:
        raise ConfigurationError(
            f"severity is {severity!r}; choose one of: {', '.join(SEVERITIES)}"
        )
    listed = SEVERITIES[: SEVERITIES.index(severity) + 1]
    given = [domain] if isinstance(domain, str) else domain
    names = list(dict.fromkeys(map(domain_name, given)))
    if show is not None:
        found = _of_task(names, show, split, data_version)
    else:
        counter = _Counter(on_progress)
        found = [
            finding
            for name in names
            for finding in audit_domain(
                name, split=split, version=data_version, fresh=fresh, on_progress=counter.next()
            )
        ]
    findings = [finding for finding in found if finding.severity in listed]
    kinds = list(KINDS)
    findings.sort(key=lambda found: (SEVERITIES.index(found.severity), kinds.index(found.kind)))
    counts = Counter(finding.severity for finding in findings)
    return Audit(
        names,
        [AuditFinding(meaning=KINDS.get(each.kind, ""), **vars(each)) for each in findings],
        {name: counts[name] for name in listed},
        release_named(data_version).name,
    )


def _of_task(
    names: Sequence[str], task_id: str, split: str, data_version: str | None
) -> list[Finding]:
    """Return what is found in one task, in each of the domains that have it."""
    found, missing = [], []
    for name in names:
        try:
            found += audit_domain(name, split=split, version=data_version, task_id=task_id)
        except UnknownTaskError as error:
            missing.append(error)
    if len(missing) == len(names):
        raise missing[-1]
    return found


class _Counter:
    """Counts the tasks of all domains, of which each says how many it has when it begins."""

    def __init__(self, on_progress: OnProgress | None) -> None:
        self._on_progress = on_progress
        self._before: list[int] = []

    def next(self) -> OnProgress:
        """Return the counter of the next domain."""
        done = sum(self._before)
        self._before.append(0)

        def count(number: int, total: int) -> None:
            self._before[-1] = total
            if self._on_progress is not None:
                self._on_progress(done + number, done + total)

        return count
