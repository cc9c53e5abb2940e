"""``maseval tau2 score``."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from maseval import commands
from maseval.cli.console import counting, inert, print_json, shortened, stderr, stdout
from maseval.cli.errors import FAILED
from maseval.cli.options import AsJson, examples
from maseval.cli.results import estimate

if TYPE_CHECKING:  # help must not load what makes it
    from maseval.commands.tau2.score import FileScore

EXAMPLES = examples(
    ("maseval tau2 score results.json", "a results file of tau2-bench, or several"),
    ("maseval tau2 score last --fail-on-disagreement", "a run of ours; exit code 1 if it differs"),
    ("maseval tau2 score runs/* --json", "for scripts"),
)

_SHOWN = 20


def score(
    files: Annotated[list[str], typer.Argument(help="Results files or runs.", metavar="FILE...")],
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Count what the original could not replay as a disagreement."
        ),
    ] = False,
    fail_on_disagreement: Annotated[
        bool,
        typer.Option("--fail-on-disagreement", help="Exit code 1 if any verdict differs."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Judge recorded conversations again, and compare with the recorded rewards."""
    with counting("judged") as count:
        scores = commands.tau2.score(
            files, strict=strict, on_progress=lambda score: count(score.simulations)
        )
    for each in scores:
        _print_score(each, stderr() if as_json else stdout())
    agree = not any(each.disagreements for each in scores)
    if as_json:
        print_json({"agree": agree, "files": [each.to_dict() for each in scores]})
    if fail_on_disagreement and not agree:
        raise typer.Exit(FAILED)


def _print_score(score: "FileScore", console: Console) -> None:
    """Agreement, disagreements, and the numbers that follow from the new verdicts."""
    console.print(f"[bold]{inert(str(score.path))}[/bold]", soft_wrap=True)
    share = score.agreeing / score.compared if score.compared else 1.0
    console.print(
        f"  {score.simulations} simulations, {score.compared} compared: "
        f"{score.agreeing} agree ({share:.2%}), {len(score.disagreements)} differ"
    )
    for reason, number in score.skipped.items():
        console.print(f"  {number} not compared: {inert(reason)}")
    if score.not_replayable:
        console.print(f"  {score.not_replayable} cannot be replayed, and count as failures")
    console.print(f"  passed: {score.passes} now, {score.recorded_passes} as recorded")
    for k, value in score.pass_hat.items():
        console.print(f"  pass^{k} {estimate(value)}", highlight=False)
    for one in score.disagreements[:_SHOWN]:
        console.print(f"  [red]differs[/red] task {inert(one.task_id)}, trial {one.trial}")
        for difference in one.differences:
            console.print(f"    {inert(shortened(difference, 300))}", highlight=False)
    if len(score.disagreements) > _SHOWN:
        console.print(f"  and {len(score.disagreements) - _SHOWN} more; --json lists all")
