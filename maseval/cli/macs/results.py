"""``maseval macs rates``, ``score`` and ``export``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table

from maseval import commands
from maseval.cli.command_line import FAILED
from maseval.cli.console import here, inert, number_columns, print_json, stderr, stdout
from maseval.cli.groups import examples
from maseval.cli.options import AsJson, Overwrite, RunName, argument, flag, option
from maseval.core.exceptions import OutputExistsError
from maseval.core.figures import between, percent
from maseval.core.recorded import number
from maseval.core.storage.files import write_bytes

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.macs.app.results import RunRates
    from maseval.benchmark.macs.metrics import GoalRate
    from maseval.benchmark.macs.scoring import ResultsDocument

RATES_EXAMPLES = examples(
    ("maseval macs rates last", "the latest run"),
    ("maseval macs rates runs/mine --json", "for scripts"),
)

_NAMES = {
    "overall_gsr": "overall",
    "overall_partial_gsr": "partial",
    "user_gsr": "user side",
    "system_gsr": "system side",
}
_SHOWN = 10


def rates(run: RunName, as_json: AsJson = False) -> None:
    """Show the goal success rates of a run: overall, partial, and of both sides.

    Undecided assertions pass and unreadable answers fail, as in the original; both are listed.
    """
    found = commands.macs.rates(run)
    if as_json:
        print_json({**found.to_dict(), "path": str(found.path)})
    else:
        _print_rates(found, stdout())


def _print_rates(found: "RunRates", console: Console) -> None:
    console.print(f"[bold]{inert(here(found.path))}[/bold]", soft_wrap=True)
    if found.estimate:
        console.print(f"[yellow]{inert(found.estimate)}[/yellow]", soft_wrap=True)
    table = Table("domain", *number_columns("tasks", "scored", *_NAMES.values()))
    for each in found.domains:
        table.add_row(
            inert(each.domain or "all"),
            str(each.tasks),
            f"{each.scored}/{each.repetitions}",
            *(_rate(each.rates[key]) for key in _NAMES),
        )
    console.print(table)
    console.print(
        "[dim]Goal success rates over scored simulations; 95% CI, clustered by task. A simulation "
        "without a verdict counts as 0; failures of user, tools or judge's provider are not "
        "scored.[/dim]"
    )
    for problem in found.problems[:_SHOWN]:
        words = f"{problem['task']}, trial {problem['repeat']}: {problem['problem']}"
        console.print(f"[yellow]Note:[/yellow] {inert(words)}", soft_wrap=True)
    if len(found.problems) > _SHOWN:
        console.print(f"and {len(found.problems) - _SHOWN} more; --json lists all")


def _rate(rate: "GoalRate") -> str:
    if rate.value is None:
        return "no verdict"
    value = percent(rate.value)
    if rate.interval is None:
        return value
    return f"{value}\n{between(rate.interval.low, rate.interval.high)}"


SCORE_EXAMPLES = examples(
    (
        "maseval macs score conversations/travel --domain travel --output results.json",
        "judge the files conversation_0.json, ..., and write the original's results file",
    ),
    ("maseval macs score exported --domain software --strict --json", "for scripts"),
)

_JUDGED_RATES = {
    "overall_gsr": "overall goal success rate",
    "partial_gsr": "partial goal success rate",
    "user_gsr": "user side",
    "system_gsr": "system side",
}


def score(
    folder: Path = argument(..., "Folder of conversation_<i>.json."),
    domain: str = option(..., "travel, mortgage or software.", "--domain", "-d"),
    judge_model: str = option("openai/gpt-4o", "Model that judges; the default is the original's."),
    base_url: str | None = option(None, "URL of an OpenAI-compatible server."),
    strict: bool = flag("End with an error where the original's script would.", "--strict"),
    output: Path | None = option(None, "Write the original's results file.", "--output", "-o"),
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
    rates = {key: number(value) for key, value in found.items() if key in _JUDGED_RATES}
    for key, name in _JUDGED_RATES.items() if count else ():
        console.print(f"  {name}: {percent(rates[key] or 0.0)}")
    for each in found["conversation_evals"]:
        if "error" in each:
            console.print(
                f"  [red]conversation {each['trajectory_index']} not scorable:[/red] "
                f"{inert(each['error'])}",
                soft_wrap=True,
            )


EXPORT_EXAMPLES = examples(
    ("maseval macs export last", "a folder for each domain, in the run's folder"),
    ("maseval macs export runs/mine --trial 2 --output theirs", "another trial, elsewhere"),
)


def export(
    run: RunName,
    output: Path | None = option(
        None, "Folder in which each domain gets one of its own.", "--output", "-o"
    ),
    trial: int = option(0, "Which trial of every task."),
    overwrite: Overwrite = False,
) -> None:
    """Write a run as conversations and results of the original, whose script judges them too."""
    for written in commands.macs.export(run, output, trial=trial, overwrite=overwrite):
        typer.echo(written.folder)
        if written.unjudged:
            stderr().print(
                f"[yellow]{len(written.unjudged)} of {written.conversations} conversations have no "
                f"verdict and no result: {inert(', '.join(written.unjudged))}[/yellow]"
            )


COMMANDS = {rates: RATES_EXAMPLES, score: SCORE_EXAMPLES, export: EXPORT_EXAMPLES}
