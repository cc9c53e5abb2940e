"""``maseval tau2 data``."""

from typing import Annotated

import typer

from maseval import commands
from maseval.cli.command_line import FAILED, PlainCommand, PlainGroup
from maseval.cli.console import print_check, stdout
from maseval.cli.options import examples

app = typer.Typer(
    cls=PlainGroup,
    help="The benchmark's data: fetch it, verify it, find it.",
    epilog=examples(
        ("maseval tau2 data fetch", "fetch all files, once"),
        ("maseval tau2 data texts", "fetch the prompts of the original, once"),
        ("maseval tau2 data verify", "compare every file with its checksum"),
        ("ls $(maseval tau2 data path)", "look at them"),
    ),
    no_args_is_help=True,
)


@app.command(cls=PlainCommand)
def fetch(
    domain: Annotated[str | None, typer.Option("--domain", "-d", help="Only this domain.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Fetch again what is already there.")
    ] = False,
) -> None:
    """Fetch what is missing, from the first source that has the right files."""
    typer.echo(commands.tau2.data.fetch(domain, force=force))


@app.command(cls=PlainCommand)
def texts(
    version: Annotated[
        str, typer.Option("--data-version", help="Release of tau2-bench: 0.2.0 or 1.0.1.")
    ] = "0.2.0",
) -> None:
    """Fetch the prompts and descriptions of the original, and print their hash."""
    found = commands.tau2.data.texts(version)
    typer.echo(f"v{found.version} {found.sha256}")


@app.command(cls=PlainCommand)
def path() -> None:
    """Print the folder in which fetched files are kept."""
    typer.echo(commands.tau2.data.path())


@app.command(cls=PlainCommand)
def verify() -> None:
    """Read every file again and compare it with its checksum."""
    if not print_check(commands.tau2.data.verify(), stdout(), "maseval tau2 data fetch"):
        raise typer.Exit(FAILED)
