"""``maseval tau2 errata``."""

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from maseval import commands
from maseval.benchmark.tau2.app.running.options import DATA_VERSION
from maseval.cli.console import indent, inert, number_columns, print_json, stdout
from maseval.cli.groups import examples
from maseval.cli.options import AsJson, OnlyDomains, TasksVersion
from maseval.core.words import count_of

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.app.results.errata import ErrataFound
    from maseval.benchmark.tau2.errata import Erratum

_MOST_TASKS = 4
EXAMPLES = examples(
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
    for (name, _), alike in groupby(found.errata, key=lambda each: (each.domain, _about(each))):
        same = list(alike)
        more = f" and {len(same) - _MOST_TASKS} more" if len(same) > _MOST_TASKS else ""
        tasks = ", ".join(each.task for each in same[:_MOST_TASKS]) + more
        head = f"[bold]{inert(name)} {inert(tasks)}[/]: {inert(same[0].kind)}"
        console.print(head)
        lines = [*_lines(same[0]), *(_detail(found, same[0]) if task else ())]
        console.print(indent(inert("\n".join(lines)), 2))
    if found.errata and task is None:
        console.print(_counts(found))
    console.print(inert(_sum(found, task)))


def _about(erratum: "Erratum") -> tuple[str, str, str]:
    return erratum.kind, erratum.what, str(erratum.sound_verdict)


def _lines(erratum: "Erratum") -> Iterator[str]:
    yield erratum.what
    yield f"Sound verdict: {erratum.sound_verdict}."


def _detail(found: "ErrataFound", erratum: "Erratum") -> Iterator[str]:
    yield f"Known from: {'; '.join(erratum.known)}."
    for title, calls in found.solutions(erratum):
        yield f"{title}:"
        yield from (f"  {call}" for call in calls)


def _counts(found: "ErrataFound") -> Table:
    table = Table("what is wrong", *number_columns(*map(inert, found.domains)))
    for kind in dict.fromkeys(each.kind for each in found.errata):
        numbers = [found.counts.get((kind, name), 0) for name in found.domains]
        table.add_row(kind, *(str(number or "") for number in numbers))
    return table


def _sum(found: "ErrataFound", task: str | None) -> str:
    where = f"tau2-bench {found.data_version}"
    if not found.errata:
        return f"nothing is known against {task or ', '.join(found.domains)} in {where}"
    left_out = len({(e.domain, e.task) for e in found.errata if e.sound_verdict.leave_out})
    number = len(found.errata)
    return (
        f"{number} {'erratum' if number == 1 else 'errata'} in {count_of(found.tasks, 'task')} "
        f"of {where}; tasks left out of the sound number: {left_out}"
    )
