"""``maseval tau2``: the benchmark's commands. To add one, name its file here."""

import typer

from maseval.cli.command_line import PlainGroup
from maseval.cli.options import add_commands, examples
from maseval.cli.tau2 import (
    audit,
    branch,
    certify,
    explain,
    export,
    mcp,
    play,
    run,
    score,
    tasks,
)

app = typer.Typer(
    cls=PlainGroup,
    help="tau2-bench v0.2.0 and v1.0.1: agents in customer service, scored by what they did.",
    epilog=examples(
        ("maseval tau2 run --domain retail --agent gold", "run the reference solutions"),
        ("maseval tau2 play retail", "play the agent yourself, no key needed"),
        ("maseval tau2 tasks --domain airline", "which tasks there are"),
        ("maseval tau2 score results.json", "do recorded rewards hold up?"),
        ("maseval tau2 explain last retail/12", "why did it fail?"),
    ),
    no_args_is_help=True,
)
add_commands(app, run, play, branch, mcp, score, explain, audit)
add_commands(app, certify, export, tasks)
app.add_typer(tasks.data, name="data")
