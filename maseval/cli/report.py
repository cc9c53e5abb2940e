"""``maseval report``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli import completion
from maseval.cli.completion import quietly
from maseval.cli.console import counting
from maseval.cli.options import Explain, examples, loaded_domain

EXAMPLES = examples(
    ("maseval report last", "report.html in the folder of the latest run"),
    ("maseval report last --no-explain", "without explanations of what failed, in less time"),
    ("maseval report own.jsonl", "what your own benchmark's FileResultLogger wrote"),
    ("maseval report runs/mine --output mine.html --title 'Mine'", "elsewhere, under a name"),
)


def report(
    run: Annotated[
        str,
        typer.Argument(
            help="A run: its folder, its name, or last; or a file of a FileResultLogger.",
            autocompletion=quietly(completion.runs),
        ),
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The HTML file.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    domain: Annotated[
        str | None,
        typer.Option(
            "--domain",
            "-d",
            help="FILE.py:NAME of a domain of your own that the run is in, to explain failures.",
            callback=loaded_domain,
        ),
    ] = None,
    explain: Explain = True,
) -> None:
    """Write a run as one HTML file that opens without a server or network."""
    with counting("explained") as count:
        page = commands.report(run, output, title=title, explain=explain, on_progress=count)
    typer.echo(page)
