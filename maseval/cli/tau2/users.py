"""``maseval tau2 users``."""

from typing import TYPE_CHECKING, Annotated, Unpack

import typer
from rich.console import Console
from rich.table import Column, Table

from maseval import commands
from maseval.app.results.task_names import TaskName
from maseval.cli.command_line import FAILED
from maseval.cli.console import (
    counting,
    here,
    inert,
    number_columns,
    print_json,
    print_unreadable,
    stderr,
    stdout,
)
from maseval.cli.groups import examples
from maseval.cli.options import RUNS_OR_FILES, AsJson, with_scoring_options
from maseval.cli.results import estimate
from maseval.core.scoring_options import ScoringKeywords

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.results.user_faults import UserScore
    from maseval.benchmark.tau2.app.results.users import UsersOfRun

EXAMPLES = examples(
    ("maseval tau2 users last", "faults of the simulated user, by kind and user model"),
    ("maseval tau2 users theirs.json mine", "several runs and results files together"),
    ("maseval tau2 users last --all", "every fault, with its message and words"),
    ("maseval tau2 users last --json", "for scripts"),
)

_SHOWN = 12


@with_scoring_options()
def users(
    files: Annotated[list[str], RUNS_OR_FILES],
    every: Annotated[bool, typer.Option("--all", help="List every fault that was found.")] = False,
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Look for faults of the simulated user, in passes and failures.

    A fault is told only where task and conversation show it. Shares are over tasks, as pass^1 is.
    """
    with counting("checked") as count:
        found = commands.tau2.users(files, on_progress=count, **scoring)
    console = stderr() if as_json else stdout()
    for run in found:
        _print_run(run, console, every=every)
    _print_scores(found.scores, console)
    print_unreadable(found.unreadable)
    if as_json:
        readable = [each.to_dict() for each in found]
        files_told = [*readable, *(each.to_dict() for each in found.unreadable)]
        print_json({"users": [each.to_dict() for each in found.scores], "files": files_told})
    if found.unreadable:
        raise typer.Exit(FAILED)


def _print_run(run: "UsersOfRun", console: Console, *, every: bool) -> None:
    console.print(f"[bold]{inert(here(run.path))}[/bold]", soft_wrap=True)
    for note in run.notes:
        console.print(f"[yellow]Note:[/yellow] {inert(note)}", soft_wrap=True)
    shown = [each for each in run.played if each.check.findings or (every and each.check.obstacle)]
    for each in shown if every else shown[:_SHOWN]:
        one = each.simulation
        name = f"{TaskName(one.domain, one.task_id)}, trial {one.trial}"
        outcome = "passed" if each.passed else "did not pass"
        console.print(f"[bold]{inert(name)}[/bold], {outcome}")
        for line in each.check.lines():
            console.print(f"  {inert(line)}", soft_wrap=True)
    if len(shown) > _SHOWN and not every:
        console.print(f"and {len(shown) - _SHOWN} more; --all lists them")


def _print_scores(scores: "list[UserScore]", console: Console) -> None:
    counted = number_columns("in passes", "in all", "share of conversations")
    table = Table(Column("user model", overflow="fold"), "fault", *counted)
    for score in scores:
        passes, read = (f"{n} of {m}" for n, m in _counts(score))
        table.add_row(inert(score.model), "any", passes, read, estimate(score.share))
        for each in score.kinds:
            counts = (str(each.passes), str(each.conversations))
            table.add_row("", inert(each.kind), *counts, estimate(each.share))
        table.add_section()
        if unread := score.conversations - score.read:
            table.add_row("", "not read", "", str(unread), "")
            table.add_section()
    console.print(table)


def _counts(score: "UserScore") -> tuple[tuple[int, int], tuple[int, int]]:
    return (score.faulty_passes, score.passes), (score.faulty, score.read)
