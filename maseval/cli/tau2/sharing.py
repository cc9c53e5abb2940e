"""``maseval tau2 certify``, ``verify`` and ``submit``: runs for others."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from maseval import commands
from maseval.benchmark.tau2.app.running.options import SubmitOptions
from maseval.cli.command_line import FAILED, with_examples
from maseval.cli.console import (
    Parts,
    chosen_stream,
    here,
    inert,
    number_columns,
    print_json,
    print_parts,
    shorten_line,
    stderr,
    stdout,
)
from maseval.cli.options import SCORING, AsJson, Overwrite, RunOrFile, argument, flag, option
from maseval.cli.running import command_with, given_options

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.app.sharing.submit import WrittenSubmission


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


@with_examples(
    (
        "maseval tau2 submit runs/airline runs/retail runs/telecom --output submission "
        "--model-name my-model --model-organization 'My Lab' "
        "--submitting-organization 'My Lab' --email me@example.com",
        "runs of 1.0.1's base tasks, one for each domain",
    ),
    (
        "maseval tau2 submit last --output submission",
        "every rule that the latest run breaks, and what to do",
    ),
)
@command_with(SubmitOptions)
def submit(
    context: typer.Context,
    runs: list[str] = argument(..., "Runs: a folder, a name, or last.", metavar="RUN"),
    as_json: AsJson = False,
) -> None:
    """Write runs as a submission to the leaderboard of tau2-bench 1.0.1, after checking its rules.

    Each run must hold the whole base split of its domains, by the rules of 1.0.1, with as many
    trials of every task; verdicts are recomputed. If a rule is broken nothing is written.
    """
    written = commands.tau2.submit(**given_options(context))
    print_parts(_submission_parts(written), chosen_stream(as_json))
    if as_json:
        print_json(written.to_dict())


def _submission_parts(written: "WrittenSubmission") -> Parts:
    content = written.content
    results = content["results"]
    shares = sorted({name for numbers in results.values() for name in numbers})
    title = f"{inert(content['model_name'])}, {content['submission_type']}"
    table = Table("domain", *number_columns(*shares, no_wrap=True), title=title)
    for domain, numbers in results.items():
        table.add_row(inert(domain), *(str(numbers.get(name, "")) for name in shares))
    yield table
    yield from map(inert, written.notes)
    yield f"Saved: {inert(here(written.folder))}"
