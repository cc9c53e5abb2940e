"""The command ``maseval``, put together from its commands; to add one, name its file here."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import __version__
from maseval.cli import (
    compare,
    first_steps,
    macs,
    report,
    run,
    runs,
    servers,
    sharing,
    show,
    tau2,
    view,
)
from maseval.cli.command_line import RootGroup, read_env_file
from maseval.cli.options import add_commands, examples

app = typer.Typer(
    name="maseval",
    cls=RootGroup,
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
add_commands(app, first_steps, run, runs, show, view)
add_commands(app, compare, report, sharing, servers)
app.add_typer(tau2.app, name="tau2")
app.add_typer(macs.app, name="macs")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"maseval {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    context: typer.Context,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; may stand anywhere.")
    ] = False,
    env_file: Annotated[
        Path | None,
        typer.Option(
            "--env-file",
            help="Read environment variables from a file of NAME=VALUE lines, such as .env; those "
            "that are set already stay. May stand anywhere.",
            metavar="FILE",
        ),
    ] = None,
    show_version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    context.obj = {"debug": debug}
    if env_file is not None:
        read_env_file(env_file)


def main() -> None:
    """Run the installed command ``maseval``."""
    app(prog_name="maseval")
