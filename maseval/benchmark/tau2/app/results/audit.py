"""``maseval tau2 audit``, ``errata``, ``comply --rules``: what is known of tasks and policies."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from maseval.app.benchmarks import OnProgress
from maseval.benchmark.tau2.app.running.tasks import BASE_DOMAINS, domain_name
from maseval.benchmark.tau2.domains import DOMAINS, Domain, domain_named
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.review.audit import KINDS, SEVERITIES, TaskFinding
from maseval.benchmark.tau2.review.audit import audit as audit_domains
from maseval.benchmark.tau2.review.errata import Erratum, errata_of, load_errata
from maseval.benchmark.tau2.review.policy.rules import Rule


@dataclass(frozen=True)
class Audit:
    """The findings in these domains, the worst first."""

    domains: Sequence[str]
    findings: Sequence[TaskFinding]
    data_version: str

    @property
    def of_release(self) -> str:
        """The release that the domains are of; nothing if all are somebody's own."""
        published = any(name in DOMAINS for name in self.domains)
        return f" of tau2-bench {self.data_version}" if published else ""

    @property
    def counts(self) -> dict[str, int]:
        """The number of findings by severity."""
        found = Counter(each.severity for each in self.findings)
        return {name: found[name] for name in SEVERITIES}

    def to_dict(self) -> dict[str, object]:
        return {
            "domains": list(self.domains),
            "data_version": self.data_version,
            "counts": self.counts,
            "findings": [finding.to_dict() for finding in self.findings],
        }


def audit(
    domain: str | Sequence[str] = BASE_DOMAINS,
    *,
    split: str = "base",
    data_version: str | None = None,
    show: str | None = None,
    on_progress: OnProgress | None = None,
) -> Audit:
    """Proof-read the tasks of domains, or the one that ``show`` names."""
    given = [domain] if isinstance(domain, str) else domain
    names = list(dict.fromkeys(map(domain_name, given)))
    found = audit_domains(
        names, split=split, version=data_version, task_id=show, on_progress=on_progress
    )
    kinds = list(KINDS)
    order = sorted(found, key=lambda e: (SEVERITIES.index(e.severity), kinds.index(e.kind)))
    return Audit(names, order, release_named(data_version).name)


@dataclass(frozen=True)
class ErrataFound:
    """The errata of some domains in a release; remarks come last."""

    domains: Sequence[str]
    errata: Sequence[Erratum]
    data_version: str

    def to_dict(self) -> dict[str, object]:
        return {
            "domains": list(self.domains),
            "data_version": self.data_version,
            "errata": [each.model_dump(mode="json", exclude_unset=True) for each in self.errata],
        }


def errata(domain: str | Sequence[str] = (), *, data_version: str | None = None) -> ErrataFound:
    """List the errata of domains, by default of all that have any."""
    release = release_named(data_version)
    given = [domain] if isinstance(domain, str) else list(domain)
    published = (each.domain for each in load_errata() if release.tasks.version in each.releases)
    names = list(dict.fromkeys(map(domain_name, given or published)))
    for name in names if given else ():
        release.domain(name)  # one that the release does not have is an error
    found = [each for name in names for each in errata_of(name, release)]
    found.sort(key=lambda each: each.is_remark)
    return ErrataFound(names, found, release.name)


@dataclass(frozen=True)
class RuleBook:
    """The rules of a domain, each with its place in the policy."""

    domain: str
    rules: Sequence[Rule]

    def to_dict(self) -> dict[str, Any]:
        return {
            "domain": self.domain,
            "rules": [
                {
                    **{name: getattr(each, name) for name in ("id", "text", "place")},
                    "kind": each.kind.value,
                    "tools": sorted(each.tools),
                }
                for each in self.rules
            ],
        }


def rule_book(domain: str | Domain) -> RuleBook:
    """Return the rules of a domain's policy."""
    found = domain_named(domain)
    return RuleBook(found.name, list(found.rules))
