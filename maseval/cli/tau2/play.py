"""``maseval tau2 play``."""

import shlex
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from maseval import commands
from maseval.app.running.options import PARTICIPANTS, TASKS
from maseval.benchmark.tau2.app.running.options import PlayOptions
from maseval.cli import completion
from maseval.cli.command_line import INCOMPLETE, command_line
from maseval.cli.console import ended_by_signals, here, inert, stdout
from maseval.cli.conversation import print_verdict
from maseval.cli.groups import examples
from maseval.cli.options import argument, command_with, load_domain, option
from maseval.cli.tau2.play_terminal import PlayTerminal

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.app.running.play import Play

EXAMPLES = examples(
    ("maseval tau2 play", "a small library, no key and no download needed"),
    ("maseval tau2 play retail --task 5", "the agent of a task, with a scripted customer"),
    ("maseval tau2 play retail --user-model openai/gpt-4.1", "with a customer that a model plays"),
    ("maseval tau2 play telecom --as user", "the customer, with the customer's phone"),
    ("maseval tau2 play telecom --as user --agent-model openai/gpt-4.1", "a model helps you"),
    ("maseval tau2 play retail --output runs/me", "task after task into one run: a human baseline"),
)


@command_with(PlayOptions)
def play(
    given: dict[str, Any],
    context: typer.Context,
    domain: str | None = argument(
        None,
        "airline, retail, telecom, ... or your own: FILE.py:NAME.",
        show_default="library",
        callback=load_domain,
        autocompletion=completion.domains,
    ),
    task: str | None = option(
        None,
        "The task.",
        *("--task", "--task-id", "-t"),
        show_default="the first that has not been played",
        rich_help_panel=TASKS,
        autocompletion=completion.tasks_of_domain,
    ),
    side: str = option(
        "agent", "Which side you play: agent or user.", "--as", rich_help_panel=PARTICIPANTS
    ),
) -> None:
    """Play the agent or the customer yourself, in this terminal.

    The tools are forms, the databases and the rules are real, and the result is a run like any
    other, marked as human. Ctrl-C interrupts it; the same command with the same --output resumes.
    """
    _forget_environment(given, context, side)
    given["timeout"] = given["timeout"] or None
    given["command"] = command_line(context)
    console = stdout()
    begun = commands.tau2.play(**given, domain=domain, task_id=task, side=side)
    terminal = PlayTerminal(begun, console)
    with ended_by_signals():
        try:
            begun.start()
            terminal.run()
        except KeyboardInterrupt:
            begun.interrupt()
    _finish(begun, terminal, console)


def _forget_environment(given: dict[str, Any], context: typer.Context, side: str) -> None:
    """Drop a model of the played side that the environment names for all runs."""
    for name in (f"{side}_model", f"{side}_args"):
        source: Any = context.get_parameter_source(name)
        if source is not None and source.name == "ENVIRONMENT":
            given[name] = None


def _finish(begun: "Play", terminal: PlayTerminal, console: Console) -> None:
    result = begun.result()
    name = inert(shlex.quote(here(result.folder)))
    simulation = begun.simulation
    if not begun.has_verdict:
        if terminal.asks_to_drop() and begun.drop():
            console.print("Dropped; nothing is kept.")
            return
        console.print(
            f"[yellow]Interrupted.[/yellow] What happened is in {name}: `maseval show {name}`. "
            f"Repeat the command with --output {name} to resume it, or delete the folder.",
            soft_wrap=True,
        )
        raise typer.Exit(INCOMPLETE)
    view = commands.show(result.folder, f"{simulation.domain}/{simulation.task_id}", 0)
    print_verdict(view, console)  # type: ignore[arg-type]  # with a task, it is a simulation
    shown = shlex.quote(f"{simulation.domain}/{simulation.task_id}")
    console.print(
        f"Saved as a run: maseval show {name} {inert(shown)}   maseval report {name}\n"
        f"The next task of this run: maseval tau2 play {inert(simulation.domain)} --output {name}",
        soft_wrap=True,
    )
