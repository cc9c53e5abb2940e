"""``maseval tau2 mcp``."""

from typing import Any

import typer

from maseval import commands
from maseval.app.results.results import RunResult
from maseval.benchmark.tau2.app.running.options import McpOptions
from maseval.cli.command_line import INCOMPLETE, command_line
from maseval.cli.console import inert, stderr
from maseval.cli.groups import examples
from maseval.cli.options import command_with
from maseval.cli.results import print_outcome

EXAMPLES = examples(
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
