"""``maseval plots``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.console import counting, inert, stderr
from maseval.cli.options import (
    AsRecorded,
    DataVersion,
    DomainOfFile,
    EmbeddedTasks,
    Explain,
    Looked,
    RemapTasks,
    examples,
)

EXAMPLES = examples(
    ("maseval plots last", "SVG files in the folder of the latest run"),
    ("maseval plots last --format pdf", "for a paper"),
    ("maseval plots runs/mine --output figures", "elsewhere"),
)


def plots(
    run: Looked,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write the files to.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="svg, png or pdf; the last two need the extra plots.")
    ] = "svg",
    explain: Explain = True,
    as_recorded: AsRecorded = False,
    embedded_tasks: EmbeddedTasks = False,
    remap_tasks: RemapTasks = False,
    data_version: DataVersion = None,
    domain: DomainOfFile = None,
) -> None:
    """Draw a run: pass^k against k, the trials of each task, and why simulations failed."""
    with counting("explained") as count:
        drawn = commands.plots(
            run,
            output,
            form=form,
            explain=explain,
            as_recorded=as_recorded,
            embedded_tasks=embedded_tasks,
            remap_tasks=remap_tasks,
            data_version=data_version,
            domain=domain,
            on_progress=count,
        )
    for note in drawn.notes:
        stderr().print(f"[yellow]Note:[/yellow] {inert(note)}", soft_wrap=True)
    for path in drawn:
        typer.echo(path)
