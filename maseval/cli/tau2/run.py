"""``maseval tau2 run``."""

from typing import Annotated, Any

import typer

from maseval import commands
from maseval.app.running.folder_options import EXECUTION
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.cli.command_line import command_line
from maseval.cli.console import stderr, stdout
from maseval.cli.display import display
from maseval.cli.errors import is_debugging
from maseval.cli.option_objects import command_with
from maseval.cli.options import AsJson, examples
from maseval.cli.results import finish
from maseval.cli.tau2.dry_run import show_plan
from maseval.cli.watching import Watching

EXAMPLES = examples(
    (
        "maseval tau2 run --domain retail --agent gold",
        "the reference solution of every task, no key needed",
    ),
    (
        "maseval tau2 run --domain airline --domain telecom --trials 4 --budget 20usd "
        "--agent-model openai/gpt-4.1 --user-model openai/gpt-4.1",
        "a model, four trials per task, for at most 20 dollars",
    ),
    (
        "maseval tau2 run --domain retail --agent-model openai/gpt-4.1 "
        "--user-model openai/gpt-4.1 --dry-run",
        "what that would run, and its estimated cost",
    ),
    (
        "maseval tau2 run --domain retail --num-tasks 5 --base-url http://localhost:8000/v1 "
        "--agent-model my-model --user-model my-model --agent-args temperature=0.7",
        "a model on a server of your own",
    ),
    (
        "maseval tau2 run --domain retail --agent my_agent.py:agent --rehearse gold",
        "your own agent with a scripted model: does everything arrive?",
    ),
    (
        "maseval tau2 run --domain retail --agent gold --output runs/mine --json",
        "for scripts; the same command again resumes the run",
    ),
)

SETTINGS = {"allow_extra_args": True}


@command_with(RunOptions)
def run(
    given: dict[str, Any],
    context: typer.Context,
    as_json: AsJson = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show what would run and its estimated cost; ask no model, write nothing.",
            rich_help_panel=EXECUTION,
        ),
    ] = False,
    show_prompts: Annotated[
        bool,
        typer.Option(
            "--show-prompts",
            help="With --dry-run, the whole prompts of the first task.",
            rich_help_panel=EXECUTION,
        ),
    ] = False,
) -> None:
    """Run tasks, and save every finished simulation in a run folder.

    The options of tau2-bench (--num-trials, --agent-llm, ...) work as well.
    """
    # tau2-bench takes all ids after one --task-ids; nothing else may stand without an option.
    if context.args and not given["task_id"]:
        raise typer.BadParameter(f"unexpected argument {context.args[0]!r}")
    given["task_id"] += context.args
    given["timeout"] = given["timeout"] or None
    if dry_run or show_prompts:
        show_plan(commands.tau2.plan(**given), stdout(), as_json=as_json, whole=show_prompts)
        return
    watching = Watching(wanted=given["view"])
    result = commands.tau2.run(
        **given,
        display=display(stderr()),
        on_view=watching.on_view,
        command=command_line(context),
    )
    console = stderr() if as_json else stdout()
    debug = is_debugging(context)
    finish(result, console, as_json=as_json, debug=debug, watching=watching)
