"""``maseval tau2 branch``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from maseval import commands
from maseval.benchmark.tau2.app.running.options import BranchOptions
from maseval.cli.command_line import command_line, is_debugging
from maseval.cli.console import inert, print_json, stderr, stdout
from maseval.cli.display import display
from maseval.cli.groups import examples
from maseval.cli.options import (
    TASK_OF_RUN,
    AsJson,
    DataVersion,
    DomainOfFile,
    RunOrResultsFile,
    argument,
    command_with,
)
from maseval.cli.results import finish
from maseval.cli.view import Watching
from maseval.core.figures import in_percent, percent

if TYPE_CHECKING:  # help must not load what makes it
    from maseval.benchmark.tau2.app.running.branch import BranchResult

EXAMPLES = examples(
    (
        "maseval tau2 branch last retail/12 0 --at 14 --repeats 20",
        "the chance to pass from message 14 on, with the same agent and user",
    ),
    (
        "maseval tau2 branch last retail/12 0 --at 14 --agent-model openai/gpt-4.1",
        "another model takes over after message 14",
    ),
    (
        "maseval tau2 branch last retail/12 0 --at 14 --prompt kinder.md",
        "the same model with another prompt",
    ),
    (
        "maseval tau2 branch last retail/12 0 --at 14 --agent my_agent.py:agent",
        "your own agent takes over, of any framework",
    ),
    (
        "maseval tau2 branch last retail/12 0 --at 14 --agent gold --user scripted",
        "can the task still be solved from there? (needs no model)",
    ),
    (
        "maseval tau2 branch theirs.json 12 0 --at 6 --agent-model openai/gpt-4.1 "
        "--user-model openai/gpt-4.1",
        "continue a simulation of a results file of tau2-bench",
    ),
)


@command_with(BranchOptions)
def branch(
    given: dict[str, Any],
    context: typer.Context,
    run: RunOrResultsFile,
    task: Annotated[str, TASK_OF_RUN],
    trial: int | None = argument(None, "Which trial.", show_default="first"),
    domain: DomainOfFile = None,
    data_version: DataVersion = None,
    as_json: AsJson = False,
) -> None:
    """Continue a recorded conversation from one of its messages, with any agent.

    The beginning is replayed and checked: databases, histories, steps, seeds.
    What is not named stays as in the original.
    With --repeats, the chance to pass from that message on.
    """
    given["timeout"] = given["timeout"] or None
    watching = Watching(wanted=given["view"])
    result = commands.tau2.branch(
        **given,
        run=run,
        task=task,
        trial=trial,
        of_domain=domain,
        data_version=data_version or "",
        display=display(stderr()),
        on_view=watching.on_view,
        command=command_line(context),
    )
    console = stderr() if as_json else stdout()
    _print_chance(result, console)
    if as_json:
        print_json(result.to_dict())
    debug = is_debugging(context)
    # The chance is the result: pass^k over one task would say the same with a wider interval.
    finish(result.run, console, as_json=False, debug=debug, watching=watching, with_scores=False)


def _print_chance(result: "BranchResult", console: Console) -> None:
    origin, interval = result.origin.to_config(), result.interval
    console.print(
        f"Continued {inert(str(origin['run']))}, {inert(str(origin['task']))}, trial "
        f"{origin['trial']}, after message {origin['at']}",
        soft_wrap=True,
    )
    if result.chance is None:
        console.print("No simulation has a verdict.")
        return
    console.print(
        f"[bold]{result.passed} of {result.judged} passed[/bold] ({percent(result.chance, 0)}, "
        f"{percent(interval.level, 0)} CI {in_percent(interval.low, 0)} to "
        f"{in_percent(interval.high, 0)}, {interval.method})"
    )
