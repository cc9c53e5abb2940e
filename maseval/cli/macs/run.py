"""``maseval macs run``."""

from typing import Any

import typer

from maseval import commands
from maseval.benchmark.macs.app.options import MACSRunOptions
from maseval.cli.display import run_and_finish
from maseval.cli.groups import examples
from maseval.cli.options import AsJson, command_with

EXAMPLES = examples(
    (
        "maseval macs run --domain travel --trials 3 --budget 20usd "
        "--agent-model openai/gpt-4.1 --user-model openai/gpt-4.1",
        "a model as every agent of the team, three trials per task, for at most 20 dollars",
    ),
    (
        "maseval macs run --domain software --num-tasks 2 --base-url http://localhost:8000/v1 "
        "--agent-model mine --user-model mine --judge-model mine",
        "models on a server of your own",
    ),
    (
        "maseval macs run --domain travel --team my_team.py:MyTeam --user-model openai/gpt-4.1",
        "your own agents: a subclass of MACSBenchmark with setup_agents",
    ),
)


@command_with(MACSRunOptions, file=True)
def run(given: dict[str, Any], context: typer.Context, as_json: AsJson = False) -> None:
    """Run tasks, and save every finished simulation in a run folder.

    The original's team of agents takes part, every agent played by --agent-model, unless --team
    names your own. Tools and user are played by models too; the judge is part of the number.

    The run is for maseval show, report, compare and plots, like any other.
    """
    run_and_finish(lambda **every: commands.macs.run(**every), given, context, as_json=as_json)
