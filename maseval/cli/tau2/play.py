"""``maseval tau2 play``, ``mcp`` and ``branch``: a single task, or the rest of a conversation."""

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from maseval import commands
from maseval.app.results.results import RunResult
from maseval.app.running.options import PARTICIPANTS, TASKS
from maseval.benchmark.tau2.app.running.options import BranchOptions, McpOptions, PlayOptions
from maseval.cli import completion
from maseval.cli.command_line import INCOMPLETE, command_line, is_debugging, with_examples
from maseval.cli.console import (
    Parts,
    chosen_stream,
    here,
    indent,
    inert,
    print_json,
    print_parts,
    stderr,
    stdout,
)
from maseval.cli.display import display
from maseval.cli.options import (
    TASK_OF_RUN,
    AsJson,
    RunOrResultsFile,
    Scoring,
    argument,
    command_with,
    domain_option,
    load_domain,
    option,
)
from maseval.cli.results import finish, print_outcome
from maseval.cli.servers import Watching
from maseval.cli.show import print_verdict
from maseval.core.figures import in_percent, percent

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.app.running.branch import BranchResult
    from maseval.benchmark.tau2.app.running.play import Play
    from maseval.cli.tau2.play_terminal import PlayTerminal


@with_examples(
    ("maseval tau2 play", "a small library, no key and no download needed"),
    ("maseval tau2 play retail --task 5", "the agent of a task, with a scripted customer"),
    ("maseval tau2 play retail --user-model openai/gpt-4.1", "with a customer that a model plays"),
    ("maseval tau2 play telecom --as user", "the customer, with the customer's phone"),
    ("maseval tau2 play telecom --as user --agent-model openai/gpt-4.1", "a model helps you"),
    ("maseval tau2 play retail --output runs/me", "task after task into one run: a human baseline"),
)
@command_with(PlayOptions)
def play(
    given: dict[str, Any],
    context: typer.Context,
    domain: str | None = argument(
        None,
        "airline, retail, telecom, ... or your own: FILE.py:NAME.",
        show_default="library",
        callback=load_domain,
        autocompletion=completion.domains,
    ),
    option_domain: str | None = domain_option("The domain, as DOMAIN.", callback=load_domain),
    task: str | None = option(
        None,
        "The task.",
        *("--task", "--task-id", "-t"),
        show_default="the first that has not been played",
        rich_help_panel=TASKS,
        autocompletion=completion.tasks_of_domain,
    ),
    side: str = option(
        "agent", "Which side you play: agent or user.", "--as", rich_help_panel=PARTICIPANTS
    ),
) -> None:
    """Play the agent or the customer yourself, in this terminal.

    The tools are forms, the databases and the rules are real, and the result is a run like any
    other, marked as human. Ctrl-C interrupts it; the same command with the same --output resumes.
    """
    _forget_environment(given, context, side)
    given["timeout"] = given["timeout"] or None
    given["command"] = command_line(context)
    console = stdout()
    begun = commands.tau2.play(**given, domain=domain or option_domain, task_id=task, side=side)
    from maseval.cli.tau2.play_terminal import PlayTerminal  # the other commands need no forms

    terminal = PlayTerminal(begun, console)
    _finish(begun, terminal, terminal.run(), console)


def _forget_environment(given: dict[str, Any], context: typer.Context, side: str) -> None:
    """Drop a model of the played side that the environment names for all runs."""
    for name in (f"{side}_model", f"{side}_args"):
        source: Any = context.get_parameter_source(name)
        if source is not None and source.name == "ENVIRONMENT":
            given[name] = None


def _finish(begun: "Play", terminal: "PlayTerminal", result: RunResult, console: Console) -> None:
    name = inert(shlex.quote(here(result.folder)))
    simulation = begun.simulation
    if not begun.has_verdict:
        if terminal.asks_to_drop() and begun.drop():
            console.print("Dropped; nothing is kept.")
            return
        console.print(
            f"[yellow]Interrupted.[/yellow] What happened is in {name}: `maseval show {name}`. "
            f"Repeat the command with --output {name} to resume it, or delete the folder.",
            soft_wrap=True,
        )
        raise typer.Exit(INCOMPLETE)
    view = commands.show(result.folder, f"{simulation.domain}/{simulation.task_id}", 0)
    print_verdict(view, console)  # type: ignore[arg-type]  # with a task, it is a simulation
    shown = shlex.quote(f"{simulation.domain}/{simulation.task_id}")
    console.print(
        f"Saved as a run: maseval show {name} {inert(shown)}   maseval report {name}\n"
        f"The next task of this run: maseval tau2 play {inert(simulation.domain)} --output {name}",
        soft_wrap=True,
    )


@with_examples(
    (
        "maseval tau2 mcp --domain retail --task-id 5 --user-model openai/gpt-4.1",
        "the command to name in an MCP client's configuration",
    ),
    (
        "maseval tau2 mcp --domain retail --task-id 5 --user scripted --transport http --port 8900",
        "at http://127.0.0.1:8900/mcp, no key needed",
    ),
)
@command_with(McpOptions)
def mcp(given: dict[str, Any], context: typer.Context) -> None:
    """Let an agent that speaks MCP solve one task: Claude Code, an editor, a script.

    It gets the task's tools, and two more to talk to the customer; all is saved in a run folder.

    The score goes to standard error, never to the agent.
    """
    if len(given["task_id"]) > 1:
        raise typer.BadParameter(
            f"--task-id is one task, not {len(given['task_id'])}; start a server each"
        )
    given["task_id"] = given["task_id"][0]
    given["timeout"] = given["timeout"] or None
    given["command"] = command_line(context)
    result = commands.tau2.mcp(**given, on_address=_print_address, on_result=_print_result)
    if result is None:
        stderr().print("No agent began the conversation; nothing is recorded.")
    elif not result.complete:
        raise typer.Exit(INCOMPLETE)


def _print_address(url: str) -> None:
    stderr().print(f"MCP server at {url}", soft_wrap=True)


def _print_result(result: RunResult, how: str) -> None:
    console = stderr()
    console.print(inert(how), soft_wrap=True)
    print_outcome(result, console)


@with_examples(
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
    domain: str | None = Scoring.domain,
    data_version: str | None = Scoring.data_version,
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
    console = chosen_stream(as_json)
    print_parts(_chance_parts(result), console)
    if as_json:
        print_json(result.to_dict())
    debug = is_debugging(context)
    # The chance is the result: pass^k over one task would say the same with a wider interval.
    finish(result.run, console, as_json=False, debug=debug, watching=watching, with_scores=False)


def _chance_parts(result: "BranchResult") -> Parts:
    origin, interval = result.origin.to_config(), result.interval
    task = inert(f"{origin['run']}, {origin['task']}")
    yield f"Continued {task}, trial {origin['trial']}, after message {origin['at']}"
    if result.chance is None:
        yield "No simulation has a verdict."
        return
    yield indent(
        f"[bold]{result.passed} of {result.judged} passed[/bold] ({percent(result.chance, 0)}, "
        f"{percent(interval.level, 0)} CI {in_percent(interval.low, 0)} to "
        f"{in_percent(interval.high, 0)})"
    )
