"""``maseval unbundle``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.console import inert, print_json, shortened, stderr
from maseval.cli.errors import FAILED
from maseval.cli.options import AsJson, examples

EXAMPLES = examples(
    ("maseval unbundle theirs.maseval.zip", "checked, and opened as runs/theirs"),
    ("maseval unbundle theirs.maseval.zip --to elsewhere", "in a folder of your choice"),
    ("maseval show theirs", "then look at it like at a run of your own"),
)


def unbundle(
    file: Annotated[Path, typer.Argument(help="What `maseval bundle` wrote.")],
    to: Annotated[
        Path | None,
        typer.Option(help="The folder to make.", show_default="its name below the runs"),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option("--verify/--no-verify", help="Compute the rewards of its certificate anew."),
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Check a bundle, and open it as a run folder for `show`, `report`, `tau2 score` and others.

    An archive that holds anything else, unpacks to too much, or differs from its checksums or its
    log's seals is refused and nothing is written. Exit code 1 also if the certificate does not
    hold, or the data here is not that of the run.
    """
    found = commands.unbundle(file, to, verify=verify)
    if as_json:
        print_json(found.to_dict())
    else:
        typer.echo(found.path)
        for line in [*found.data, *(found.certificate or ())]:
            words = inert(shortened(line, 300))
            stderr().print(f"[red]differs[/red] {words}", highlight=False, soft_wrap=True)
        stderr().print(inert(_summary(found.simulations, found.certificate, found.unchecked)))
    if not found.holds:
        raise typer.Exit(FAILED)


def _summary(simulations: int, certificate: list[str] | None, unchecked: str | None) -> str:
    held = f"{simulations} simulations; the checksums and the log hold"
    if unchecked is not None:
        return f"{held}; the certificate was not checked: {unchecked}"
    return f"{held}, the certificate {'does not' if certificate else 'does as well'}"
