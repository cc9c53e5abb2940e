"""Who failed in a run, in the terminal."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from maseval.cli.text import inert
from maseval.commands.tau2.apart import Row, apart


def print_labels(labels: Mapping[str, Any], console: Console) -> None:
    """The labels with their numbers, and pass^k without the failures that are not the agent's."""
    if not labels["failed"]:
        return
    console.print(f"\n[bold]Who failed[/bold] in {labels['failed']} simulations, by rule:")
    for what, number in labels["by_what"].items():
        console.print(f"  {number:>5}  {inert(what)}", highlight=False)
    if rows := apart(labels):
        console.print(_table({"all: the official number": labels["official"], **rows}))
        console.print("[dim]Beside the official number, never in its place.[/dim]")
    console.print("`maseval tau2 explain RUN TASK` shows the evidence.")


def _table(rows: Mapping[str, Row]) -> Table:
    table = Table()
    table.add_column("counted")
    table.add_column("left out", justify="right")
    for name in next(iter(rows.values()))["values"]:
        table.add_column(name, justify="right")
    for name, row in rows.items():
        values = ("" if value is None else f"{value:.1%}" for value in row["values"].values())
        table.add_row(name, str(row["left_out"] or ""), *values)
    return table
