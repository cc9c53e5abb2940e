"""``maseval macs run``, ``rates``, ``score`` and ``data``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from maseval import commands
from maseval.benchmark.macs.app.options import MACSRunOptions
from maseval.cli.command_line import FAILED, with_examples
from maseval.cli.console import (
    Parts,
    act_on_data,
    chosen_stream,
    here,
    indent,
    inert,
    note,
    number_columns,
    print_json,
    print_parts,
    print_result,
    styled,
)
from maseval.cli.options import AsJson, Overwrite, argument, flag, option
from maseval.cli.running import command_with, run_and_finish
from maseval.core.exceptions import OutputExistsError
from maseval.core.recorded import number
from maseval.core.storage.files import write_bytes
from maseval.core.words import between, percent

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.macs.app.results import RunRates
    from maseval.benchmark.macs.metrics import GoalRate


@with_examples(
    (
        "maseval macs run --domain travel --trials 3 --budget 20usd "
        "--agent-model openai/gpt-4.1 --user-model openai/gpt-4.1",
        "a model as every agent of the team, three trials per task, for at most 20 dollars",
    ),
    (
        "maseval macs run --domain software --num-tasks 2 --base-url http://localhost:8000/v1 "
        "--agent-model mine --user-model mine --judge-model mine",
        "models on a server of your own",
    ),
    (
        "maseval macs run --domain travel --team my_team.py:MyTeam --user-model openai/gpt-4.1",
        "your own agents: a subclass of MACSBenchmark with setup_agents",
    ),
)
@command_with(MACSRunOptions, "maseval.benchmark.macs.app.run")
def run(context: typer.Context, as_json: AsJson = False) -> None:
    """Run tasks, and save every finished simulation in a run folder.

    The original's team of agents takes part, every agent played by --agent-model, unless --team
    names your own. Tools and user are played by models too; the judge is part of the number.

    The run is for maseval show, report and compare, like any other.
    """
    run_and_finish(context, as_json=as_json)


_NAMES = {
    "overall_gsr": "overall",
    "overall_partial_gsr": "partial",
    "user_gsr": "user side",
    "system_gsr": "system side",
}
_SHOWN = 10


@with_examples(
    ("maseval macs rates last", "the latest run"),
    ("maseval macs rates runs/mine --json", "for scripts"),
)
def rates(
    run: str = argument(..., "A run: its folder, its name, or last."), as_json: AsJson = False
) -> None:
    """Show the goal success rates of a run: overall, partial, and of both sides.

    Undecided assertions pass and unreadable answers fail, as in the original; both are listed.
    """
    found = commands.macs.rates(run)
    print_result(found, _rate_parts(found), as_json)


def _rate_parts(found: "RunRates") -> Parts:
    yield styled(here(found.path), "bold")
    if found.estimate:
        yield styled(found.estimate, "yellow")
    table = Table("domain", *number_columns("tasks", "scored", *_NAMES.values()))
    for each in found.domains:
        rates = (_rate(each.rates[key]) for key in _NAMES)
        scored = f"{each.scored}/{each.repetitions}"
        table.add_row(inert(each.domain or "all"), str(each.tasks), scored, *rates)
    yield table
    yield indent(
        "[dim]Goal success rates over scored simulations; 95% CI, clustered by task. A simulation "
        "without a verdict counts as 0; failures of user, tools or judge's provider are not "
        "scored.[/dim]"
    )
    for problem in found.problems[:_SHOWN]:
        yield note(f"{problem['task']}, trial {problem['repeat']}: {problem['problem']}")
    if len(found.problems) > _SHOWN:
        yield f"and {len(found.problems) - _SHOWN} more; --json lists all"


def _rate(rate: "GoalRate") -> str:
    if rate.value is None or rate.interval is None:
        return "no verdict"
    return f"{percent(rate.value)}\n{between(rate.interval.low, rate.interval.high)}"


_JUDGED_RATES = {
    "overall_gsr": "overall goal success rate",
    "partial_gsr": "partial goal success rate",
    "user_gsr": "user side",
    "system_gsr": "system side",
}


@with_examples(
    (
        "maseval macs score conversations/travel --domain travel --output results.json",
        "judge the files conversation_0.json, ..., and write the original's results file",
    ),
    ("maseval macs score exported --domain software --strict --json", "for scripts"),
)
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
    # Before anything is judged, as the judge's answers cost money.
    if output is not None and output.exists() and not overwrite:
        raise OutputExistsError(f"{output} already exists; --overwrite replaces it")
    found = commands.macs.score(
        folder, domain, judge_model=judge_model, base_url=base_url, strict=strict
    )
    if output is not None:
        from maseval.benchmark.macs.scoring import results_text  # help must not load it

        write_bytes(output, results_text(found).encode())
    print_parts(_result_parts(found), chosen_stream(as_json))
    if as_json:
        print_json(found)
    if any("error" in each for each in found["conversation_evals"]):
        raise typer.Exit(FAILED)


def _result_parts(found: dict[str, Any]) -> Parts:
    count, scenarios = found["conversation_count"], found["scenario_count"]
    yield f"{count} of {scenarios} conversations judged"
    rates = {key: number(value) for key, value in found.items() if key in _JUDGED_RATES}
    for key, name in _JUDGED_RATES.items() if count else ():
        yield f"  {name}: {percent(rates[key] or 0.0)}"
    for each in found["conversation_evals"]:
        if "error" in each:
            what = f"[red]conversation {each['trajectory_index']} not scorable:[/red]"
            yield f"  {what} {inert(each['error'])}"


@with_examples(
    ("maseval macs data fetch", "fetch all files, once"),
    ("maseval macs data verify", "compare every file with its checksum"),
    ("ls $(maseval macs data path)", "look at them"),
)
def data(
    action: str = argument(..., "fetch, verify or path."),
    force: bool = flag("Fetch again what is already there.", "--force"),
) -> None:
    """Fetch the benchmark's files, verify them by their checksums, or print their folder."""
    act_on_data(commands.macs.data, "maseval macs", action, {"force": force})
