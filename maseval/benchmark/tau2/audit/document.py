"""Findings as a page of documentation, or as lines on a screen."""

from collections import Counter
from collections.abc import Iterator, Sequence

from maseval.benchmark.tau2.audit.finding import KINDS, SEVERITIES, Finding

_MOST_SHOWN = 200


def counts(findings: Sequence[Finding]) -> dict[tuple[str, str], int]:
    """How many findings of each kind there are in each domain."""
    return dict(Counter((finding.domain, finding.kind) for finding in findings))


def text(findings: Sequence[Finding]) -> str:
    """One line a finding, the worst first."""
    return "\n".join(
        f"{f.severity:<8}{f.domain}{'' if f.task_id is None else f' task {f.task_id}'}: "
        f"{f.kind}: {f.text}"
        for f in findings
    )


def document(findings: Sequence[Finding], version: str) -> str:
    """The page: a table of counts, and every finding that is more than a note."""
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
                yield from map(_line, of_kind[:_MOST_SHOWN])


def _line(finding: Finding) -> str:
    where = finding.domain if finding.task_id is None else (f"{finding.domain} `{finding.task_id}`")
    return f"- {where}: {_plain(finding.text)}"


def _plain(words: str) -> str:
    """Text that a page shows as it is."""
    return " ".join(words.replace("|", "\\|").replace("<", "&lt;").split())
