"""A run in the terminal: its numbers, and a mark for each trial of each task."""

from rich.console import Console
from rich.table import Table

from maseval.cli.ends import print_errors
from maseval.cli.labels import print_labels
from maseval.cli.outcome import print_rehearsal, shown
from maseval.cli.tables import scores, used
from maseval.cli.text import inert
from maseval.commands.results import SimulationLine
from maseval.commands.views import RunView

MARKS = {
    "pass": "[green]+[/green]",
    "fail": "[red]-[/red]",
    "error": "[yellow]![/yellow]",
    "unjudged": "[yellow]?[/yellow]",
}


def print_run(view: RunView, console: Console) -> None:
    """The whole run."""
    console.print(f"[bold]{inert(str(shown(view.folder.path)))}[/bold]", soft_wrap=True)
    print_rehearsal(view.folder.config.values, console)
    console.print(scores(view.summary, console.width))
    console.print(f"[dim]{inert(view.summary.method)}[/dim]")
    if cost := used(view.summary):
        console.print(cost)
    for damage in view.folder.damaged:
        console.print(f"[red]damaged record, {inert(str(damage))}[/red]")
    console.print(_trials(view))
    console.print("+ passed, - failed, ! ended by an error, ? no verdict", markup=False)
    print_errors(view.lines, console)
    if view.labels is not None:
        print_labels(view.labels, console)


def _trials(view: RunView) -> Table:
    tasks: dict[tuple[str, str], list[SimulationLine]] = {}
    for line in view.lines:
        tasks.setdefault((line.domain, line.task_id), []).append(line)
    table = Table()
    for name in ("domain", "task", "trials"):
        table.add_column(name, overflow="fold")
    table.add_column("passed", justify="right")
    for (domain, task_id), lines in tasks.items():
        ordered = sorted(lines, key=lambda line: line.trial)
        passed = sum(line.outcome == "pass" for line in lines)
        marks = "".join(MARKS[line.outcome] for line in ordered)
        table.add_row(inert(domain), inert(task_id), marks, f"{passed}/{len(lines)}")
    return table
