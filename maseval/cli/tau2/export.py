"""``maseval tau2 export`` and ``maseval tau2 submit``: runs in the forms of tau2-bench."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table

from maseval import commands
from maseval.benchmark.tau2.app.running.options import SubmitOptions
from maseval.cli import completion
from maseval.cli.console import here, inert, number_columns, print_json, stderr, stdout
from maseval.cli.groups import examples
from maseval.cli.options import AsJson, Overwrite, RunName, argument, command_with, option
from maseval.core.words import count_of

if TYPE_CHECKING:  # help must not load what makes it
    from maseval.benchmark.tau2.app.sharing.submit import WrittenSubmission


def export(
    run: RunName,
    output: Path | None = option(
        None, "The file, or for several domains the folder.", "--output", "-o"
    ),
    overwrite: Overwrite = False,
) -> None:
    """Write a run as results files of tau2-bench v0.2.0, which it loads and shows."""
    for written in commands.tau2.export(run, output, overwrite=overwrite):
        typer.echo(written.path)
        for note in filter(None, (written.subset and written.subset.note, written.stopped)):
            stderr().print(f"[yellow]{inert(note)}[/yellow]", soft_wrap=True)
        if written.omitted:
            stderr().print(
                f"[yellow]{count_of(len(written.omitted), 'simulation')} of "
                f"{inert(written.domain)} ended in a "
                f"way that v0.2.0 cannot represent, listed in "
                f"{inert(str(written.omitted_path))}[/yellow]",
                soft_wrap=True,
            )


@command_with(SubmitOptions)
def submit(
    given: dict[str, Any],
    runs: list[str] = argument(
        ..., "Runs: a folder, a name, or last.", metavar="RUN", autocompletion=completion.runs
    ),
    as_json: AsJson = False,
) -> None:
    """Write runs as a submission to the leaderboard of tau2-bench 1.0.1, after checking its rules.

    Each run must hold the whole base split of its domains, by the rules of 1.0.1, with as many
    trials of every task; verdicts are recomputed. If a rule is broken nothing is written.
    """
    written = commands.tau2.submit(runs=runs, **given)
    _print_submission(written, stderr() if as_json else stdout())
    if as_json:
        print_json(written.to_dict())


def _print_submission(written: "WrittenSubmission", console: Console) -> None:
    content = written.content
    results = content["results"]
    shares = sorted({name for numbers in results.values() for name in numbers})
    title = f"{inert(content['model_name'])}, {content['submission_type']}"
    table = Table("domain", *number_columns(*shares, no_wrap=True), title=title)
    for domain, numbers in results.items():
        table.add_row(inert(domain), *(str(numbers.get(name, "")) for name in shares))
    console.print(table)
    for note in written.notes:
        console.print(inert(note), soft_wrap=True)
    console.print(f"Saved: {inert(here(written.folder))}", soft_wrap=True)


COMMANDS = {
    export: examples(
        ("maseval tau2 export last", "one file for each domain, beside the run's log"),
        ("maseval tau2 export runs/mine --output retail.json", "into a file of your choice"),
    ),
    submit: examples(
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
    ),
}
