"""``maseval tau2 play``, ``mcp`` and ``branch``: a single task, or the rest of a conversation."""

import json
import shlex
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from maseval import commands
from maseval.app.results.run_summary import RunResult
from maseval.benchmark.tau2.app.running.options import BranchOptions, McpOptions, PlayOptions
from maseval.cli.command_line import INCOMPLETE, is_debugging, with_examples
from maseval.cli.console import (
    Parts,
    chosen_stream,
    ended_by_signals,
    here,
    indent,
    inert,
    print_json,
    print_parts,
    stderr,
    stdout,
)
from maseval.cli.options import TASK_OF_RUN, AsJson, argument, runs_argument
from maseval.cli.results import finish, outcome_parts
from maseval.cli.running import command_with, display, given_options, json_or_text
from maseval.cli.show import print_verdict
from maseval.core.exceptions import ConfigurationError
from maseval.core.words import in_percent, percent

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.app.running.branch import BranchResult
    from maseval.benchmark.tau2.formats.message import SpokenMessage
    from maseval.benchmark.tau2.players.human import SeatView


@with_examples(
    ("maseval tau2 play", "a small library, no key and no download needed"),
    ("maseval tau2 play retail --task-id 5", "the agent of a task, with a scripted customer"),
    ("maseval tau2 play retail --user-model openai/gpt-4.1", "with a customer that a model plays"),
    (
        "maseval tau2 play retail --task-id 1-5 --output runs/me",
        "a human baseline: the same command again plays the next task",
    ),
)
@command_with(PlayOptions)
def play(context: typer.Context) -> None:
    """Play the agent yourself, in this terminal.

    The tools, the databases and the rules are real, and the result is a run like any other, marked
    as human. Ctrl-C interrupts it.
    """
    console = stdout()
    terminal = PlayTerminal(console)
    played = commands.tau2.play(**given_options(context, ask=terminal.ask))
    # The last words of the customer came after the last question for input.
    if played.view is not None:
        terminal.show_new(played.view)
    folder, task = here(played.run.folder), str(played.simulation.task)
    view: Any = commands.show(played.run.folder, task, 0)
    if view.line.kind == "error":
        console.print(
            f"[yellow]No verdict:[/yellow] {inert(str(view.line.error))}. The same command with "
            f"--output {inert(shlex.quote(folder))} plays it again.",
            soft_wrap=True,
        )
        raise typer.Exit(INCOMPLETE)
    print_verdict(view, console)
    words = f"maseval show {shlex.quote(folder)} {shlex.quote(task)}"
    console.print(f"Saved as a run: {inert(words)}", soft_wrap=True)


_AS_AGENT = (
    "You are the agent of [bold]{domain}[/bold]. A customer calls. Find out what they want, look "
    "things up and change them with your tools, and obey the policy. When everything is settled or "
    "refused, say goodbye with /stop.\n"
    "You pass if the database ends up exactly as it should, and you said what had to be said."
)
_COMMANDS = "/text, the policy   /tools   /call NAME   /stop [WORDS]   /quit"


class PlayTerminal:
    """Prints the conversation, and reads what the person types at a terminal or in a pipe."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown: int | None = None
        # Not every Python is built with it.
        with suppress(ImportError):
            import readline  # noqa: F401  # arrows and history in what is typed

    def ask(self, view: "SeatView") -> "SpokenMessage":
        self.show_new(view)
        with ended_by_signals():
            while True:
                try:
                    if message := self._act(view, _read("> ")):
                        return message
                except ConfigurationError as error:
                    self._console.print(f"[red]{inert(str(error))}[/red]")

    def show_new(self, view: "SeatView") -> None:
        """Print the messages since the last call; at first also the task."""
        if self._shown is None:
            self._console.print(f"[bold]{inert(view.domain)}, task {inert(view.task_id)}[/bold]")
            self._console.print(_AS_AGENT.format(domain=inert(view.domain)))
            self._console.print(f"[cyan]{inert(_COMMANDS)}[/cyan]")
        for message in view.messages[self._shown or 0 :]:
            self._show(message)
        self._shown = len(view.messages)

    def _show(self, message: Any) -> None:
        for call in message.get("tool_calls") or ():
            arguments = json.dumps(call["arguments"], ensure_ascii=False)
            self._console.print(indent(f"→ [bold]{inert(call['name'])}[/] {inert(arguments)}", 2))
        # What was typed is on the screen.
        if not message.get("content") or (
            message["role"] == "assistant" and self._shown is not None
        ):
            return
        who = {"assistant": "Agent", "user": "Customer"}.get(message["role"], "Result")
        colour = "bold red" if message.get("error") else "bold magenta"
        self._console.print(f"[{colour}]{who}[/]")
        self._console.print(indent(inert(message["content"]), 2))

    def _act(self, view: "SeatView", text: str) -> "SpokenMessage | None":
        """Do what was typed; return the message, if it was one."""
        if not text.startswith("/"):
            return view.say(text) if text.strip() else None
        name, _, rest = text[1:].strip().partition(" ")
        match name:
            case "quit":
                raise KeyboardInterrupt
            case "stop":
                return view.finish(rest)
            case "call":
                return self._call(view, rest)
            case "text":
                self._console.print(inert(view.text))
            case "tools":
                for each in view.tools:
                    self._print_tool(each["function"])
            case unknown:
                raise ConfigurationError(f"There is no /{unknown}, only {_COMMANDS}")
        return None

    def _print_tool(self, function: Mapping[str, Any]) -> None:
        words = (function.get("description") or "").strip().partition("\n")[0]
        self._console.print(f"[bold]{inert(function['name'])}[/bold]  {inert(words)}")

    def _call(self, view: "SeatView", name: str) -> "SpokenMessage":
        known = {each["function"]["name"]: each["function"] for each in view.tools}
        if name not in known:
            raise ConfigurationError(f"{name!r} is not a tool; /tools lists them")
        self._print_tool(known[name])
        arguments = {}
        for each, schema in (known[name].get("parameters") or {}).get("properties", {}).items():
            kind = schema.get("type", "")
            if text := _read(f"  {each} ({kind or 'JSON'}): ").strip():
                # A string is taken as it is typed: an id such as 0042 is no number.
                arguments[each] = text if kind == "string" else json_or_text(text)
        return view.call_tool(name, arguments)


def _read(prompt: str) -> str:
    try:
        return input(prompt)
    except EOFError:
        # The end of what is piped in is the end of the conversation.
        raise KeyboardInterrupt from None


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
def mcp(context: typer.Context) -> None:
    """Let an agent that speaks MCP solve one task: Claude Code, an editor, a script.

    It gets the task's tools, and two more to talk to the customer; all is saved in a run folder.

    The score goes to standard error, never to the agent.
    """
    given = given_options(context, on_address=_print_address, on_result=_print_result)
    task_id, *others = given["task_id"]
    if others:
        raise typer.BadParameter(
            f"--task-id is one task, not {1 + len(others)}; start a server each"
        )
    result = commands.tau2.mcp(**{**given, "task_id": task_id})
    if result is None:
        stderr().print("No agent began the conversation; nothing is recorded.")
    elif not result.complete:
        raise typer.Exit(INCOMPLETE)


def _print_address(url: str) -> None:
    stderr().print(f"MCP server at {url}", soft_wrap=True)


def _print_result(result: RunResult, how: str) -> None:
    # Standard output may be the connection to the agent, which must not see its score.
    console = stderr()
    console.print(inert(how), soft_wrap=True)
    print_parts(outcome_parts(result), console)


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
        "your own agent takes over, if it can be given a conversation",
    ),
    (
        "maseval tau2 branch last retail/12 0 --at 14 --agent gold --user scripted",
        "can the task still be solved from there? (needs no model)",
    ),
)
@command_with(BranchOptions)
def branch(
    context: typer.Context,
    run: Annotated[str, runs_argument("A run: its folder, its name, or last.")],
    task: Annotated[str, TASK_OF_RUN],
    trial: int | None = argument(None, "Which trial.", show_default="first"),
    as_json: AsJson = False,
) -> None:
    """Continue a recorded conversation from one of its messages, with another model or prompt.

    The beginning is replayed and checked: databases, histories, steps, seeds.
    What is not named stays as in the original.
    With --repeats, the chance to pass from that message on.
    """
    result = commands.tau2.branch(**given_options(context, display=display(stderr())))
    console = chosen_stream(as_json)
    print_parts(_chance_parts(result), console)
    if as_json:
        print_json(result.to_dict())
    debug = is_debugging(context)
    # The chance is the result: pass^k over one task would say the same with a wider interval.
    finish(result.run, console, as_json=False, debug=debug, with_scores=False)


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
