"""``maseval new``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.console import here, inert, stdout
from maseval.cli.options import examples

EXAMPLES = examples(
    ("maseval new agent my_agent", "my_agent.py and test_my_agent.py, to run on tau2"),
    ("maseval new domain helpdesk", "helpdesk/: database, tools, policy, tasks and a test"),
    (
        "maseval new benchmark shopping --folder bench",
        "a benchmark that has nothing to do with tau2",
    ),
)
KINDS = ("agent", "domain", "benchmark")


def new(
    kind: Annotated[
        str,
        typer.Argument(help="agent, domain or benchmark.", autocompletion=lambda: list(KINDS)),
    ],
    name: Annotated[str, typer.Argument(help="What it is called, as a Python module.")],
    folder: Annotated[Path, typer.Option(help="Where to write it.")] = Path(),
) -> None:
    """Write a skeleton that runs, with a test; existing files are never replaced."""
    made = commands.new(kind, name, folder)
    console = stdout()
    for file in made.files:
        console.print(inert(here(file)), soft_wrap=True, highlight=False)
    for command in made.commands:
        console.print(f"  [cyan]{inert(command)}[/cyan]", soft_wrap=True, highlight=False)
