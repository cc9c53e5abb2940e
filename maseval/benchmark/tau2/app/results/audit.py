"""``maseval tau2 audit``: proof-read a benchmark's tasks."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from maseval.app.benchmarks import OnProgress
from maseval.benchmark.tau2.app.running.tasks import BASE_DOMAINS, domain_name
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.review.audit import KINDS, SEVERITIES, TaskFinding
from maseval.benchmark.tau2.review.audit import audit as audit_domains
from maseval.core.exceptions import ConfigurationError


@dataclass(frozen=True)
class Audit:
    """The findings in these domains, the worst first; ``counts`` are by severity."""

    domains: Sequence[str]
    findings: Sequence[TaskFinding]
    counts: Mapping[str, int]
    data_version: str

    def to_dict(self) -> dict[str, object]:
        return {
            "domains": list(self.domains),
            "data_version": self.data_version,
            "counts": dict(self.counts),
            "findings": [finding.to_dict() for finding in self.findings],
        }


def audit(
    domain: str | Sequence[str] = BASE_DOMAINS,
    *,
    severity: str = "info",
    split: str = "base",
    data_version: str | None = None,
    show: str | None = None,
    on_progress: OnProgress | None = None,
) -> Audit:
    """Proof-read the tasks of domains, or the one that ``show`` names.

    ``severity`` is the least that is listed.
    """
    if severity not in SEVERITIES:
        raise ConfigurationError(
            f"severity is {severity!r}; choose one of: {', '.join(SEVERITIES)}"
        )
    listed = SEVERITIES[: SEVERITIES.index(severity) + 1]
    given = [domain] if isinstance(domain, str) else domain
    names = list(dict.fromkeys(map(domain_name, given)))
    found = audit_domains(
        names, split=split, version=data_version, task_id=show, on_progress=on_progress
    )
    findings = [finding for finding in found if finding.severity in listed]
    kinds = list(KINDS)
    findings.sort(key=lambda each: (SEVERITIES.index(each.severity), kinds.index(each.kind)))
    counts = Counter(finding.severity for finding in findings)
    by_severity: dict[str, int] = {name: counts[name] for name in listed}
    return Audit(names, findings, by_severity, release_named(data_version).name)
