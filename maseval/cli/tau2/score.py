"""``maseval tau2 score``."""

import json
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.console import stderr, stdout
from maseval.cli.errors import FAILED
from maseval.cli.examples import examples
from maseval.cli.scored import counter, print_score

EXAMPLES = examples(
    ("maseval tau2 score results.json", "a results file of tau2-bench, or several"),
    ("maseval tau2 score last --fail-on-disagreement", "a run of ours; exit code 1 if it differs"),
    ("maseval tau2 score runs/* --json", "for scripts"),
)


def score(
    files: Annotated[list[str], typer.Argument(help="Results files or runs.", metavar="FILE...")],
    strict: Annotated[
        bool,
        typer.Option("--strict", help="What the original could not replay is a disagreement."),
    ] = False,
    fail_on_disagreement: Annotated[
        bool,
        typer.Option("--fail-on-disagreement", help="Exit with 1 if any verdict differs."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object at the end.")] = False,
) -> None:
    """Judge recorded conversations again, and compare with the recorded rewards."""
    with counter(stderr()) as count:
        scores = commands.tau2.score(files, strict=strict, on_progress=count)
    for each in scores:
        print_score(each, stderr() if as_json else stdout())
    agree = not any(each.disagreements for each in scores)
    if as_json:
        typer.echo(json.dumps({"agree": agree, "files": [each.to_dict() for each in scores]}))
    if fail_on_disagreement and not agree:
        raise typer.Exit(FAILED)
