"""``maseval macs data``."""

import typer

from maseval import commands
from maseval.cli.command_line import FAILED
from maseval.cli.console import print_check, stdout
from maseval.cli.groups import CommandGroup, PlainCommand, examples
from maseval.cli.options import flag

app = typer.Typer(
    cls=CommandGroup,
    help="The benchmark's data: fetch it, verify it, find it.",
    epilog=examples(
        ("maseval macs data fetch", "fetch all files, once"),
        ("maseval macs data verify", "compare every file with its checksum"),
        ("ls $(maseval macs data path)", "look at them"),
    ),
    no_args_is_help=True,
)


@app.command(cls=PlainCommand)
def fetch(
    force: bool = flag("Fetch again what is already there.", "--force"),
) -> None:
    """Fetch what is missing, from the first source that has the right files."""
    typer.echo(commands.macs.data.fetch(force=force))


@app.command(cls=PlainCommand)
def path() -> None:
    """Print the folder in which fetched files are kept."""
    typer.echo(commands.macs.data.path())


@app.command(cls=PlainCommand)
def verify() -> None:
    """Read every file again and compare it with its checksum."""
    if not print_check(commands.macs.data.verify(), stdout(), "maseval macs data fetch"):
        raise typer.Exit(FAILED)
