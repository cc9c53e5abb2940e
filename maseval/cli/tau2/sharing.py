"""``maseval tau2 certify`` and ``verify``: runs for others."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.command_line import FAILED, with_examples
from maseval.cli.console import (
    inert,
    print_json,
    shorten_line,
    stderr,
    stdout,
)
from maseval.cli.options import SCORING, AsJson, Overwrite, RunOrFile, flag, option


@with_examples(
    ("maseval tau2 certify theirs.json", "are the recorded rewards right, is anything odd?"),
    ("maseval tau2 certify last --output cert.json", "write the certificate to a file"),
    ("maseval tau2 certify theirs.json --fail-on-suspicion", "exit code 1 if anything looks odd"),
    ("maseval tau2 certify theirs.json --json", "the certificate itself, for scripts"),
)
def certify(
    file: RunOrFile,
    output: Path | None = option(None, "File of the certificate.", "--output", "-o"),
    domain: str | None = SCORING["domain"],
    partial: bool = flag("Expect the listed tasks, not every task of their split.", "--partial"),
    data_version: str | None = SCORING["data_version"],
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
        data_version=data_version,
        overwrite=overwrite,
    )
    if as_json:
        typer.echo(found.to_json(), nl=False)
    else:
        stdout().print(inert(found.text()), soft_wrap=True)
    if output is not None:
        stderr().print(f"Saved: {inert(str(output))}", soft_wrap=True)
    if not found.is_sound or (fail_on_suspicion and not found.is_clean):
        raise typer.Exit(FAILED)


@with_examples(
    ("maseval tau2 verify cert.json theirs.json", "is the file what was certified?"),
    ("maseval tau2 verify cert.json last --json", "for scripts"),
)
def verify(
    certificate: Annotated[Path, typer.Argument(help="What `maseval tau2 certify` wrote.")],
    file: RunOrFile,
    domain: str | None = SCORING["domain"],
    as_json: AsJson = False,
) -> None:
    """Recompute what a certificate says, and list what differs; exit code 1 if anything does.

    A certificate that was made to fit an edited file goes undetected: make one of your own.
    """
    found = commands.tau2.verify(certificate, file, domain=domain)
    if as_json:
        print_json({"holds": not found, "differences": found})
    else:
        console = stdout()
        for difference in found:
            console.print(f"[red]differs[/red] {inert(shorten_line(difference, 300))}")
        holds = "[green]The certificate holds.[/green]"
        console.print("The certificate does not hold." if found else holds, soft_wrap=True)
    if found:
        raise typer.Exit(FAILED)
