"""``maseval compare``."""

import json
from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.comparison import print_comparison
from maseval.cli.console import stderr, stdout
from maseval.cli.examples import examples
from maseval.cli.text import inert

EXAMPLES = examples(
    ("maseval compare careful hurried", "two runs below ./runs: which is better, how sure is that"),
    ("maseval compare last theirs.json -k 4", "a run and a results file, by pass^4"),
    ("maseval compare a b c --plot curves.svg", "every pair of several, and a drawing"),
    ("maseval compare a b --json", "for scripts"),
)


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(help="Runs or results files, two or more.", metavar="RUN RUN..."),
    ],
    k: Annotated[int, typer.Option("-k", help="The pass^k that is compared.")] = 1,
    plot: Annotated[
        Path | None, typer.Option(help="Draw pass^k against k into this SVG file.")
    ] = None,
    plot_cost: Annotated[
        Path | None, typer.Option(help="Draw cost against pass^k into this SVG file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object at the end.")] = False,
) -> None:
    """Compare runs, paired by task: the difference, how sure it is, and what would decide it."""
    found = commands.compare(runs, k=k, plot=plot, plot_cost=plot_cost)
    console = stderr() if as_json else stdout()
    print_comparison(found, console)
    for drawn in found.drawn:
        console.print(f"Drawn: {inert(str(drawn))}", soft_wrap=True)
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
