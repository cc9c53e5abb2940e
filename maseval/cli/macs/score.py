"""``maseval macs score``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from maseval import commands
from maseval.cli.command_line import FAILED
from maseval.cli.console import inert, stderr, stdout
from maseval.cli.groups import examples
from maseval.cli.options import AsJson, Overwrite
from maseval.core.exceptions import OutputExistsError
from maseval.core.figures import percent
from maseval.core.recorded import number
from maseval.core.storage.files import write_bytes

if TYPE_CHECKING:  # help must not load what makes it
    from maseval.benchmark.macs.scoring import ResultsDocument

EXAMPLES = examples(
    (
        "maseval macs score conversations/travel --domain travel --output results.json",
        "judge the files conversation_0.json, ..., and write the original's results file",
    ),
    ("maseval macs score exported --domain software --strict --json", "for scripts"),
)

_RATES = {
    "overall_gsr": "overall goal success rate",
    "partial_gsr": "partial goal success rate",
    "user_gsr": "user side",
    "system_gsr": "system side",
}


def score(
    folder: Annotated[Path, typer.Argument(help="Folder of conversation_<i>.json.")],
    domain: Annotated[str, typer.Option("--domain", "-d", help="travel, mortgage or software.")],
    judge_model: Annotated[
        str, typer.Option(help="Model that judges; the default is the original's.")
    ] = "openai/gpt-4o",
    base_url: Annotated[
        str | None, typer.Option(help="URL of an OpenAI-compatible server.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with an error where the original's script would.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the original's results file.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Judge finished conversations with the original's prompts and rules.

    Exit code 1 if an answer of the judge could not be read.
    """
    if output is not None and output.exists() and not overwrite:
        raise OutputExistsError(f"{output} already exists; --overwrite replaces it")
    found = commands.macs.score(
        folder, domain, judge_model=judge_model, base_url=base_url, strict=strict
    )
    if output is not None:
        from maseval.benchmark.macs.scoring import results_text  # help must not load it

        write_bytes(output, results_text(found).encode())
    _print_results(found, stderr() if as_json else stdout())
    if as_json:
        typer.echo(json.dumps(found))
    if any("error" in each for each in found["conversation_evals"]):
        raise typer.Exit(FAILED)


def _print_results(found: "ResultsDocument", console: Console) -> None:
    count, scenarios = found["conversation_count"], found["scenario_count"]
    console.print(f"{count} of {scenarios} conversations judged")
    rates = {key: number(value) for key, value in found.items() if key in _RATES}
    for key, name in _RATES.items() if count else ():
        console.print(f"  {name}: {percent(rates[key] or 0.0)}")
    for each in found["conversation_evals"]:
        if "error" in each:
            console.print(
                f"  [red]conversation {each['trajectory_index']} not scorable:[/red] "
                f"{inert(each['error'])}",
                soft_wrap=True,
            )
