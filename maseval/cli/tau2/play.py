"""``maseval tau2 play``, ``mcp`` and ``branch``: a single task, or the rest of a conversation."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from maseval import commands
from maseval.app.results.results import RunResult
from maseval.app.running.options import PARTICIPANTS, TASKS
from maseval.benchmark.tau2.app.running.options import BranchOptions, McpOptions, PlayOptions
from maseval.cli.command_line import INCOMPLETE, command_line, is_debugging, with_examples
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
from maseval.cli.display import display
from maseval.cli.options import (
    TASK_OF_RUN,
    AsJson,
    RunOrResultsFile,
    Scoring,
    argument,
    command_with,
    domain_option,
    json_object,
    json_or_text,
    load_domain,
    option,
)
from maseval.cli.results import finish, print_outcome
from maseval.cli.show import print_verdict
from maseval.core.exceptions import ConfigurationError
from maseval.core.figures import in_percent, percent

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.app.running.branch import BranchResult
    from maseval.benchmark.tau2.app.running.play import PlayedTask
    from maseval.benchmark.tau2.formats.message import SpokenMessage
    from maseval.benchmark.tau2.players.human import SeatView


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
    ),
    option_domain: str | None = domain_option("The domain, as DOMAIN.", callback=load_domain),
    task: str | None = option(
        None,
        "The task.",
        *("--task", "--task-id", "-t"),
        show_default="the first that has not been played",
        rich_help_panel=TASKS,
    ),
    side: str = option(
        "agent", "Which side you play: agent or user.", "--as", rich_help_panel=PARTICIPANTS
    ),
) -> None:
    """Play the agent or the customer yourself, in this terminal.

    The tools, the databases and the rules are real, and the result is a run like any other, marked
    as human. Ctrl-C interrupts it; the same command with the same --output resumes.
    """
    _forget_environment(given, context, side)
    given["timeout"] = given["timeout"] or None
    terminal = PlayTerminal(stdout())
    played = commands.tau2.play(
        **given,
        command=command_line(context),
        domain=domain or option_domain,
        task_id=task,
        side=side,
        ask=terminal.ask,
    )
    if played.view is not None:
        terminal.show_new(played.view)
    _finish(played, stdout())


def _forget_environment(given: dict[str, Any], context: typer.Context, side: str) -> None:
    """Drop a model of the played side that the environment names for all runs."""
    for name in (f"{side}_model", f"{side}_args"):
        source: Any = context.get_parameter_source(name)
        if source is not None and source.name == "ENVIRONMENT":
            given[name] = None


def _finish(played: "PlayedTask", console: Console) -> None:
    console.print(f"[bold]{inert(played.ending)}[/bold]")
    name, simulation = inert(shlex.quote(here(played.run.folder))), played.simulation
    if not played.has_verdict:
        console.print(
            f"[yellow]Interrupted.[/yellow] What happened is in {name}: `maseval show {name}`. "
            f"Repeat the command with --output {name} to resume it, or delete the folder.",
            soft_wrap=True,
        )
        raise typer.Exit(INCOMPLETE)
    view = commands.show(played.run.folder, str(simulation.task), 0)
    print_verdict(view, console)  # type: ignore[arg-type]  # with a task, it is a simulation
    console.print(
        f"Saved as a run: maseval show {name} {inert(shlex.quote(str(simulation.task)))}   "
        f"maseval report {name}\n"
        f"The next task of this run: maseval tau2 play {inert(simulation.domain)} --output {name}",
        soft_wrap=True,
    )


_AS_AGENT = (
    "You are the agent of [bold]{domain}[/bold]. A customer calls. Find out what they want, look "
    "things up and change them with your tools, and obey the policy. When everything is settled or "
    "refused, say goodbye with /stop.\n"
    "You pass if the database ends up exactly as it should, and you said what had to be said."
)
_AS_USER = (
    "You are the customer of [bold]{domain}[/bold]. You talk to the agent about what your "
    "instructions below say, and to nobody else. Do not invent facts. When your request is settled "
    "or refused, leave with /stop.\n"
    "Only the agent is judged, by whether the database ends up as it should."
)
_HELP = (
    ("any text", "say it to the other side; a \\ at the end continues on the next line"),
    ("/text", "the policy, or the customer's instructions"),
    ("/tools [NAME]", "what you can do, or one tool in detail"),
    ("/call NAME", "use a tool; you are asked for its parameters one by one"),
    ('/call NAME {"id": 1}', "the same with its parameters as JSON"),
    ("/stop [WORDS]", "end the conversation; it is then judged"),
    ("/transfer [WORDS]", "as the customer: leave, because you were transferred to a person"),
    ("/quit or Ctrl-C", "interrupt; what happened is kept and can be resumed"),
)


class PlayTerminal:
    """Prints the conversation, and reads what the person types at a terminal or in a pipe."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown: int | None = None
        self._is_terminal = sys.stdin.isatty()
        if self._is_terminal:
            with suppress(ImportError):
                import readline  # noqa: F401  # arrows and history in what is typed

    def ask(self, view: "SeatView") -> "SpokenMessage":
        """Ask until something is said or done."""
        self.show_new(view)
        with ended_by_signals():
            while True:
                try:
                    if message := self._act(view, self._text()):
                        return message
                except (ConfigurationError, typer.BadParameter) as error:
                    self._console.print(f"[red]{inert(str(error))}[/red]")

    def show_new(self, view: "SeatView") -> None:
        """Print the messages since the last call; at first also the task."""
        if self._shown is None:
            words = _AS_AGENT if view.side == "assistant" else _AS_USER
            self._console.print(f"[bold]{inert(view.domain)}, task {inert(view.task_id)}[/bold]")
            self._console.print(words.format(domain=inert(view.domain)))
            self._console.print("[cyan]/text   /tools   /help[/cyan]")
            if view.side == "user":
                self._console.print(inert(view.text))
        elif len(view.messages) < self._shown:
            self._console.print("[yellow]It failed for a technical reason and begins again.[/]")
            self._shown = 0
        for message in view.messages[self._shown or 0 :]:
            self._show(message, view.side)
        self._shown = len(view.messages)

    def _show(self, message: Any, side: str) -> None:
        for call in message.get("tool_calls") or ():
            arguments = json.dumps(call["arguments"], ensure_ascii=False)
            self._console.print(indent(f"→ [bold]{inert(call['name'])}[/] {inert(arguments)}", 2))
        # What was typed is on the screen.
        if not message.get("content") or (message["role"] == side and self._shown is not None):
            return
        who = {"assistant": "Agent", "user": "Customer"}.get(message["role"], "Result")
        colour = "bold red" if message.get("error") else "bold magenta"
        self._console.print(f"[{colour}]{who}[/]")
        self._console.print(indent(inert(message["content"]), 2))

    def _act(self, view: "SeatView", text: str) -> "SpokenMessage | None":
        """Do what was typed; return the message, if it was one."""
        if not text.startswith("/") or text.startswith("//"):
            return view.say(text.removeprefix("/")) if text.strip() else None
        name, _, rest = text[1:].strip().partition(" ")
        match name.lower():
            case "quit":
                raise KeyboardInterrupt
            case "stop":
                return view.finish(rest)
            case "transfer" if view.side == "user":
                return view.finish(rest, transferred=True)
            case "call":
                return self._call(view, *rest.split(maxsplit=1))
            case "text":
                self._console.print(inert(view.text))
            case "tools":
                for each in [_tool_named(rest, view.tools)] if rest else view.tools:
                    self._describe(each["function"], whole=bool(rest))
            case "help":
                for command, meaning in _HELP:
                    self._console.print(f"[cyan]{inert(command)}[/cyan]  {inert(meaning)}")
            case unknown:
                raise ConfigurationError(f"There is no /{unknown}; /help lists what there is.")
        return None

    def _describe(self, function: Mapping[str, Any], *, whole: bool) -> None:
        words = (function.get("description") or "").strip()
        shown = words if whole else words.partition("\n")[0]
        self._console.print(f"[bold]{inert(function['name'])}[/bold]  {inert(shown)}")
        for name, schema in _parameters(function).items() if whole else ():
            self._console.print(indent(f"[cyan]{inert(name)}[/] {inert(json.dumps(schema))}", 2))

    def _call(self, view: "SeatView", name: str = "", given: str = "") -> "SpokenMessage":
        function = _tool_named(name, view.tools)["function"]
        if given:
            arguments = json_object(given)
        else:
            typed = {each: self._read(f"  {each}: ") for each in _parameters(function)}
            arguments = {
                each: text if schema.get("type") == "string" else json_or_text(text)
                for each, schema in _parameters(function).items()
                if (text := typed[each].strip())
            }
        return view.call_tool(function["name"], arguments)

    def _text(self) -> str:
        lines = [self._read("> ")]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            lines.append(self._read(". "))
        return "\n".join(lines)

    def _read(self, prompt: str) -> str:
        if self._is_terminal:
            try:
                return input(prompt)
            except EOFError:
                raise KeyboardInterrupt from None
        line = sys.stdin.readline()
        if not line:
            raise KeyboardInterrupt
        line = line.rstrip("\r\n")
        self._console.print(f"{prompt}{line}", markup=False, soft_wrap=True)
        return line


def _parameters(function: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (function.get("parameters") or {}).get("properties") or {}
    return found


def _tool_named(name: str, tools: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the tool with that name, or beginning of a name."""
    names = [tool["function"]["name"] for tool in tools]
    found = [name] if name in names else [each for each in names if name and each.startswith(name)]
    if len(found) != 1:
        words = f"may be {', '.join(found)}" if found else "is not a tool; /tools lists them"
        raise ConfigurationError(f"{name!r} {words}")
    return tools[names.index(found[0])]


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
    result = commands.tau2.branch(
        **given,
        run=run,
        task=task,
        trial=trial,
        of_domain=domain,
        data_version=data_version or "",
        display=display(stderr()),
        command=command_line(context),
    )
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
