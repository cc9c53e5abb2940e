"""``maseval tau2 certify`` and ``maseval tau2 verify``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.command_line import FAILED
from maseval.cli.console import inert, print_json, shorten_line, stderr, stdout
from maseval.cli.groups import examples
from maseval.cli.options import (
    AsJson,
    DataVersion,
    DomainOfFile,
    Overwrite,
    RunOrFile,
    flag,
    option,
)


def certify(
    file: RunOrFile,
    output: Path | None = option(None, "File of the certificate.", "--output", "-o"),
    domain: DomainOfFile = None,
    partial: bool = flag("Expect the listed tasks, not every task of their split.", "--partial"),
    sign: Path | None = option(None, "Sign with the Ed25519 private key in this file."),
    data_version: DataVersion = None,
    fail_on_suspicion: bool = flag(
        "Exit code 1 if anything looks odd, such as times out of order.", "--fail-on-suspicion"
    ),
    overwrite: Overwrite = False,
    as_json: bool = flag("Print the certificate.", "--json"),
) -> None:
    """Recompute every reward, and write a record of what was recomputed.

    Exit code 1 if the numbers cannot be trusted: rewards that are not confirmed, missing trials,
    foreign or edited tasks, relabelled simulations.
    """
    found = commands.tau2.certify(
        file,
        output,
        domain=domain,
        partial=partial,
        sign=sign,
        data_version=data_version,
        overwrite=overwrite,
    )
    if as_json:
        typer.echo(found.certificate.to_json(), nl=False)
    else:
        stdout().print(inert(found.certificate.text()), soft_wrap=True)
    if found.written is not None:
        stderr().print(f"Saved: {inert(str(found.written))}", soft_wrap=True)
    certificate = found.certificate
    if not certificate.is_sound or (fail_on_suspicion and not certificate.is_clean):
        raise typer.Exit(FAILED)


def verify(
    certificate: Annotated[Path, typer.Argument(help="What `maseval tau2 certify` wrote.")],
    file: RunOrFile,
    domain: DomainOfFile = None,
    key: Path | None = option(None, "Ed25519 public key that the certificate is signed with."),
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
            console.print(f"[red]differs[/red] {inert(shorten_line(difference, 300))}")
        signed = f" It is signed by the owner of {inert(str(key))}." if found.signed else ""
        holds = f"[green]The certificate holds.[/green]{signed}"
        console.print(holds if found.holds else "It does not hold.", soft_wrap=True)
    if not found.holds:
        raise typer.Exit(FAILED)


COMMANDS = {
    certify: examples(
        ("maseval tau2 certify theirs.json", "are the recorded rewards right, is anything odd?"),
        ("maseval tau2 certify last --output cert.json", "write the certificate down"),
        ("maseval tau2 certify last --output cert.json --sign KEY", "and sign it with your key"),
        ("maseval tau2 certify theirs.json --fail-on-suspicion", "exit code 1 at any oddity"),
        ("maseval tau2 certify theirs.json --json", "the certificate itself, for scripts"),
    ),
    verify: examples(
        ("maseval tau2 verify cert.json theirs.json", "is the file what was certified?"),
        ("maseval tau2 verify cert.json theirs.json --key theirs.pub", "and is it theirs?"),
        ("maseval tau2 verify cert.json last --json", "for scripts"),
    ),
}
