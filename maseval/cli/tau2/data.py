"""``maseval tau2 data``."""

from typing import Annotated

import typer

from maseval import commands
from maseval.cli.console import inert, stdout
from maseval.cli.errors import FAILED
from maseval.cli.help import PlainCommand, PlainGroup
from maseval.cli.options import examples

app = typer.Typer(
    cls=PlainGroup,
    help="The benchmark's data: fetch it, verify it, find it.",
    epilog=examples(
        ("maseval tau2 data fetch", "fetch all files, once"),
        ("maseval tau2 data texts", "fetch what models read in the original, once"),
        ("maseval tau2 data verify", "compare every file with its checksum"),
        ("ls $(maseval tau2 data path)", "look at them"),
    ),
    no_args_is_help=True,
)


@app.command(cls=PlainCommand)
def fetch(
    domain: Annotated[str | None, typer.Option("--domain", "-d", help="Only this domain.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Even if the files are there.")] = False,
) -> None:
    """Fetch what is missing, from the first source that has the right files."""
    typer.echo(commands.tau2.data.fetch(domain, force=force))


@app.command(cls=PlainCommand)
def texts(
    version: Annotated[
        str, typer.Option("--data-version", help="Release of tau2-bench: 0.2.0 or 1.0.1.")
    ] = "0.2.0",
) -> None:
    """Fetch the original's texts, with which a run is the same experiment, and name their hash."""
    found = commands.tau2.data.texts(version)
    typer.echo(f"v{found.version} {found.sha256}")


@app.command(cls=PlainCommand)
def path() -> None:
    """Print the folder in which fetched files are kept."""
    typer.echo(commands.tau2.data.path())


@app.command(cls=PlainCommand)
def verify() -> None:
    """Read every file again and compare it with its checksum."""
    check = commands.tau2.data.verify()
    console = stdout()
    for file in check.files:
        state = "[green]ok[/green]" if file.problem is None else f"[red]{inert(file.problem)}[/red]"
        console.print(f"{file.name}: {state}", soft_wrap=True, highlight=False)
    console.print(f"in {inert(str(check.folder))}", soft_wrap=True)
    if not check.complete:
        console.print(
            "`maseval tau2 data fetch` fetches what is missing and replaces what is wrong"
        )
        raise typer.Exit(FAILED)
