"""``maseval show``."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Unpack

import typer
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from maseval import commands
from maseval.app.results.explained import cause_in, names_of
from maseval.app.results.recording import notes_on, origin_in_words
from maseval.cli.console import counting, here, indent, inert, print_json, stdout
from maseval.cli.conversation import print_simulation, print_unexplained
from maseval.cli.groups import examples
from maseval.cli.options import (
    TASK_OF_RUN,
    AsJson,
    Explain,
    RunOrResultsFile,
    argument,
    domain_option,
    flag,
    load_domain,
    option,
    with_scoring_options,
)
from maseval.cli.results import (
    MARKS,
    consumption_of,
    first_fitting,
    print_conventions,
    print_errors,
    print_human,
    print_rehearsal,
    print_variants,
    print_warnings,
    scores,
)
from maseval.core.finding import LEFT_OUT, SOUND_PASS, Finding
from maseval.core.outcome import Outcome
from maseval.core.scoring_options import ScoringKeywords
from maseval.core.words import count_of, excerpt
from maseval.runs import Annotations

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.results.examined import RunFindings
    from maseval.app.results.show import RunView
    from maseval.runs.live import WorkerHistory
    from maseval.runs.verdict_check import VerdictCheck

EXAMPLES = examples(
    ("maseval show last", "the latest run: its numbers, and each task's trials"),
    ("maseval show last retail/12", "one conversation, and why it passed or failed"),
    ("maseval show theirs.json", "a results file of tau2-bench, its rewards recomputed"),
    ("maseval show runs/mine 12 3 --full", "its trial 3, nothing shortened"),
    ("maseval show last --failed --label 'missing write'", "what failed for this reason"),
    ("maseval show last --sound", "which tasks are unsound, and which verdicts that changes"),
    ("maseval show last --json", "its numbers and simulations, for scripts"),
)

_LONGEST_FACT = 100
_ChosenDomain = Annotated[
    str | None,
    domain_option("Only this domain; one of your own as FILE.py:NAME.", callback=load_domain),
]


@with_scoring_options(domain=_ChosenDomain)
def show(
    run: RunOrResultsFile,
    task: Annotated[str | None, TASK_OF_RUN] = None,
    trial: int | None = argument(None, "Which trial.", show_default="first"),
    failed: bool = flag("Only simulations that did not pass.", "--failed"),
    label: str | None = option(
        None, "Only simulations with such a finding: its name, a part of it, or its source."
    ),
    sound: bool = flag("Say which tasks and verdicts the sound number changes.", "--sound"),
    explain: Explain = True,
    full: bool = flag("Do not shorten texts.", "--full"),
    all_k: bool = flag("Every pass^k, not only 1 to 4, 8, 16, ...", "--all-k"),
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Show a run, or one of its simulations: what was said and done, and the verdict."""
    from maseval.app.results.show import SimulationView

    if sound and not explain:
        raise typer.BadParameter(
            "--sound needs what --no-explain leaves out; leave out one of them"
        )
    with counting("explained") as count:
        view = commands.show(
            *(run, task, trial),
            failed=failed,
            label=label,
            explain=explain,
            all_k=all_k,
            on_progress=count,
            **scoring,
        )
    if as_json:
        print_json(view.to_dict())
    elif isinstance(view, SimulationView):
        print_simulation(view, stdout(), full=full)
    elif failed or label or scoring.get("domain"):
        _print_chosen(view, stdout())
    else:
        _print_run(view, stdout(), sound=sound, all_k=all_k)


def _print_run(
    view: "RunView", console: Console, *, sound: bool = False, all_k: bool = False
) -> None:
    """The whole run."""
    console.print(f"[bold]{inert(here(view.folder.path))}[/bold]", soft_wrap=True)
    if command := view.folder.config.values.get("command"):
        console.print(f"[dim]{inert(str(command))}[/dim]", soft_wrap=True)
    if origin := origin_in_words(view.folder.config.values):
        console.print(f"Continues {inert(origin)}", soft_wrap=True)
    _print_annotations(view.annotations, console)
    print_check(view.found.check, console)
    for note in (*notes_on(view.folder), *filter(None, [view.unreadable_annotations])):
        console.print(f"[yellow]Note:[/yellow] {inert(note)}")
    print_rehearsal(view.folder.config.values, console)
    print_human(view.folder.config.values, console)
    print_warnings(view.folder.config.values, console)
    console.print(scores(view.summary, console.width, all_k))
    console.print(f"[dim]{inert(view.summary.method)}[/dim]")
    print_conventions(view.summary.conventions, console)
    if cost := consumption_of(view.summary, view.folder.config.values):
        console.print(cost)
    _print_workers(view.workers, console)
    for damage in view.folder.damaged:
        console.print(f"[red]damaged record, {inert(str(damage))}[/red]", soft_wrap=True)
    console.print(_trials(view, console.width))
    check = view.found.check
    unconfirmed = ", x verdict does not hold" if check and check.differing else ""
    legend = f"+ passed, - failed, ! ended by an error, ? no verdict{unconfirmed}"
    console.print(legend, markup=False)
    if view.reading:
        console.print(inert(view.reading), soft_wrap=True)
    print_errors(view.lines, console)
    print_causes(view.found.causes, console)
    _print_beside(view.found, console, details=sound)
    if view.users:
        console.print(f"\n{inert(view.users)} `maseval tau2 users RUN` shows each.")
    print_unexplained(view.found.unexplained, console)


def print_check(check: "VerdictCheck | None", console: Console) -> None:
    """Print which recorded verdicts do not hold, or why they were not recomputed."""
    if check is None or (note := check.note_on_recomputed) is None:
        return
    colour = "bold red" if check.differing else "yellow"
    console.print(f"[{colour}]{inert(note)}[/{colour}]", soft_wrap=True)


def _print_annotations(given: Annotations, console: Console) -> None:
    if given.tags:
        console.print(f"Tags: {inert(', '.join(given.tags))}", soft_wrap=True)
    if given.note:
        console.print(indent(inert(given.note), 2))


def _print_workers(workers: "WorkerHistory", console: Console) -> None:
    """Print the simulations of each node, and the workers that died."""
    if workers.finished:
        counts = (f"{node} {number}" for node, number in sorted(workers.finished.items()))
        told = f"Simulations by node: {', '.join(counts)}"
        console.print(inert(told), soft_wrap=True)
    for incident in workers.incidents:
        console.print(f"[yellow]{inert(incident)}[/yellow]", soft_wrap=True)


def _print_chosen(view: "RunView", console: Console) -> None:
    console.print(f"[bold]{inert(here(view.folder.path))}[/bold]", soft_wrap=True)
    print_check(view.found.check, console)
    if view.chosen:
        forms = (partial(_chosen_table, view), partial(_chosen_list, view))
        console.print(first_fitting(console.width, *forms))
    console.print(f"{len(view.chosen)} of {len(view.lines)} simulations")
    print_unexplained(view.found.unexplained, console)


def _chosen_table(view: "RunView") -> Table:
    table = Table("task", "trial", "outcome", "findings", "ended by")
    for name, trial, *facts in _chosen_rows(view):
        table.add_row(name, trial, *facts)
    return table


def _chosen_list(view: "RunView") -> Table:
    """Two lines for each simulation, for ids that leave no space beside them."""
    table = Table(show_header=False)
    for name, trial, *facts in _chosen_rows(view):
        table.add_row(f"{name}, trial {trial}\n  {', '.join(filter(None, facts))}")
    table.columns[0].overflow = "fold"
    return table


def _chosen_rows(view: "RunView") -> Iterator[tuple[str, ...]]:
    for line in view.chosen:
        yield (
            inert(str(line.key)),
            str(line.trial),
            f"{MARKS[line.kind]} {line.kind}",
            inert(", ".join(_facts(view.findings_on(line)))),
            inert(line.ended or line.status),
        )


def _facts(findings: Sequence[Finding]) -> list[str]:
    """Return the names of findings, the cause of a failure with the fact that decides it."""
    cause = cause_in(findings)
    names = names_of(findings)
    if cause is None:
        return names
    fact = f"{cause.name}: {excerpt(cause.text, _LONGEST_FACT)}"
    return [fact if name == cause.name else name for name in names]


def _mark(view: "RunView", line: Outcome) -> str:
    check = view.found.check
    if check and line.simulation in check.differing:
        return "[bold red]x[/bold red]"
    return MARKS[line.kind]


def _trials(view: "RunView", width: int) -> Table:
    """Return a table of the tasks: each in a row, or in lines of one row if only ids are wrapped.

    Both look the same, but Rich takes several times as long for rows as for lines.
    """
    has_domains = any(line.domain for line in view.lines)
    parse = cache(partial(Text.from_markup, emoji=False))
    rows = [[*map(parse, row)] for row in _task_rows(view, has_domains)]
    table, task = _task_table(rows, has_domains), 1 + has_domains
    if not rows or any("\n" in cell.plain for row in rows for cell in row):
        return table
    needed = [max(map(_width, (each.header, *each.cells))) for each in table.columns]
    wanted, needed[task] = needed[task], 0
    # What is left beside the other columns, their margins and the borders.
    room = min(wanted, width - sum(needed) - 3 * len(needed) - 1)
    if room < max(needed):  # Rich would wrap other columns, too
        return table
    lines = [line for row in rows for line in _fold(row, task, room)]
    return _task_table([[*map(Text("\n").join, zip(*lines, strict=True))]], has_domains)


def _width(cell: RenderableType) -> int:
    return cell.cell_len if isinstance(cell, Text) else cell_len(str(cell))


def _fold(row: Sequence[Text], task: int, room: int) -> Iterator[Sequence[Text]]:
    """Yield the lines of a row in which the task has so much room."""
    if row[task].cell_len <= room:
        yield row
        return
    for number, part in enumerate(row[task].wrap(Console(), room, overflow="fold")):
        line = [Text() if number else cell for cell in row]
        line[task] = part
        yield line


def _task_table(rows: Iterable[Sequence[Text]], has_domains: bool) -> Table:
    table = Table()
    # By its number a task with a long id can be named.
    table.add_column("#", justify="right", no_wrap=True)
    for name in (*(["domain"] if has_domains else []), "task", "trials"):
        table.add_column(name, overflow="fold")
    table.add_column("passed", justify="right")
    for row in rows:
        table.add_row(*row)
    return table


def _task_rows(view: "RunView", has_domains: bool) -> Iterator[tuple[str, ...]]:
    tasks: dict[tuple[str, str], list[Outcome]] = {}
    for line in view.lines:
        tasks.setdefault((line.domain, line.task_id), []).append(line)
    numbers = Counter[str]()
    for (domain, task_id), lines in tasks.items():
        ordered = sorted(lines, key=lambda line: line.trial)
        passed = sum(line.kind == "pass" for line in lines)
        marks = "".join(_mark(view, line) for line in ordered)
        named = [inert(domain), inert(task_id)] if has_domains else [inert(task_id)]
        yield str(numbers[domain]), *named, marks, f"{passed}/{len(lines)}"
        numbers[domain] += 1


def print_causes(causes: Mapping[str, int], console: Console) -> None:
    """Print who failed and how, with the numbers."""
    if not causes:
        return
    failed = count_of(sum(causes.values()), "simulation")
    console.print(f"\n[bold]Who failed[/bold] in {failed}, by rule:")
    for what, number in causes.items():
        console.print(f"  {number:>5}  {inert(what)}")
    console.print("`maseval show RUN TASK` shows the evidence.")


def _print_beside(found: "RunFindings", console: Console, *, details: bool) -> None:
    """Print the numbers beside the official one, and with ``details`` what makes the difference."""
    if all(each.is_official for each in found.scores):
        return
    console.print("\n[bold]Beside the official number[/bold], never in its place:")
    print_variants(found.scores, console)
    if not details:
        console.print("`maseval show RUN --sound` and `maseval tau2 comply RUN` show why.")
        return
    tasks = dict[str, None]()
    for one, each in ((one, each) for one, some in found.findings.items() for each in some):
        name = one.task
        if each.source == "erratum" and each.kind == LEFT_OUT:
            tasks[f"[yellow]left out[/yellow] {inert(f'task {name}: {each.text}')}"] = None
        elif each.source == "erratum":
            mark = MARKS["pass" if each.kind == SOUND_PASS else "fail"]
            tasks[f"{mark} {inert(f'{name} trial {one.trial}: {each.text}')}"] = None
    for line in tasks:
        console.print(line)
