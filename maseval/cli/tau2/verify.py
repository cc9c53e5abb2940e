"""``maseval tau2 verify``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.command_line import FAILED
from maseval.cli.console import inert, print_json, shorten_line, stdout
from maseval.cli.options import AsJson, DomainOfFile, RunOrFile, examples

EXAMPLES = examples(
    ("maseval tau2 verify cert.json theirs.json", "is the file what was certified?"),
    ("maseval tau2 verify cert.json theirs.json --key theirs.pub", "and is it theirs?"),
    ("maseval tau2 verify cert.json last --json", "for scripts"),
)


def verify(
    certificate: Annotated[Path, typer.Argument(help="What `maseval tau2 certify` wrote.")],
    file: RunOrFile,
    domain: DomainOfFile = None,
    key: Annotated[
        Path | None, typer.Option(help="Ed25519 public key that the certificate is signed with.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute what a certificate says, and list what differs; exit code 1 if anything does.

    Without --key, a certificate that was made to fit an edited file goes undetected.
    """
    found = commands.tau2.verify(certificate, file, domain=domain, key=key)
    if as_json:
        print_json(found.to_dict())
    else:
        console = stdout()
        for difference in found.differences:
            console.print(
                f"[red]differs[/red] {inert(shorten_line(difference, 300))}", highlight=False
            )
        signed = f" It is signed by the owner of {inert(str(key))}." if found.signed else ""
        holds = f"[green]The certificate holds.[/green]{signed}"
        console.print(holds if found.holds else "It does not hold.", soft_wrap=True)
    if not found.holds:
        raise typer.Exit(FAILED)
