"""``maseval report`` and ``maseval plots``."""

from pathlib import Path
from typing import Annotated, Unpack

import typer

from maseval import commands
from maseval.cli.console import counting, inert, stderr
from maseval.cli.options import Explain, RunOrResultsFile, examples, with_scoring_options
from maseval.core.scoring_options import ScoringKeywords

REPORT_EXAMPLES = examples(
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
    run: RunOrResultsFile,
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


PLOTS_EXAMPLES = examples(
    ("maseval plots last", "SVG files in the folder of the latest run"),
    ("maseval plots last --format pdf", "for a paper"),
    ("maseval plots runs/mine --output figures", "elsewhere"),
)


@with_scoring_options()
def plots(
    run: RunOrResultsFile,
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


COMMANDS = {report: REPORT_EXAMPLES, plots: PLOTS_EXAMPLES}
