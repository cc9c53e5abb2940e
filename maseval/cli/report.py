"""``maseval report``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.console import stderr
from maseval.cli.examples import examples
from maseval.cli.looking import looking

EXAMPLES = examples(
    ("maseval report last", "report.html in the folder of the latest run"),
    ("maseval report last --no-explain", "without explanations of what failed, in less time"),
    ("maseval report runs/mine --output mine.html --title 'Mine'", "elsewhere, under a name"),
)


def report(
    run: Annotated[str, typer.Argument(help="A run: its folder, its name, or last.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file.")] = None,
    title: Annotated[str | None, typer.Option(help="What the page is called.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain/--no-explain", help="Say who failed, and why.")
    ] = True,
) -> None:
    """Write a run as one HTML file that opens without a server or network."""
    with looking(stderr()) as tell:
        page = commands.report(run, output, title=title, explain=explain, on_progress=tell)
    typer.echo(page)
