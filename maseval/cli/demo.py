"""``maseval demo``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.console import here, inert, print_json, stderr, stdout
from maseval.cli.display import display
from maseval.cli.errors import INCOMPLETE
from maseval.cli.options import AsJson, examples
from maseval.cli.results import print_outcome

EXAMPLES = examples(
    ("maseval demo", "all 278 base tasks, four times each"),
    ("maseval demo --output runs/demo", "into a folder of your choice"),
    ("maseval demo --json", "for scripts"),
)


def demo(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Run folder; an existing run resumes.")
    ] = None,
    concurrency: Annotated[
        int, typer.Option("--concurrency", "-j", help="Simulations at once.")
    ] = 4,
    as_json: AsJson = False,
) -> None:
    """Run tau2 with a scripted agent that makes mistakes, and write the report; no key needed."""
    progress = stderr()

    def explain(problem: str) -> None:
        progress.print(f"[yellow]The data of tau2-bench is not available:[/] {inert(problem)}")
        progress.print("Running on the built-in library domain instead.")

    result = commands.demo(
        output=output,
        concurrency=concurrency,
        display=display(progress),
        on_missing_data=explain,
    )
    console = progress if as_json else stdout()
    print_outcome(result.run, console)
    if result.report is not None:
        console.print(f"Report: {inert(here(result.report))}", soft_wrap=True)
    if as_json:
        print_json(result.to_dict())
    if not result.run.complete:
        raise typer.Exit(INCOMPLETE)
