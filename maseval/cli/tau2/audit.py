"""``maseval tau2 audit`` and ``errata``: what is wrong in the benchmark itself."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer
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
from maseval.cli.options import AsJson, OnlyDomains, Split, TasksVersion
from maseval.core.words import count_of

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.app.results.audit import Audit, AuditFinding
    from maseval.benchmark.tau2.app.results.errata import ErrataFound
    from maseval.benchmark.tau2.review.errata import Erratum

AUDIT_EXAMPLES = examples(
    ("maseval tau2 audit", "airline, retail and telecom: where to read numbers with care"),
    ("maseval tau2 audit library --severity info", "another domain, or one of your own"),
    ("maseval tau2 audit retail --show 15", "one task: what was tried, and what happened"),
    ("maseval tau2 audit retail --json", "for scripts"),
)
_COLOURS = {"error": "red", "warning": "yellow", "info": "dim"}


def audit(
    domain: Annotated[
        list[str] | None,
        typer.Argument(
            help="Domains, or your own: FILE.py:NAME.",
            show_default="airline, retail, telecom",
            autocompletion=completion.domains,
        ),
    ] = None,
    severity: Annotated[
        str | None,
        typer.Option(
            help="Lowest severity to list: error, warning or info.",
            show_default="warning; info with --show or --json",
        ),
    ] = None,
    split: Split = "base",
    data_version: TasksVersion = DATA_VERSION,
    show: Annotated[
        str | None,
        typer.Option(
            metavar="TASK", help="Play the experiments of one task again, and print what was tried."
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Look again, whatever is kept from before.")
    ] = False,
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
            fresh=fresh,
            on_progress=count,
        )
    if as_json:
        print_json(found.to_dict())
        return
    console = stdout()
    if show is not None:
        for remark in found.remarks:
            _print_experiment(remark, console)
        console.print(_sum_up_audit(found, severity or "info"))
        return
    for _, alike in groupby(found.remarks, key=lambda remark: (remark.severity, remark.kind)):
        _print_kind(list(alike), console)
    if found.remarks:
        console.print(_count_remarks(found))
    console.print(_sum_up_audit(found, severity or "warning"))


def _print_experiment(remark: "AuditFinding", console: Console) -> None:
    """Print a finding with what was tried: the gold's call, the one instead, and what happened."""
    where = remark.domain if remark.task_id is None else f"{remark.domain}/{remark.task_id}"
    colour = _COLOURS[remark.severity]
    console.print(
        f"[bold {colour}]{inert(remark.kind)}[/] ({inert(where)}): {inert(remark.text)}",
        soft_wrap=True,
    )
    for label, key in (("gold", "gold"), ("tried", "tried"), ("happened", "happened")):
        value = remark.evidence.get(key)
        for line in value if isinstance(value, list) else [value] if value else ():
            console.print(indent(f"{label}: {inert(str(line))}", 2))
    console.print()


def _print_kind(remarks: "Sequence[AuditFinding]", console: Console) -> None:
    kind, colour = remarks[0].kind, _COLOURS[remarks[0].severity]
    console.print(f"[bold {colour}]{inert(kind)}[/]: {inert(remarks[0].meaning)}")
    for remark in remarks:
        where = remark.domain if remark.task_id is None else f"{remark.domain}/{remark.task_id}"
        words = f"{inert(where)}: {inert(shorten_line(remark.text, 400))}"
        console.print(indent(words, 2))
    console.print()


def _count_remarks(found: "Audit") -> Table:
    table = Table("severity", "finding", *number_columns(*map(inert, found.domains)))
    rows = dict.fromkeys((remark.severity, remark.kind) for remark in found.remarks)
    for severity, kind in rows:
        numbers = [
            sum((f.domain, f.severity, f.kind) == (name, severity, kind) for f in found.remarks)
            for name in found.domains
        ]
        table.add_row(
            f"[{_COLOURS[severity]}]{severity}[/]", inert(kind), *(str(n or "") for n in numbers)
        )
    return table


def _sum_up_audit(found: "Audit", severity: str) -> str:
    listed = [f"{number} of severity {name}" for name, number in found.counts.items() if number]
    if not listed:
        where = f"{', '.join(found.domains)} of tau2-bench {found.data_version}"
        return f"nothing of severity {severity} or worse in {where}"
    number = count_of(len(found.remarks), "finding")
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
    task: Annotated[
        str | None, typer.Option("--task", help="Only this task, such as retail/18, in detail.")
    ] = None,
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
