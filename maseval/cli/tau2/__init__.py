"""``maseval tau2``: the benchmark's commands. To add one, name its file here."""

from collections.abc import Mapping
from typing import ClassVar

import typer

from maseval.cli.groups import CommandGroup, examples


class Tau2Commands(CommandGroup):
    """Every command of ``maseval tau2``."""

    places: ClassVar[Mapping[str, str]] = {
        "run": "maseval.cli.tau2.run:run",
        "play": "maseval.cli.tau2.play:play",
        "branch": "maseval.cli.tau2.branch:branch",
        "mcp": "maseval.cli.tau2.mcp:mcp",
        "score": "maseval.cli.tau2.score:score",
        "explain": "maseval.cli.tau2.explain:explain",
        "comply": "maseval.cli.tau2.conduct:comply",
        "users": "maseval.cli.tau2.conduct:users",
        "audit": "maseval.cli.tau2.audit:audit",
        "errata": "maseval.cli.tau2.audit:errata",
        "certify": "maseval.cli.tau2.certify:certify",
        "verify": "maseval.cli.tau2.certify:verify",
        "export": "maseval.cli.tau2.export:export",
        "submit": "maseval.cli.tau2.export:submit",
        "tasks": "maseval.cli.tau2.tasks:tasks",
        "show": "maseval.cli.tau2.tasks:show",
        "data": "maseval.cli.tau2.tasks:data",
    }


app = typer.Typer(
    cls=Tau2Commands,
    help="tau2-bench, three releases: agents in customer service, scored by what they did.",
    epilog=examples(
        ("maseval tau2 run --domain retail --agent gold", "run the reference solutions"),
        ("maseval tau2 play retail", "play the agent yourself, no key needed"),
        ("maseval tau2 tasks --domain airline", "which tasks there are"),
        ("maseval tau2 score results.json", "do recorded rewards hold up?"),
        ("maseval tau2 explain last retail/12", "why did it fail?"),
        ("maseval tau2 comply last", "which passes broke the policy?"),
        ("maseval tau2 users last", "did the simulated user keep to its task?"),
    ),
    no_args_is_help=True,
    add_completion=False,
)


@app.callback()
def options() -> None:
    """The group has no options of its own."""
