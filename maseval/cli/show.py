"""``maseval show``."""

from typing import Annotated

import typer

from maseval import commands
from maseval.cli.console import stderr, stdout
from maseval.cli.conversation import print_simulation
from maseval.cli.examples import examples
from maseval.cli.grid import print_run
from maseval.cli.looking import looking
from maseval.commands.views import RunView

EXAMPLES = examples(
    ("maseval show last", "the latest run: its numbers, and each task's trials"),
    ("maseval show last retail/12", "one conversation, and why it passed or failed"),
    ("maseval show runs/mine 12 3 --full", "its trial 3, nothing shortened"),
)


def show(
    run: Annotated[str, typer.Argument(help="A run: its folder, its name, or last.")],
    task: Annotated[
        str | None, typer.Argument(help="A task, as 12 or retail/12.", show_default=False)
    ] = None,
    trial: Annotated[int | None, typer.Argument(help="Which trial.", show_default="first")] = None,
    explain: Annotated[
        bool, typer.Option("--explain/--no-explain", help="Say who failed, and why.")
    ] = True,
    full: Annotated[bool, typer.Option("--full", help="Shorten nothing.")] = False,
) -> None:
    """Show a run, or one of its simulations: what was said and done, and the verdict."""
    with looking(stderr()) as tell:
        view = commands.show(run, task, trial, explain=explain, on_progress=tell)
    if isinstance(view, RunView):
        print_run(view, stdout())
    else:
        print_simulation(view, stdout(), full=full)
