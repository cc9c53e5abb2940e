"""``maseval tau2 certify``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.console import inert, stderr, stdout
from maseval.cli.errors import FAILED
from maseval.cli.options import DomainIfUnknown, Overwrite, RunOrFile, examples

EXAMPLES = examples(
    ("maseval tau2 certify theirs.json", "are the recorded rewards right, is anything odd?"),
    ("maseval tau2 certify last --output cert.json", "write the certificate down"),
    ("maseval tau2 certify theirs.json --fail-on-suspicion", "exit code 1 if so"),
    ("maseval tau2 certify theirs.json --json", "the certificate itself, for scripts"),
)

_SHOWN = 12


def certify(
    file: RunOrFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File of the certificate.")
    ] = None,
    domain: DomainIfUnknown = None,
    fail_on_suspicion: Annotated[
        bool,
        typer.Option(
            "--fail-on-suspicion",
            help="Exit code 1 if a reward is not confirmed or anything is suspicious.",
        ),
    ] = False,
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the certificate.")] = False,
) -> None:
    """Recompute every reward, look for edits and copies, and certify the numbers."""
    found = commands.tau2.certify(file, output, domain=domain, overwrite=overwrite)
    if as_json:
        typer.echo(found.certificate.to_json(), nl=False)
    else:
        _print_certificate(found.certificate.text(), len(found.certificate.content["suspicions"]))
    if found.written is not None:
        stderr().print(f"Saved: {inert(str(found.written))}", soft_wrap=True)
    if fail_on_suspicion and not found.certificate.is_clean:
        raise typer.Exit(FAILED)


def _print_certificate(text: str, suspicions: int) -> None:
    """The certificate in words, but of many suspicions only the first."""
    lines = text.splitlines()
    hidden = max(0, suspicions - _SHOWN)
    for line in lines[: len(lines) - hidden]:
        stdout().print(inert(line), highlight=False, soft_wrap=True)
    if hidden:
        stdout().print(f"  and {hidden} more; --json and --output list all", highlight=False)
