"""The command ``maseval``, put together from its commands; to add one, name its place here."""

from collections.abc import Mapping
from typing import Any, ClassVar

import typer

from maseval.cli.command_line import RootGroup, as_command, examples, root_options

# The words after --until that name a run.
COMPARISONS = ("better-than", "not-worse-than")
# Commands that take a bare word for a domain: ``maseval tau2 run retail``.
_OF_A_DOMAIN = (["run"], ["mcp"], ["play"])


class AllCommands(RootGroup):
    places: ClassVar[Mapping[str, str]] = {
        "demo": "maseval.cli.run:demo",
        "new": "maseval.cli.run:new",
        "run": "maseval.cli.run:run",
        "runs": "maseval.cli.runs:runs",
        "tag": "maseval.cli.runs:tag",
        "show": "maseval.cli.show:show",
        "view": "maseval.cli.servers:view",
        "explain": "maseval.cli.score:explain",
        "comply": "maseval.cli.score:comply",
        "score": "maseval.cli.score:score",
        "compare": "maseval.cli.compare:compare",
        "gate": "maseval.cli.compare:gate",
        "plan": "maseval.cli.compare:plan",
        "reliability": "maseval.cli.compare:reliability",
        "report": "maseval.cli.runs:report",
        "export": "maseval.cli.runs:export",
        "bundle": "maseval.cli.runs:bundle",
        "sync": "maseval.cli.runs:sync",
        "replay-server": "maseval.cli.servers:replay_server",
        "judge": "maseval.cli.judge:app",
        "tau2": "maseval.cli.tau2:app",
        "macs": "maseval.cli.macs:app",
    }

    def list_commands(self, ctx: Any) -> list[str]:
        from maseval.cli.offered import offered_commands

        # Ours come first: no package can put its command in the place of one of them.
        return list(dict.fromkeys([*self.places, *offered_commands()]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in self.places:
            return super().get_command(ctx, cmd_name)
        from maseval.cli.offered import load_offered, offered_commands  # most commands are ours

        if (offered := offered_commands().get(cmd_name)) is None:
            return None
        found = self.described(cmd_name, offered.value)
        return found or as_command(cmd_name, load_offered(offered))


app = typer.Typer(
    name="maseval",
    cls=AllCommands,
    help="Evaluate agent systems, with numbers you can trust.",
    epilog=examples(
        ("maseval demo", "a whole run and its report, no key needed"),
        ("maseval tau2 run --domain retail --agent gold", "the reference solution of every task"),
        (
            "maseval tau2 run --domain retail --agent my_agent.py:agent --rehearse gold",
            "your own agent, with a scripted model",
        ),
        ("maseval tau2 run --help", "how to run your model"),
        ("maseval run my_benchmark.py:MyBenchmark", "a benchmark of your own"),
        ("maseval show last", "the latest run: its numbers and tasks"),
    ),
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


app.callback()(root_options)


def run_command(arguments: list[str]) -> None:
    app(args=complete_words(arguments), prog_name="maseval")


def complete_words(words: list[str]) -> list[str]:
    """Let ``--until better-than RUN`` be typed without quotes, and a domain without its option."""
    joined: list[str] = []
    for word in words:
        # Only the word right after the command: any later one may be the value of an option.
        if joined[:1] == ["tau2"] and joined[1:] in _OF_A_DOMAIN and not word.startswith("-"):
            joined.append("--domain")
        if joined[-2:-1] == ["--until"] and joined[-1] in COMPARISONS and not word.startswith("-"):
            joined[-1] += f" {word}"
        else:
            joined.append(word)
    return joined
