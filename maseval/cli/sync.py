"""``maseval sync``."""

from typing import TYPE_CHECKING, Annotated

import typer

from maseval import commands
from maseval.cli.console import inert, print_json, stdout
from maseval.cli.options import AsJson, Looked, examples

if TYPE_CHECKING:
    from maseval.app.sharing.sync import SyncResult

EXAMPLES = examples(
    ("maseval sync last --to mlflow=http://localhost:5000", "the latest run, to an MLflow server"),
    ("maseval sync runs/mine --to wandb=my-project --to otel", "to two places at once"),
    ("WANDB_MODE=offline maseval sync last --to wandb", "into files for wandb sync"),
    ("maseval sync theirs.json --to langfuse --otel-content", "a results file, with all texts"),
)


def sync(
    run: Looked,
    to: Annotated[
        list[str],
        typer.Option(
            help="otel, langfuse, mlflow or wandb; =ADDRESS for another than the usual "
            "(repeatable)."
        ),
    ],
    otel_content: Annotated[
        bool,
        typer.Option("--otel-content", help="Traces also hold what was said and what tools got."),
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="The attached report explains failures; slower.")
    ] = False,
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
        stdout().print(inert(_words(each)), soft_wrap=True, highlight=False)


def _words(each: "SyncResult") -> str:
    if each.run is None:
        return f"{each.to} ({each.at}): {each.sent} traces sent, {each.before} sent before"
    state = "sent" if each.sent else "unchanged since it was sent"
    return f"{each.to} ({each.at}): run {each.run} {state}"
