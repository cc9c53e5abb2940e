"""``maseval run``."""

from typing import Annotated, Any

import typer

from maseval import commands
from maseval.app.running.run_options import BenchmarkRunOptions
from maseval.cli.command_line import command_line, is_debugging
from maseval.cli.console import stderr, stdout
from maseval.cli.display import display
from maseval.cli.option_objects import command_with
from maseval.cli.options import AsJson, examples
from maseval.cli.results import finish
from maseval.cli.view import Watching

EXAMPLES = examples(
    (
        "maseval run maseval.benchmark.booking:BookingBenchmark --trials 4 "
        "--agent-data slip_rate=0.2",
        "the small example that comes with maseval, no key needed",
    ),
    (
        "maseval run shopping.py:Shopping --trials 4 --agent-data model_id=openai/gpt-4.1 "
        "--budget 5usd",
        "your own, four trials per task, for at most 5 dollars",
    ),
    (
        "maseval run shopping.py --tasks tasks.json --task-id tea --task-id milk",
        "the only benchmark of a file, two tasks of another list",
    ),
    (
        "maseval run shopping.py:make --set shelves=3 --output runs/mine --json",
        "a function that makes the benchmark; the same command again resumes the run",
    ),
    ("maseval new benchmark shopping", "a benchmark to start from"),
)


@command_with(BenchmarkRunOptions)
def run(
    given: dict[str, Any],
    context: typer.Context,
    benchmark: Annotated[
        str, typer.Argument(help="FILE.py:NAME or package.module:NAME.", metavar="BENCHMARK")
    ],
    as_json: AsJson = False,
) -> None:
    """Run any benchmark, and save every finished simulation in a run folder.

    BENCHMARK names a subclass of maseval.Benchmark, a function that returns one, or an instance.

    If a file defines only one benchmark, its name may be left out: maseval run shopping.py

    --set is for the class or function. --agent-data is for setup_agents, beside AGENT_DATA.

    Tasks: those it was made with, of its method load_tasks, or of TASKS or load_tasks in its file.

    The run is for maseval show, report, compare and plots, like any other.
    """
    watching = Watching(wanted=given["view"])
    given |= {"display": display(stderr()), "command": command_line(context)}
    given["on_view"] = watching.on_view
    result = commands.run(benchmark=benchmark, **given)
    console = stderr() if as_json else stdout()
    debug = is_debugging(context)
    finish(result, console, as_json=as_json, debug=debug, watching=watching)
