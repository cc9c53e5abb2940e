"""``maseval run``."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from maseval import commands
from maseval.app.running.run_options import BenchmarkRunOptions
from maseval.cli.command_line import check_words, invoke_words
from maseval.cli.console import inert, stderr, stdout
from maseval.cli.display import run_and_finish
from maseval.cli.groups import examples
from maseval.cli.options import AsJson, argument, command_with
from maseval.cli.run_file import FileRun, command_words, read_run_file

EXAMPLES = examples(
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
    ("maseval run models.toml", "all runs of a file, each with the options it has there"),
    ("maseval new benchmark shopping", "a benchmark to start from"),
)


@command_with(BenchmarkRunOptions, file=True)
def run(
    given: dict[str, Any],
    context: typer.Context,
    benchmark: str = argument(
        ..., "FILE.py:NAME, package.module:NAME, or FILE.toml with options.", metavar="BENCHMARK"
    ),
    as_json: AsJson = False,
) -> None:
    """Run any benchmark, and save every finished simulation in a run folder.

    BENCHMARK names a subclass of maseval.Benchmark, a function that returns one, or an instance.

    If a file defines only one benchmark, its name may be left out: maseval run shopping.py

    --set is for the class or function. --agent-data is for setup_agents, beside AGENT_DATA.

    Tasks: those it was made with, of its method load_tasks, or of TASKS or load_tasks in its file.

    A FILE.toml has the options of one run or of several; the same command again resumes them all.

    The run is for maseval show, report, compare and plots, like any other.
    """
    if benchmark.endswith(".toml"):
        _run_file(Path(benchmark), context, as_json=as_json)
        return
    given["benchmark"] = benchmark
    run_and_finish(lambda **every: commands.run(**every), given, context, as_json=as_json)


def _run_file(path: Path, context: typer.Context, *, as_json: bool) -> None:
    """Run what a file lists, one after the other; what is typed counts for each of them."""
    typed = {
        name: value
        for name, value in context.params.items()
        if name not in ("benchmark", "as_json") and _is_typed(context, name)
    }
    runs = [
        each._replace(options={**each.options, **typed, **({"json": True} if as_json else {})})
        for each in read_run_file(path)
    ]
    for each in runs:
        with _named_in_errors(path, each):
            check_words(context, command_words(each, path))
    codes: list[int] = []
    for each in runs:
        if each.name is not None:
            stderr().print(f"[bold]{inert(each.name)}[/bold]")
        codes.append(invoke_words(context, command_words(each, path)))
    if len(runs) > 1 and not as_json:
        folders = " ".join(shlex.quote(str(each.folder(path))) for each in runs)
        stdout().print(f"maseval compare {inert(folders)}", soft_wrap=True)
    raise typer.Exit(max(codes))


@contextmanager
def _named_in_errors(path: Path, run: FileRun) -> Iterator[None]:
    try:
        yield
    except Exception:
        where = f"{path}, run {run.name}" if run.name else str(path)
        stderr().print(f"[bold]{inert(where)}:[/bold]")
        raise


def _is_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
