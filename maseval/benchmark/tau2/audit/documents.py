"""Findings about a knowledge base: tools that do not exist, documents that contradict another."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from maseval.benchmark.tau2.audit.audited import AuditedDomain, AuditedTask
from maseval.benchmark.tau2.audit.finding import Finding
from maseval.benchmark.tau2.domains.domain import DomainDocument

# Tools that are found by reading have a number at the end, which no other word has.
_FOUND_TOOL = re.compile(r"\b[a-z]+(?:_[a-z0-9]+)+_\d{4}\b")
_FIGURE = re.compile(r"\$\d[\d,]*(?:\.\d+)?|\d+(?:\.\d+)?%|\b\d+ (?:hours?|days?|months?|years?)\b")


def unknown_tools_in_documents(
    audited: AuditedDomain, tasks: Sequence[AuditedTask]
) -> Iterator[Finding]:
    """Tools that an agent is told to use and that nobody has."""
    kits = [kit for kit in (audited.domain.toolkit, audited.domain.user_toolkit) if kit]
    for document in audited.documents:
        for name in dict.fromkeys(_FOUND_TOOL.findall(document.content)):
            if not any(kit.has_tool(name) for kit in kits):
                text = f"{document.id} ({document.title}) names {name}, which neither side has"
                yield _found(audited, "document names an unknown tool", text, document)


def documents_that_disagree(
    audited: AuditedDomain, tasks: Sequence[AuditedTask]
) -> Iterator[Finding]:
    """Documents of one title, each with figures that the other does not have."""
    by_title: dict[str, list[DomainDocument]] = defaultdict(list)
    for document in audited.documents:
        by_title[document.title].append(document)
    for title, (first, *others) in by_title.items():
        for other in others:
            mine, theirs = _figures(first), _figures(other)
            if mine - theirs and theirs - mine:
                text = (
                    f"both {first.id} and {other.id} have the title {title!r}; only the former "
                    f"has {_shown(mine - theirs)}, only the latter {_shown(theirs - mine)}"
                )
                yield _found(audited, "documents disagree", text, first, other)


def _figures(document: DomainDocument) -> set[str]:
    return set(_FIGURE.findall(document.content))


def _shown(figures: set[str]) -> str:
    return ", ".join(sorted(figures))


def _found(audited: AuditedDomain, kind: str, text: str, *documents: DomainDocument) -> Finding:
    evidence = {"documents": [document.id for document in documents]}
    return Finding(audited.domain.name, None, kind, "warning", text, evidence)


DOMAIN_CHECKS = (unknown_tools_in_documents, documents_that_disagree)
