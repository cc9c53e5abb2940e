"""``maseval plots``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.console import stderr
from maseval.cli.examples import examples
from maseval.cli.looking import looking

EXAMPLES = examples(
    ("maseval plots last", "SVG files in the folder of the latest run"),
    ("maseval plots runs/mine --output figures", "elsewhere"),
)


def plots(
    run: Annotated[str, typer.Argument(help="A run: its folder, its name, or last.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The folder.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain/--no-explain", help="Draw who failed, too.")
    ] = True,
) -> None:
    """Draw a run: pass^k against k, the trials of each task, and why simulations failed."""
    with looking(stderr()) as tell:
        drawn = commands.plots(run, output, explain=explain, on_progress=tell)
    for path in drawn:
        typer.echo(path)
