"""The result of a run: a table for people, one JSON object for scripts, an exit code for both."""

import shlex

import typer
from rich.console import Console

from maseval.cli.console import duration, here, inert, print_json
from maseval.cli.errors import INCOMPLETE
from maseval.cli.tables import print_errors, print_rehearsal, scores, used
from maseval.commands.results import RunResult
from maseval.runs import RunFolder

_MOST_REASONS = 3


def finish(result: RunResult, console: Console, *, as_json: bool) -> None:
    """Print the outcome, and leave with exit code 3 if simulations are missing."""
    print_outcome(result, console)
    if as_json:
        print_json(result.to_dict())
    if not result.complete:
        raise typer.Exit(INCOMPLETE)


def print_outcome(result: RunResult, console: Console) -> None:
    """The numbers, what they took, and how to look closer or resume."""
    console.print(scores(result.summary, console.width))
    console.print(f"[dim]{inert(result.summary.method)}[/dim]")
    overall, cost = result.summary.overall, used(result.summary)
    earlier = overall.recorded - result.ran
    took = f"{result.ran} simulations in {duration(result.seconds)}"
    facts = [took, *([f"{earlier} from before"] if earlier > 0 else []), *([cost] if cost else [])]
    console.print(f"{', '.join(facts)}; in {inert(here(result.folder))}", soft_wrap=True)
    print_rehearsal(RunFolder.read(result.folder).config.values, console)
    if overall.failed or not overall.passed:
        _print_reasons(result, console)
    if result.complete:
        name = shlex.quote(here(result.folder))
        console.print(f"maseval show {inert(name)}   maseval report {inert(name)}", soft_wrap=True)
        return
    lacking = overall.planned - overall.recorded + overall.failed
    reason = f" ({inert(result.stopped)})" if result.stopped else ""
    console.print(
        f"[yellow]Incomplete{reason}: {lacking} of {overall.planned} simulations have no result; "
        f"repeat the command with --output {inert(shlex.quote(here(result.folder)))} "
        "to resume.[/yellow]",
        soft_wrap=True,
    )


def _print_reasons(result: RunResult, console: Console) -> None:
    from maseval.commands.summary import lines_of  # help must not load reports

    reported = result.stopped or ""
    every = lines_of(RunFolder.read(result.folder))
    lines = [line for line in every if not line.error or line.error not in reported]
    print_errors(lines, console, _MOST_REASONS)
