"""``maseval export``."""

from pathlib import Path
from typing import Annotated, Unpack

import typer

from maseval.cli import completion
from maseval.cli.completion import quietly
from maseval.cli.console import inert, print_json, stderr
from maseval.cli.options import (
    AsJson,
    examples,
    with_scoring_options,
)
from maseval.core.scoring_options import ScoringKeywords

EXAMPLES = examples(
    ("maseval export last --to csv", "simulations.csv: a line for each simulation"),
    ("maseval export runs --to parquet --table all --output tables", "everything below ./runs"),
    ("maseval export a b --to jsonl --table tool_calls --output -", "two runs, to another program"),
    ("maseval export theirs.json --to csv --as-recorded", "a results file, with its own rewards"),
    ("maseval export last --to csv --spreadsheet", "no text is taken for a formula"),
)


@with_scoring_options()
def export(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Runs, folders that hold runs, results files, or files of reports.",
            metavar="RUN",
            autocompletion=quietly(completion.runs_or_files),
        ),
    ],
    to: Annotated[str, typer.Option(help="Form of the files: parquet, csv or jsonl.")],
    table: Annotated[
        list[str] | None,
        typer.Option(
            help="runs, simulations, messages, tool_calls, checks or all (repeatable).",
            show_default="simulations",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "--out",
            "-o",
            help="The file, - for the standard output, or the folder for several tables.",
            show_default="TABLE.FORM here",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", "--force", help="Replace existing files.")
    ] = False,
    spreadsheet: Annotated[
        bool,
        typer.Option(help="In CSV, put ' before texts that a spreadsheet would compute."),
    ] = False,
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Write runs as tables with typed columns: Parquet, CSV or JSON lines.

    The columns are those of docs/frames.md. Rows are written as they are read; a file appears when
    it is complete. Parquet needs pyarrow.
    """
    from maseval.frames.export import export as write  # help must not load it

    written = write(
        runs,
        to=to,
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
        stderr().print(f"{inert(each.table)}: {each.rows} rows", highlight=False)
