"""``maseval tau2 audit`` and ``errata``: what is wrong in the benchmark itself."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from maseval import commands
from maseval.benchmark.tau2.app.running.options import DATA_VERSION
from maseval.cli import completion
from maseval.cli.console import (
    counting,
    indent,
    inert,
    number_columns,
    print_json,
    shorten_line,
    stdout,
)
from maseval.cli.groups import examples
from maseval.cli.options import AsJson, OnlyDomains, Split, TasksVersion, argument, option
from maseval.core.words import count_of

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.app.results.audit import Audit
    from maseval.benchmark.tau2.app.results.errata import ErrataFound
    from maseval.benchmark.tau2.review.audit import TaskFinding
    from maseval.benchmark.tau2.review.errata import Erratum

AUDIT_EXAMPLES = examples(
    ("maseval tau2 audit", "airline, retail and telecom: where to read numbers with care"),
    ("maseval tau2 audit library --severity info", "another domain, or one of your own"),
    ("maseval tau2 audit retail --show 15", "one task: what was tried, and what happened"),
    ("maseval tau2 audit retail --json", "for scripts"),
)
_COLOURS = {"error": "red", "warning": "yellow", "info": "dim"}


def audit(
    domain: list[str] | None = argument(
        None,
        "Domains, or your own: FILE.py:NAME.",
        show_default="airline, retail, telecom",
        autocompletion=completion.domains,
    ),
    severity: str | None = option(
        None,
        "Lowest severity to list: error, warning or info.",
        show_default="warning; info with --show or --json",
    ),
    split: Split = "base",
    data_version: TasksVersion = DATA_VERSION,
    show: str | None = option(
        None, "Only this task, with what was tried and what happened.", metavar="TASK"
    ),
    as_json: AsJson = False,
) -> None:
    """Proof-read a benchmark by experiment: is a right answer sure to pass, and a wrong one not?"""
    chosen = {"domain": domain} if domain else {}
    with counting("looked at", "tasks") as count:
        found = commands.tau2.audit(
            **chosen,
            severity=severity or ("info" if as_json or show is not None else "warning"),
            split=split,
            data_version=data_version,
            show=show,
            on_progress=count,
        )
    if as_json:
        print_json(found.to_dict())
        return
    console = stdout()
    if show is not None:
        for finding in found.findings:
            _print_experiment(finding, console)
        console.print(_sum_up_audit(found, severity or "info"))
        return
    for _, alike in groupby(found.findings, key=lambda each: (each.severity, each.kind)):
        _print_kind(list(alike), console)
    if found.findings:
        console.print(_count_findings(found))
    console.print(_sum_up_audit(found, severity or "warning"))


def _print_experiment(finding: "TaskFinding", console: Console) -> None:
    """Print a finding with what was tried: the gold's call, the one instead, and what happened."""
    colour = _COLOURS[finding.severity]
    console.print(
        f"[bold {colour}]{inert(finding.kind)}[/] ({inert(finding.place)}): {inert(finding.text)}",
        soft_wrap=True,
    )
    for line in ([f"gold: {finding.call}"] if finding.call else []) + [*finding.evidence]:
        console.print(indent(inert(line), 2))
    console.print()


def _print_kind(findings: "Sequence[TaskFinding]", console: Console) -> None:
    kind, colour = findings[0].kind, _COLOURS[findings[0].severity]
    console.print(f"[bold {colour}]{inert(kind)}[/]: {inert(findings[0].meaning)}")
    for each in findings:
        words = f"{inert(each.place)}: {inert(shorten_line(each.text, 400))}"
        console.print(indent(words, 2))
    console.print()


def _count_findings(found: "Audit") -> Table:
    table = Table("severity", "finding", *number_columns(*map(inert, found.domains)))
    numbers = Counter((each.severity, each.kind, each.domain) for each in found.findings)
    for severity, kind in dict.fromkeys((each.severity, each.kind) for each in found.findings):
        row = [str(numbers[severity, kind, name] or "") for name in found.domains]
        table.add_row(f"[{_COLOURS[severity]}]{severity}[/]", inert(kind), *row)
    return table


def _sum_up_audit(found: "Audit", severity: str) -> str:
    listed = [f"{number} of severity {name}" for name, number in found.counts.items() if number]
    if not listed:
        where = f"{', '.join(found.domains)} of tau2-bench {found.data_version}"
        return f"nothing of severity {severity} or worse in {where}"
    number = count_of(len(found.findings), "finding")
    return f"{number} in tau2-bench {found.data_version}: {', '.join(listed)}"


_MOST_TASKS = 4
ERRATA_EXAMPLES = examples(
    ("maseval tau2 errata", "all that is known to be wrong"),
    ("maseval tau2 errata --domain retail --data-version verified", "of one domain and release"),
    ("maseval tau2 errata --task retail/18", "one task, with what would be right"),
    ("maseval tau2 errata --json", "for scripts"),
)


def errata(
    domain: OnlyDomains = None,
    task: str | None = option(None, "Only this task, such as retail/18, in detail.", "--task"),
    data_version: TasksVersion = DATA_VERSION,
    as_json: AsJson = False,
) -> None:
    """List what is known to be wrong in tasks, and what a sound verdict would be."""
    found = commands.tau2.errata(domain or (), task=task, data_version=data_version)
    if as_json:
        print_json(found.to_dict())
        return
    console = stdout()
    for (name, kind, what, verdict), alike in groupby(
        found.errata, key=lambda each: (each.domain, each.kind, each.what, str(each.sound_verdict))
    ):
        same = list(alike)
        more = f" and {len(same) - _MOST_TASKS} more" if len(same) > _MOST_TASKS else ""
        tasks = ", ".join(each.task for each in same[:_MOST_TASKS]) + more
        console.print(f"[bold]{inert(name)} {inert(tasks)}[/]: {inert(kind)}")
        lines = [what, f"Sound verdict: {verdict}.", *(_detail(found, same[0]) if task else ())]
        console.print(indent(inert("\n".join(lines)), 2))
    if found.errata and task is None:
        console.print(_count_errata(found))
    console.print(inert(_sum_up_errata(found, task)))


def _detail(found: "ErrataFound", erratum: "Erratum") -> Iterator[str]:
    yield f"Known from: {'; '.join(erratum.known)}."
    for title, calls in found.solutions(erratum):
        yield f"{title}:"
        yield from (f"  {call}" for call in calls)


def _count_errata(found: "ErrataFound") -> Table:
    table = Table("what is wrong", *number_columns(*map(inert, found.domains)))
    for kind in dict.fromkeys(each.kind for each in found.errata):
        numbers = [found.counts.get((kind, name), 0) for name in found.domains]
        table.add_row(kind, *(str(number or "") for number in numbers))
    return table


def _sum_up_errata(found: "ErrataFound", task: str | None) -> str:
    where = f"tau2-bench {found.data_version}"
    if not found.errata:
        return f"nothing is known against {task or ', '.join(found.domains)} in {where}"
    left_out = len({(e.domain, e.task) for e in found.errata if e.sound_verdict.leave_out})
    number = len(found.errata)
    return (
        f"{number} {'erratum' if number == 1 else 'errata'} in {count_of(found.tasks, 'task')} "
        f"of {where}; tasks left out of the sound number: {left_out}"
    )


COMMANDS = {audit: AUDIT_EXAMPLES, errata: ERRATA_EXAMPLES}
