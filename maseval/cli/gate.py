"""``maseval gate``."""

from pathlib import Path
from typing import Annotated, Unpack

import typer

from maseval import commands
from maseval.cli import completion
from maseval.cli.command_line import FAILED
from maseval.cli.compare import p_value, points
from maseval.cli.completion import quietly
from maseval.cli.console import counting, inert, print_json, stderr, stdout
from maseval.cli.options import (
    AsJson,
    RunOrResultsFile,
    examples,
    with_scoring_options,
)
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions

EXAMPLES = examples(
    ("maseval gate last --baseline runs/main", "exit code 1 if the run is worse beyond chance"),
    ("maseval gate last --baseline main.json --margin 2", "a loss of two points is put up with"),
    ("maseval gate last --baseline main --junit gate.xml --markdown gate.md", "for a CI service"),
)


@with_scoring_options()
def gate(
    run: RunOrResultsFile,
    baseline: Annotated[
        str,
        typer.Option(
            help="The run to hold it against: a run or a results file.",
            autocompletion=quietly(completion.runs_or_files),
        ),
    ],
    k: Annotated[int, typer.Option("-k", help="The pass^k that decides.")] = 1,
    margin: Annotated[
        float, typer.Option(help="Loss that is put up with, in percentage points.")
    ] = 0.0,
    alpha: Annotated[float, typer.Option(help="Chance to call a run worse that is not.")] = 0.05,
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Judge a run that lacks simulations.")
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(help="Write JUnit XML to this file: a test for each task.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write a summary in Markdown to this file.")
    ] = None,
    report_url: Annotated[
        str | None, typer.Option(help="Where the run's HTML report is, for links in the summary.")
    ] = None,
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Fail if a run is worse than its baseline beyond what chance explains.

    The exit code is 0 if it is not shown to be worse, 1 if it is, and 2 if the two cannot be
    compared. Files are written in all but the last case.
    """
    from maseval.core.storage.files import write_bytes  # help must not load it

    with counting("judged") as count:
        found = commands.gate(
            run,
            baseline,
            k=k,
            margin=margin / 100,
            alpha=alpha,
            allow_incomplete=allow_incomplete,
            options=ScoringOptions(**scoring),
            on_progress=count,
        )
    if junit is not None:
        write_bytes(junit, found.to_junit())
    if markdown is not None:
        write_bytes(markdown, found.to_markdown(report_url).encode())
    console, main = stderr() if as_json else stdout(), found.main
    for line in found.cautions:
        console.print(f"[yellow]Note:[/yellow] {inert(line)}", highlight=False, soft_wrap=True)
    span = main.interval
    reach = ""
    if span is not None:
        reach = f" \\[{100 * span.low:.1f}, {100 * span.high:.1f}] ({span.level:.0%} interval)"
    console.print(
        f"{main.name}: {main.first:.1%} before, {main.second:.1%} now, "
        f"[bold]{points(main.difference)}[/bold] percentage points{reach}, "
        f"p {_p(main.test.p_value)}; {len(found.fell)} tasks fell, {len(found.rose)} rose",
        highlight=False,
        soft_wrap=True,
    )
    worse = found.verdict == "worse"
    console.print("[red]worse[/red]" if worse else "[green]not shown to be worse[/green]")
    if as_json:
        print_json(found.to_dict())
    if worse:
        raise typer.Exit(FAILED)


def _p(value: float) -> str:
    shown = p_value(value)
    return shown if shown.startswith("<") else f"= {shown}"
