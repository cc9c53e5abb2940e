"""``maseval tau2 verify``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.console import inert, print_json, shortened, stdout
from maseval.cli.errors import FAILED
from maseval.cli.options import AsJson, DomainIfUnknown, RunOrFile, examples

EXAMPLES = examples(
    ("maseval tau2 verify cert.json theirs.json", "is the file what was certified?"),
    ("maseval tau2 verify cert.json last --json", "for scripts"),
)


def verify(
    certificate: Annotated[Path, typer.Argument(help="What `maseval tau2 certify` wrote.")],
    file: RunOrFile,
    domain: DomainIfUnknown = None,
    as_json: AsJson = False,
) -> None:
    """Check a certificate, and that simulations still are what it says; exit code 1 if not."""
    found = commands.tau2.verify(certificate, file, domain=domain)
    if as_json:
        print_json(found.to_dict())
    else:
        console = stdout()
        for difference in found.differences:
            console.print(
                f"[red]differs[/red] {inert(shortened(difference, 300))}", highlight=False
            )
        words = "[green]The certificate holds.[/green]" if found.holds else "It does not hold."
        console.print(words)
    if not found.holds:
        raise typer.Exit(FAILED)
