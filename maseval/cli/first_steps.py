"""``maseval demo`` and ``maseval new``: something to start from."""

import time
from collections.abc import Callable
from pathlib import Path

import typer
from rich.console import Console

from maseval import commands
from maseval.cli.command_line import INCOMPLETE, command_line
from maseval.cli.console import here, inert, print_json, stderr, stdout
from maseval.cli.display import display
from maseval.cli.groups import examples
from maseval.cli.options import AsJson, argument, option
from maseval.cli.results import print_outcome

DEMO_EXAMPLES = examples(
    ("maseval demo", "all 278 base tasks, four times each"),
    ("maseval demo --output runs/demo", "into a folder of your choice"),
    ("maseval demo --json", "for scripts"),
)

_NEXT = "maseval view, to browse all runs   maseval tau2 play, to be the agent yourself"
_SECONDS_BETWEEN_LINES = 3.0


def demo(
    context: typer.Context,
    output: Path | None = option(None, "Run folder; an existing run resumes.", "--output", "-o"),
    concurrency: int = option(4, "Simulations at once.", "--concurrency", "-j"),
    as_json: AsJson = False,
) -> None:
    """Run tau2 with a scripted agent that makes mistakes, and write the report; no key needed."""
    progress = stderr()
    console = progress if as_json else stdout()

    def explain(problem: str) -> None:
        progress.print(f"[yellow]The data of tau2-bench is not available:[/] {inert(problem)}")
        progress.print("Running on the built-in library domain instead.")

    result = commands.demo(
        output=output,
        concurrency=concurrency,
        display=display(progress),
        command=command_line(context),
        on_missing_data=explain,
        on_stage=lambda stage: _print_stage(stage, progress),
        on_result=lambda result: print_outcome(result, console),
        on_progress=_every_few_seconds(progress),
    )
    if result.report is not None:
        console.print(f"Report: {inert(here(result.report))}", soft_wrap=True)
    console.print(f"Next: {_NEXT}", soft_wrap=True)
    if as_json:
        print_json(result.to_dict())
    if not result.run.complete:
        raise typer.Exit(INCOMPLETE)


def _print_stage(stage: str, console: Console) -> None:
    from maseval.benchmark.tau2.app.running.demo import STAGES

    number = f"{STAGES.index(stage) + 1}/{len(STAGES)}"
    console.print(f"[bold]{number}[/bold] {stage} ...", soft_wrap=True)


def _every_few_seconds(console: Console) -> Callable[[int, int], None]:
    """Print how far the report is, so that nobody waits before a silent screen."""
    printed = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal printed
        if done == total or time.monotonic() - printed > _SECONDS_BETWEEN_LINES:
            printed = time.monotonic()
            next_step = "; writing the page" if done == total else ""
            words = f"    {done} of {total} simulations explained{next_step}"
            console.print(words)

    return show


NEW_EXAMPLES = examples(
    ("maseval new agent my_agent", "my_agent.py and test_my_agent.py, to run on tau2"),
    ("maseval new domain helpdesk", "helpdesk/: database, tools, policy, tasks and a test"),
    (
        "maseval new benchmark shopping --folder bench",
        "a benchmark that has nothing to do with tau2",
    ),
)
KINDS = ("agent", "domain", "benchmark")


def new(
    kind: str = argument(..., "agent, domain or benchmark.", autocompletion=lambda: list(KINDS)),
    name: str = argument(..., "What it is called, as a Python module."),
    folder: Path = option(Path(), "Where to write it."),
) -> None:
    """Write a skeleton that runs, with a test; existing files are never replaced."""
    made = commands.new(kind, name, folder)
    console = stdout()
    for file in made.files:
        console.print(inert(here(file)), soft_wrap=True)
    for command in made.commands:
        console.print(f"  [cyan]{inert(command)}[/cyan]", soft_wrap=True)


COMMANDS = {demo: DEMO_EXAMPLES, new: NEW_EXAMPLES}
