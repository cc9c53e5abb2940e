"""``maseval tau2 audit``: a benchmark's tasks, proof-read."""

from collections import Counter
from collections.abc import Sequence

from maseval.benchmark.tau2.trust.audit import KINDS, SEVERITIES, Finding
from maseval.benchmark.tau2.trust.audit import audit as audit_domain
from maseval.commands.tau2.findings import Audit, Remark
from maseval.commands.tau2.worlds import BASE_DOMAINS
from maseval.core.exceptions import ConfigurationError


def audit(
    domain: str | Sequence[str] = BASE_DOMAINS, *, severity: str = "info", split: str = "base"
) -> Audit:
    """Proof-read the tasks of domains; ``severity`` is the least that is told."""
    if severity not in SEVERITIES:
        raise ConfigurationError(
            f"severity is {severity!r}; choose one of: {', '.join(SEVERITIES)}"
        )
    told = SEVERITIES[: SEVERITIES.index(severity) + 1]
    names = list(dict.fromkeys([domain] if isinstance(domain, str) else domain))
    findings = [
        finding
        for name in names
        for finding in audit_domain(name, split=split)
        if finding.severity in told
    ]
    kinds = list(KINDS)
    findings.sort(key=lambda found: (SEVERITIES.index(found.severity), kinds.index(found.kind)))
    counts = Counter(finding.severity for finding in findings)
    return Audit(names, [_remark(each) for each in findings], {name: counts[name] for name in told})


def _remark(found: Finding) -> Remark:
    return Remark(
        domain=found.domain,
        task_id=found.task_id,
        kind=found.kind,
        meaning=KINDS.get(found.kind, ""),
        severity=found.severity,
        text=found.text,
        evidence=found.evidence,
    )
