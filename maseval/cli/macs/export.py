"""``maseval macs export``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.console import inert, stderr
from maseval.cli.groups import examples
from maseval.cli.options import Overwrite, RunName

EXAMPLES = examples(
    ("maseval macs export last", "a folder for each domain, in the run's folder"),
    ("maseval macs export runs/mine --trial 2 --output theirs", "another trial, elsewhere"),
)


def export(
    run: RunName,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder in which each domain gets one of its own."),
    ] = None,
    trial: Annotated[int, typer.Option(help="Which trial of every task.")] = 0,
    overwrite: Overwrite = False,
) -> None:
    """Write a run as conversations and results of the original, whose script judges them too."""
    for written in commands.macs.export(run, output, trial=trial, overwrite=overwrite):
        typer.echo(written.folder)
        if written.unjudged:
            stderr().print(
                f"[yellow]{len(written.unjudged)} of {written.conversations} conversations have no "
                f"verdict and no result: {inert(', '.join(written.unjudged))}[/yellow]"
            )
