"""``maseval report``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.console import counting
from maseval.cli.options import Explain, RunName, examples

EXAMPLES = examples(
    ("maseval report last", "report.html in the folder of the latest run"),
    ("maseval report last --no-explain", "without explanations of what failed, in less time"),
    ("maseval report runs/mine --output mine.html --title 'Mine'", "elsewhere, under a name"),
)


def report(
    run: RunName,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The HTML file.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    explain: Explain = True,
) -> None:
    """Write a run as one HTML file that opens without a server or network."""
    with counting("explained") as count:
        page = commands.report(run, output, title=title, explain=explain, on_progress=count)
    typer.echo(page)
