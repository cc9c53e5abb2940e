"""``maseval macs``: the benchmark's commands. To add one, write its file and name it here."""

import typer

from maseval.cli.command_line import PlainGroup
from maseval.cli.macs import data, export, rates, run, score
from maseval.cli.options import add_commands, examples

app = typer.Typer(
    cls=PlainGroup,
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
)
add_commands(app, run, rates, score, export)
app.add_typer(data.app, name="data")
