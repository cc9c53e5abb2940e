"""``maseval tau2 mcp``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.console import stderr
from maseval.cli.errors import INCOMPLETE
from maseval.cli.examples import examples
from maseval.cli.outcome import print_outcome
from maseval.cli.text import inert
from maseval.cli.values import arguments
from maseval.commands.results import RunResult

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

WHAT, WHO, HOW, WHERE = "What is played", "Who plays", "How", "Where to"


def mcp(
    domain: Annotated[
        str, typer.Option("--domain", "-d", help="The task's domain.", rich_help_panel=WHAT)
    ],
    task_id: Annotated[list[str], typer.Option(help="The task.", rich_help_panel=WHAT)],
    split: Annotated[
        str,
        typer.Option(help="Of which tasks: base; telecom: small, full.", rich_help_panel=WHAT),
    ] = "base",
    user: Annotated[str | None, typer.Option(help="llm or scripted.", rich_help_panel=WHO)] = None,
    user_model: Annotated[
        str | None, typer.Option(help="The model that plays the user.", rich_help_panel=WHO)
    ] = None,
    judge_model: Annotated[
        str | None,
        typer.Option(help="The model that judges assertions.", rich_help_panel=WHO),
    ] = None,
    user_args: Annotated[
        list[str] | None,
        typer.Option(help="JSON or key=value: temperature=0.", rich_help_panel=WHO),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="An OpenAI-compatible server for both models.", rich_help_panel=WHO),
    ] = None,
    agent_name: Annotated[
        str, typer.Option(help="What to call the agent in reports.", rich_help_panel=WHO)
    ] = "mcp_agent",
    transport: Annotated[str, typer.Option(help="stdio or http.", rich_help_panel=HOW)] = "stdio",
    port: Annotated[
        int, typer.Option(help="For http; 0 takes any that is free.", rich_help_panel=HOW)
    ] = 0,
    max_steps: Annotated[
        int, typer.Option(help="How long the conversation may be.", rich_help_panel=HOW)
    ] = 200,
    seed: Annotated[int, typer.Option(help="For models that take one.", rich_help_panel=HOW)] = 300,
    timeout: Annotated[
        float,
        typer.Option(
            help="Seconds from the customer's first words; 0 for no limit.", rich_help_panel=HOW
        ),
    ] = 3600.0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The run folder.", rich_help_panel=WHERE)
    ] = None,
) -> None:
    """Let an agent that speaks MCP solve one task: Claude Code, an editor, a script.

    It gets the task's tools, and two more to talk to the customer; all is kept in a run folder.

    The score is told on standard error, and never to the agent.
    """
    if len(task_id) > 1:
        raise typer.BadParameter(f"--task-id is one task, not {len(task_id)}; start a server each")
    result = commands.tau2.mcp(
        domain=domain,
        task_id=task_id[0],
        split=split,
        user=user,
        user_model=user_model,
        judge_model=judge_model,
        user_args=arguments(user_args),
        base_url=base_url,
        agent_name=agent_name,
        transport=transport,
        port=port,
        max_steps=max_steps,
        seed=seed,
        timeout=timeout or None,
        output=output,
        on_address=_tell_address,
        on_result=_tell_result,
    )
    if result is None:
        stderr().print("No agent began the conversation; nothing is recorded.")
    elif not result.complete:
        raise typer.Exit(INCOMPLETE)


def _tell_address(url: str) -> None:
    stderr().print(f"MCP server at {url}", highlight=False, soft_wrap=True)


def _tell_result(result: RunResult, how: str) -> None:
    console = stderr()
    console.print(inert(how), highlight=False, soft_wrap=True)
    print_outcome(result, console)
