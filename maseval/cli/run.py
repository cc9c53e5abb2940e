"""``maseval run``, ``demo`` and ``new``."""

from pathlib import Path

import typer

from maseval import commands
from maseval.app.running.options import EXECUTION
from maseval.app.running.run_options import BenchmarkRunOptions
from maseval.cli.command_line import INCOMPLETE, command_line, with_examples
from maseval.cli.console import counting, here, inert, print_parts, program, stderr, stdout
from maseval.cli.options import AsJson, argument, flag, option
from maseval.cli.results import outcome_parts
from maseval.cli.run_file import read_run_file
from maseval.cli.running import command_with, display, run_or_plan


@with_examples(
    (
        "maseval run shopping.py:Shopping --trials 4 --agent-data model_id=openai/gpt-4.1 "
        "--budget 5usd",
        "your own, four trials per task, for at most 5 dollars",
    ),
    (
        "maseval run shopping.py:Shopping --tasks tasks.json --task-id tea --task-id milk",
        "two tasks of another list",
    ),
    (
        "maseval run shopping.py:make --set shelves=3 --output runs/mine --json",
        "a function that makes the benchmark; the same command again resumes the run",
    ),
    ("maseval run grid.toml", "all runs of a file, each with the options it has there"),
    ("maseval run grid.toml --dry-run", "what all of them would run, and their estimated cost"),
    ("maseval new benchmark shopping", "a benchmark to start from"),
)
@command_with(BenchmarkRunOptions, "maseval.app.running.run")
def run(
    context: typer.Context,
    benchmark: str = argument(
        ..., "FILE.py:NAME, package.module:NAME, or FILE.toml with options.", metavar="BENCHMARK"
    ),
    as_json: AsJson = False,
    dry_run: bool = flag(
        "Show what would run, and of tau2 its estimated cost; ask no model, write nothing.",
        "--dry-run",
        rich_help_panel=EXECUTION,
    ),
    rehearse: str | None = option(
        None,
        "Let a scripted model of the benchmark, such as gold, play the model of --agent; of a "
        "FILE.toml: of all its runs.",
        "--rehearse",
        rich_help_panel=EXECUTION,
    ),
) -> None:
    """Run any benchmark, and save every finished simulation in a run folder.

    BENCHMARK names a subclass of maseval.Benchmark, a function that returns one, or an instance.

    --set is for the class or function. --agent-data is for setup_agents, beside AGENT_DATA.

    Tasks: those it was made with, of its method load_tasks, or of TASKS or load_tasks in its file.

    A FILE.toml has the options of one run or of several; the same command again resumes them all.

    The run is for maseval show, report and compare, like any other.
    """
    if benchmark.endswith(".toml"):
        _run_file(Path(benchmark), context, rehearse, as_json=as_json, dry_run=dry_run)
        return
    run_or_plan(context, as_json=as_json, dry_run=dry_run)


def _run_file(
    path: Path, context: typer.Context, player: str | None, *, as_json: bool, dry_run: bool
) -> None:
    """Run what a file lists, one after the other; what is typed counts for each of them."""
    from maseval.cli.run_set import RunSet, rehearsed

    # These say what is done with the file, and are no options of the runs in it.
    ours = ("benchmark", "as_json", "dry_run", "rehearse")
    typed = {
        name: value
        for name, value in context.params.items()
        # The default of an option must not take the place of what the file says.
        if name not in ours and str(context.get_parameter_source(name)).endswith("COMMANDLINE")
    }
    runs = [each.with_options(typed) for each in read_run_file(path, context)]
    if player is not None:
        runs = [rehearsed(each, player, path) for each in runs]
    found = RunSet.of(path, runs, context, player=player, as_json=as_json)
    raise typer.Exit(found.show_plan() if dry_run else found.execute())


_NEXT = "Next: {0} view, to browse all runs   {0} tau2 play, to be the agent yourself"


@with_examples(
    ("maseval demo", "all 278 base tasks, four times each"),
    ("maseval demo --output runs/demo", "into a folder of your choice"),
)
def demo(
    context: typer.Context,
    output: Path | None = option(None, "Run folder; an existing run resumes.", "--output", "-o"),
) -> None:
    """Run tau2 with a scripted agent that makes mistakes, and write the report; no key needed."""
    progress, console = stderr(), stdout()
    _print_stage(1, "looking for the data of tau2-bench, and fetching what is missing")
    problem = _problem_with_data()
    if problem:
        progress.print(f"[yellow]The data of tau2-bench is not available:[/] {inert(problem)}")
        progress.print("Running on the built-in library domain instead.")
    _print_stage(2, "running every task four times, with a scripted agent that makes mistakes")
    result = commands.tau2.run(
        domain=["library"] if problem else ["airline", "retail", "telecom"],
        agent="noisy",
        trials=4,
        output=output,
        display=display(progress),
        command=command_line(context),
    )
    print_parts(outcome_parts(result), console)
    page = None
    if result.complete:
        _print_stage(3, "explaining what failed, and writing the report")
        with counting("explained") as shown:
            page = commands.report(result.folder, title="maseval demo", on_progress=shown)
        console.print(f"Report: {inert(here(page))}", soft_wrap=True)
    console.print(_NEXT.format(program()), soft_wrap=True)
    if page is None:
        raise typer.Exit(INCOMPLETE)


def _print_stage(number: int, words: str) -> None:
    stderr().print(f"[bold]{number}/3[/bold] {words} ...", soft_wrap=True)


def _problem_with_data() -> str | None:
    from maseval.benchmark.tau2.data_loader import Tau2DataError, ensure_data_exists

    try:
        ensure_data_exists()
    except Tau2DataError as error:
        return str(error)
    return None


@with_examples(
    ("maseval new agent my_agent", "my_agent.py and test_my_agent.py, to run on tau2"),
    ("maseval new system my_team", "a team: a supervisor, and two agents who work for it"),
    ("maseval new domain helpdesk", "helpdesk/: database, tools, policy, tasks and a test"),
    (
        "maseval new benchmark shopping --folder bench",
        "a benchmark that has nothing to do with tau2",
    ),
)
def new(
    kind: str = argument(..., "agent, system, domain or benchmark."),
    name: str = argument(..., "What it is called, as a Python module."),
    folder: Path = option(Path(), "Where to write it."),
) -> None:
    """Write a skeleton that runs, with a test; existing files are never replaced."""
    made = commands.new(kind, name, folder)
    console = stdout()
    for file in made.files:
        console.print(inert(here(file)), soft_wrap=True)
    for command in made.commands:
        console.print(f"  [cyan]{inert(command)}[/cyan]", soft_wrap=True)
