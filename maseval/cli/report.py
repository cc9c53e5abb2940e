"""``maseval report``, ``plots`` and ``export``: files that are written from runs."""

from pathlib import Path
from typing import Unpack

import typer

from maseval import commands
from maseval.cli.console import counting, inert, print_json, stderr
from maseval.cli.groups import examples
from maseval.cli.options import (
    AsJson,
    Explain,
    RunOrResultsFile,
    flag,
    option,
    renamed_option,
    runs_argument,
    with_scoring_options,
)
from maseval.core.scoring_options import ScoringKeywords
from maseval.core.words import count_of

REPORT_EXAMPLES = examples(
    ("maseval report last", "report.html in the folder of the latest run"),
    ("maseval report last --no-explain", "without explanations of what failed, in less time"),
    ("maseval report own.jsonl", "what your own benchmark's FileResultLogger wrote"),
    ("maseval report theirs.json", "a results file of tau2-bench, its rewards recomputed"),
    ("maseval report --compare careful hurried gold", "runs compared, in one file"),
    ("maseval report runs/mine --output mine.html --title 'Mine'", "elsewhere, under a name"),
)


@with_scoring_options()
def report(
    runs: list[str] = runs_argument(
        "A run: its folder, its name, or last; or a results file of tau2-bench. Several "
        "are compared."
    ),
    output: Path | None = option(None, "The HTML file.", "--output", "-o"),
    title: str | None = option(None, "Title of the page."),
    explain: Explain = True,
    compare: bool = flag("Compare the runs, two or more, on one page.", "--compare"),
    against: list[str] | None = option(None, "A run or file to compare with the first."),
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Write a run, or several compared, as one HTML file that opens without server or network."""
    first, *others = [*runs, *(against or [])]
    if compare and not others:
        raise typer.BadParameter(f"1 run, {first}, cannot be compared; name two or more")
    with counting("explained") as count:
        page = commands.report(
            first,
            output,
            title=title,
            explain=explain,
            against=others,
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
    output: Path | None = option(None, "Folder to write the files to.", "--output", "-o"),
    form: str = option("svg", "svg, png or pdf; the last two need the extra plots.", "--format"),
    explain: Explain = True,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Draw a run: pass^k against k, the trials of each task, and why simulations failed."""
    with counting("explained") as count:
        drawn = commands.plots(
            run, output, form=form, explain=explain, on_progress=count, **scoring
        )
    for note in drawn.notes:
        stderr().print(f"[yellow]Note:[/yellow] {inert(note)}", soft_wrap=True)
    for path in drawn:
        typer.echo(path)


EXPORT_EXAMPLES = examples(
    ("maseval export last --format csv", "simulations.csv: a line for each simulation"),
    ("maseval export runs --format parquet --table all --output tables", "everything below ./runs"),
    ("maseval export a b --format jsonl --table tool_calls --output -", "two runs, into a program"),
    ("maseval export theirs.json --format csv --as-recorded", "a results file, its own rewards"),
    ("maseval export last --format csv --spreadsheet", "no text is taken for a formula"),
)


@with_scoring_options()
def export(
    runs: list[str] = runs_argument(
        "Runs, folders that hold runs, results files, or files of reports."
    ),
    form: str | None = option(
        None, "parquet, csv or jsonl.", "--format", show_default="by the ending of --output"
    ),
    to: str | None = option(None, "", hidden=True),
    table: list[str] | None = option(
        None,
        "runs, simulations, messages, tool_calls, checks, findings, scores, remarks or "
        "all (repeatable).",
        show_default="simulations",
    ),
    output: Path | None = option(
        None,
        "The file (without an ending, that of the form is added), - for the standard "
        "output, or the folder for several tables.",
        "--output",
        "--out",
        "-o",
        show_default="TABLE.FORM here",
    ),
    overwrite: bool = flag("Replace existing files.", "--overwrite", "--force"),
    spreadsheet: bool = option(
        False, "In CSV, put ' before texts that a spreadsheet would compute."
    ),
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Write runs as tables with typed columns: Parquet, CSV or JSON lines.

    A table has the same columns whatever the runs. Rows are written as they are read; a file
    appears when it is complete. Parquet needs pyarrow.
    """
    from maseval.frames.export import export as write  # help must not load it

    written = write(
        runs,
        to=renamed_option(to, "--to", form, "--format"),
        tables=table or ["simulations"],
        output=output,
        overwrite=overwrite,
        spreadsheet=spreadsheet,
        **scoring,
    )
    if as_json:
        print_json({"tables": [each.to_dict() for each in written]})
        return
    for each in written:
        if each.path is not None:
            typer.echo(each.path)
        stderr().print(f"{inert(each.table)}: {count_of(each.rows, 'row')}")


COMMANDS = {report: REPORT_EXAMPLES, plots: PLOTS_EXAMPLES, export: EXPORT_EXAMPLES}
