"""``maseval tau2 audit``, ``errata``, ``comply --rules``: what is known of tasks and policies."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from maseval.app.benchmarks import OnProgress
from maseval.benchmark.tau2.app.running.tasks import BASE_DOMAINS, domain_name
from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.formats.message import render_call
from maseval.benchmark.tau2.review.audit import KINDS, SEVERITIES, TaskFinding
from maseval.benchmark.tau2.review.audit import audit as audit_domains
from maseval.benchmark.tau2.review.errata import Erratum, errata_of, load_errata
from maseval.benchmark.tau2.review.policy.rules import Rule
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


@dataclass(frozen=True)
class ErrataFound:
    """The errata of some domains, or of one of their tasks, in a release; remarks come last."""

    domains: Sequence[str]
    errata: Sequence[Erratum]
    data_version: str

    @property
    def tasks(self) -> int:
        """The number of tasks that they are about."""
        return len({(each.domain, each.task) for each in self.errata})

    @staticmethod
    def solutions(erratum: Erratum) -> Iterator[tuple[str, list[str]]]:
        """Yield what would be right, each a title and its calls."""
        correction = erratum.sound_verdict
        titled = [
            *([] if correction.gold is None else [("Corrected gold", correction.gold)]),
            *(("Another right end state", steps) for steps in correction.accept),
        ]
        for title, steps in titled:
            yield title, [render_call(step.model_dump()) for step in steps] or ["no write at all"]
        if correction.tell is not None:
            yield "The agent must say", [*correction.tell] or ["nothing in particular"]

    def to_dict(self) -> dict[str, object]:
        return {
            "domains": list(self.domains),
            "data_version": self.data_version,
            "errata": [each.model_dump(mode="json", exclude_unset=True) for each in self.errata],
        }


def errata(
    domain: str | Sequence[str] = (), *, task: str | None = None, data_version: str | None = None
) -> ErrataFound:
    """List the errata of domains, by default of all that have any, or of the task called ``task``.

    A task may be called ``12`` or ``retail/12``.
    """
    release = release_named(data_version)
    given = [domain] if isinstance(domain, str) else list(domain)
    if task is not None and "/" in task and not given:
        given, task = [task.partition("/")[0]], task.partition("/")[2]
    published = (each.domain for each in load_errata() if release.tasks.version in each.releases)
    names = list(dict.fromkeys(map(domain_name, given or published)))
    for name in names if given else ():
        release.domain(name)  # one that the release does not have is an error
    found = [each for name in names for each in errata_of(name, release)]
    if task is not None:
        if len(given) != 1:
            raise ConfigurationError(f"which domain's task {task!r}? Name one with --domain")
        load_raw_task(names[0], task, version=release)  # an unknown one is an error
        found = [each for each in found if each.task == task]
    found.sort(key=lambda each: each.is_remark)
    return ErrataFound(names, found, release.name)


@dataclass(frozen=True)
class RuleBook:
    """The rules of a domain, and the statements of its policy that they come from.

    A statement is in our words, with the ``rules`` on it or the ``reason`` why it has none.
    """

    domain: str
    rules: Sequence[Rule]
    statements: Sequence[Mapping[str, Any]]

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
            "statements": list(self.statements),
        }


def rule_book(domain: str | Domain) -> RuleBook:
    """Return the rules of a domain's policy."""
    found = domain_named(domain)
    folder = resources.files("maseval.benchmark.tau2.review.policy") / found.folder_name
    place = folder / "statements.json"
    text = place.read_text(encoding="utf-8") if place.is_file() else "[]"
    return RuleBook(found.name, list(found.rules), json.loads(text))
