"""``maseval bundle``, ``unbundle`` and ``sync``: runs for others."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from maseval import commands
from maseval.cli.command_line import FAILED
from maseval.cli.console import inert, print_json, shorten_line, stderr, stdout
from maseval.cli.groups import examples
from maseval.cli.options import (
    AsJson,
    RunName,
    RunOrResultsFile,
    argument,
    flag,
    option,
    renamed_option,
)
from maseval.core.words import count_of

BUNDLE_EXAMPLES = examples(
    ("maseval bundle last", "NAME.maseval.zip here, for others to check"),
    ("maseval bundle runs/mine --output paper/mine.zip", "elsewhere"),
)


def bundle(
    run: RunName,
    output: Path | None = option(
        None, "The archive.", "--output", "--out", "-o", show_default="NAME.maseval.zip here"
    ),
    overwrite: bool = flag("Replace an existing file.", "--overwrite", "--force"),
    as_json: AsJson = False,
) -> None:
    """Write a run as one archive that others can check and open with `maseval unbundle`.

    It holds the configuration, the log, the certificate, the report, the fingerprint of the data
    and the versions of all packages. The same run always gives the same bytes.
    """
    made = commands.bundle(run, output, overwrite=overwrite)
    for note in made.manifest["notes"]:
        stderr().print(f"[yellow]Note:[/yellow] {inert(note)}", soft_wrap=True)
    if as_json:
        print_json(made.to_dict())
    else:
        typer.echo(made.path)


UNBUNDLE_EXAMPLES = examples(
    ("maseval unbundle theirs.maseval.zip", "checked, and opened as runs/theirs"),
    ("maseval unbundle theirs.maseval.zip --output elsewhere", "in a folder of your choice"),
    ("maseval show theirs", "then look at it like at a run of your own"),
)


def unbundle(
    file: Path = argument(..., "What `maseval bundle` wrote."),
    output: Path | None = option(
        None, "The folder to make.", "--output", "-o", show_default="its name below the runs"
    ),
    to: Path | None = option(None, "", hidden=True),
    verify: bool = option(
        True, "Compute the rewards of its certificate anew.", "--verify/--no-verify"
    ),
    as_json: AsJson = False,
) -> None:
    """Check a bundle, and open it as a run folder for `show`, `report`, `tau2 score` and others.

    An archive that holds anything else, unpacks to too much, or differs from its checksums or its
    log's seals is refused and nothing is written. Exit code 1 also if the certificate or a recorded
    verdict does not hold, or the data here is not that of the run.
    """
    found = commands.unbundle(file, renamed_option(to, "--to", output, "--output"), verify=verify)
    for note in found.notes:
        stderr().print(f"[yellow]Note:[/yellow] {inert(note)}", soft_wrap=True)
    if as_json:
        print_json(found.to_dict())
    else:
        typer.echo(found.path)
        for line in [*found.data, *(found.certificate or ()), *filter(None, [found.verdicts])]:
            words = inert(shorten_line(line, 300))
            stderr().print(f"[red]differs[/red] {words}", soft_wrap=True)
        stderr().print(
            inert(_unbundle_summary(found.simulations, found.certificate, found.unchecked))
        )
    if not found.holds:
        raise typer.Exit(FAILED)


def _unbundle_summary(
    simulations: int, certificate: list[str] | None, unchecked: str | None
) -> str:
    held = f"{count_of(simulations, 'simulation')}; the checksums and the log hold"
    if unchecked is not None:
        return f"{held}; the certificate was not checked: {unchecked}"
    return f"{held}, the certificate {'does not' if certificate else 'does as well'}"


if TYPE_CHECKING:
    from maseval.app.sharing.sync import SyncResult

SYNC_EXAMPLES = examples(
    ("maseval sync last --to mlflow=http://localhost:5000", "the latest run, to an MLflow server"),
    ("maseval sync runs/mine --to wandb=my-project --to otel", "to two places at once"),
    ("WANDB_MODE=offline maseval sync last --to wandb", "into files for wandb sync"),
    ("maseval sync theirs.json --to langfuse --otel-content", "a results file, with all texts"),
)


def sync(
    run: RunOrResultsFile,
    to: list[str] = option(
        ..., "otel, langfuse, mlflow or wandb; =ADDRESS for another than the usual (repeatable)."
    ),
    otel_content: bool = flag(
        "Traces also hold what was said and what tools got.", "--otel-content"
    ),
    explain: bool = flag("The attached report explains failures; slower.", "--explain"),
    as_json: AsJson = False,
) -> None:
    """Send a finished run to OpenTelemetry, Langfuse, MLflow or Weights & Biases.

    What was sent is noted in the run's folder: the same command again sends only what is new.
    """
    found = commands.sync(run, to, content=otel_content, explain=explain)
    if as_json:
        print_json([each.to_dict() for each in found])
        return
    for each in found:
        stdout().print(inert(_sync_words(each)), soft_wrap=True)


def _sync_words(each: "SyncResult") -> str:
    if each.run is None:
        return (
            f"{each.to} ({each.at}): {count_of(each.sent, 'trace')} sent, {each.before} sent before"
        )
    state = "sent" if each.sent else "unchanged since it was sent"
    return f"{each.to} ({each.at}): run {each.run} {state}"


COMMANDS = {bundle: BUNDLE_EXAMPLES, unbundle: UNBUNDLE_EXAMPLES, sync: SYNC_EXAMPLES}
