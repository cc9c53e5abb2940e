"""How a run came out: a table for people, one JSON object for scripts, an exit code for both."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path

import typer
from rich.console import Console

from maseval import commands
from maseval.cli.ends import print_errors
from maseval.cli.errors import INCOMPLETE
from maseval.cli.tables import scores, used
from maseval.cli.text import duration, inert
from maseval.commands.results import RunResult
from maseval.commands.views import RunView
from maseval.runs import RunFolder

_MOST_REASONS = 3


def tell(result: RunResult, console: Console, *, as_json: bool) -> None:
    """Print the outcome, and leave with exit code 3 if something is still to be run."""
    print_outcome(result, console)
    if as_json:
        typer.echo(json.dumps(result.to_dict()))
    if not result.complete:
        raise typer.Exit(INCOMPLETE)


def print_outcome(result: RunResult, console: Console) -> None:
    """The numbers, what they took, and how to look closer or go on."""
    console.print(scores(result.summary, console.width))
    console.print(f"[dim]{inert(result.summary.method)}[/dim]")
    overall, cost = result.summary.overall, used(result.summary)
    earlier = overall.recorded - result.ran
    took = f"{result.ran} simulations in {duration(result.seconds)}"
    facts = [took, *([f"{earlier} from before"] if earlier > 0 else []), *([cost] if cost else [])]
    console.print(f"{', '.join(facts)}; in {inert(str(shown(result.folder)))}", soft_wrap=True)
    print_rehearsal(RunFolder.read(result.folder).config.values, console)
    if overall.failed or not overall.passed:
        _print_reasons(result, console)
    if result.complete:
        name = shlex.quote(str(shown(result.folder)))
        console.print(f"maseval show {inert(name)}   maseval report {inert(name)}", soft_wrap=True)
        return
    lacking = overall.planned - overall.recorded + overall.failed
    reason = f" ({inert(result.stopped)})" if result.stopped else ""
    console.print(
        f"[yellow]Incomplete{reason}: {lacking} of {overall.planned} simulations have no result; "
        f"repeat the command with --output {inert(shlex.quote(str(shown(result.folder))))} "
        "to go on.[/yellow]",
        soft_wrap=True,
    )


def _print_reasons(result: RunResult, console: Console) -> None:
    view = commands.show(result.folder, explain=False)
    assert isinstance(view, RunView)  # no task was named
    told = result.stopped or ""
    lines = [line for line in view.lines if not line.error or line.error not in told]
    print_errors(lines, console, _MOST_REASONS)


def print_rehearsal(config: Mapping[str, object], console: Console) -> None:
    """Say so if nobody was measured."""
    agent = config.get("agent")
    if isinstance(agent, Mapping) and (player := agent.get("rehearse")):
        console.print(
            f"[yellow]A rehearsal: the agent's model was played by {inert(str(player))}.[/yellow]"
        )


def shown(path: Path) -> Path:
    """The path as somebody here would write it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
