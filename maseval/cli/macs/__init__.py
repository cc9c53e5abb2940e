"""``maseval macs``: the benchmark's commands. To add one, write its file and name it here."""

from collections.abc import Mapping
from typing import ClassVar

import typer

from maseval.cli.command_line import CommandGroup, examples


class MACSCommands(CommandGroup):
    """Every command of ``maseval macs``."""

    places: ClassVar[Mapping[str, str]] = {
        "run": "maseval.cli.macs.commands:run",
        "rates": "maseval.cli.macs.commands:rates",
        "score": "maseval.cli.macs.commands:score",
        "data": "maseval.cli.macs.commands:data",
    }


app = typer.Typer(
    cls=MACSCommands,
    help="MACS: teams of agents on enterprise tasks, judged by assertions.",
    epilog=examples(
        (
            "maseval macs run --domain travel --agent-model openai/gpt-4.1 "
            "--user-model openai/gpt-4.1",
            "the original's team of agents, every agent played by a model",
        ),
        ("maseval macs score conversations/travel --domain travel", "judge finished conversations"),
        ("maseval macs data fetch", "fetch the data, once"),
        ("maseval macs rates last", "the latest run: its four rates, with error bars"),
        ("maseval show last", "its tasks and conversations"),
    ),
    no_args_is_help=True,
    add_completion=False,
)
app.callback()(lambda: None)  # the group has no options of its own
