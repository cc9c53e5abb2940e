"""``maseval plots``."""

from pathlib import Path
from typing import Annotated, Unpack

import typer

from maseval import commands
from maseval.cli.console import counting, inert, stderr
from maseval.cli.options import (
    Explain,
    Looked,
    examples,
    with_scoring_options,
)
from maseval.core.scoring_options import ScoringKeywords

EXAMPLES = examples(
    ("maseval plots last", "SVG files in the folder of the latest run"),
    ("maseval plots last --format pdf", "for a paper"),
    ("maseval plots runs/mine --output figures", "elsewhere"),
)


@with_scoring_options()
def plots(
    run: Looked,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write the files to.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="svg, png or pdf; the last two need the extra plots.")
    ] = "svg",
    explain: Explain = True,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Draw a run: pass^k against k, the trials of each task, and why simulations failed."""
    with counting("explained") as count:
        drawn = commands.plots(
            run,
            output,
            form=form,
            explain=explain,
            on_progress=count,
            **scoring,
        )
    for note in drawn.notes:
        stderr().print(f"[yellow]Note:[/yellow] {inert(note)}", soft_wrap=True)
    for path in drawn:
        typer.echo(path)
