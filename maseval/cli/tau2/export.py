"""``maseval tau2 export``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.console import inert, stderr
from maseval.cli.options import Overwrite, RunName, examples

EXAMPLES = examples(
    ("maseval tau2 export last", "one file for each domain, beside the run's log"),
    ("maseval tau2 export runs/mine --output retail.json", "into a file of your choice"),
)


def export(
    run: RunName,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file, or for several domains the folder."),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a run as results files of tau2-bench v0.2.0, which it loads and shows."""
    for written in commands.tau2.export(run, output, overwrite=overwrite):
        typer.echo(written.path)
        if written.omitted:
            stderr().print(
                f"[yellow]{len(written.omitted)} simulations of {inert(written.domain)} ended in a "
                f"way that v0.2.0 cannot represent; they are listed in "
                f"{inert(str(written.omitted_path))}[/yellow]",
                soft_wrap=True,
            )
