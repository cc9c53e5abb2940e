"""``maseval report``."""

from pathlib import Path
from typing import Annotated, Unpack

import typer

from maseval import commands
from maseval.cli.console import counting
from maseval.cli.options import (
    Explain,
    Looked,
    examples,
    with_scoring_options,
)
from maseval.core.scoring_options import ScoringKeywords

EXAMPLES = examples(
    ("maseval report last", "report.html in the folder of the latest run"),
    ("maseval report last --no-explain", "without explanations of what failed, in less time"),
    ("maseval report own.jsonl", "what your own benchmark's FileResultLogger wrote"),
    ("maseval report theirs.json", "a results file of tau2-bench, its rewards recomputed"),
    ("maseval report careful --against hurried", "two runs compared, trial beside trial"),
    ("maseval report last --no-audit", "without badges on tasks that are known to be faulty"),
    ("maseval report runs/mine --output mine.html --title 'Mine'", "elsewhere, under a name"),
)


@with_scoring_options()
def report(
    run: Looked,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The HTML file.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    explain: Explain = True,
    audit: Annotated[
        bool,
        typer.Option("--audit/--no-audit", help="Mark tasks in which the audit finds something."),
    ] = True,
    against: Annotated[
        str | None, typer.Option(help="A second run or file, to compare with the first.")
    ] = None,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Write a run as one HTML file that opens without a server or network."""
    with counting("explained") as count:
        page = commands.report(
            run,
            output,
            title=title,
            explain=explain,
            audit=audit,
            against=against,
            on_progress=count,
            **scoring,
        )
    typer.echo(page)
