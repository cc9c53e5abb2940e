"""``maseval tau2 run``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.console import stderr, stdout
from maseval.cli.display import display
from maseval.cli.examples import examples
from maseval.cli.outcome import tell
from maseval.cli.values import arguments

EXAMPLES = examples(
    (
        "maseval tau2 run --domain retail --agent gold",
        "the reference solution of every task, no key needed",
    ),
    (
        "maseval tau2 run --domain airline --domain telecom --trials 4 --budget 20usd "
        "--agent-model openai/gpt-4.1 --user-model openai/gpt-4.1",
        "a model, four times a task, for at most 20 dollars",
    ),
    (
        "maseval tau2 run --domain retail --num-tasks 5 --base-url http://localhost:8000/v1 "
        "--agent-model my-model --user-model my-model --agent-args temperature=0.7",
        "a model on a server of your own",
    ),
    (
        "maseval tau2 run --domain retail --agent my_agent.py:agent --rehearse gold",
        "your own agent, whose model is played by a script: does everything arrive?",
    ),
    (
        "maseval tau2 run --domain retail --agent gold --output runs/mine --json",
        "for scripts; the same command again goes on where it stopped",
    ),
)

SETTINGS = {"allow_extra_args": True}

WHAT, WHO, HOW, WHERE = "What is run", "Who plays", "How", "Where to"


def run(
    context: typer.Context,
    domain: Annotated[
        list[str],
        typer.Option(
            "--domain", "-d", help="airline, retail, telecom, ...; repeat it.", rich_help_panel=WHAT
        ),
    ],
    split: Annotated[
        str,
        typer.Option(help="Which tasks: base; telecom: small, full.", rich_help_panel=WHAT),
    ] = "base",
    task_id: Annotated[
        list[str] | None,
        typer.Option(help="Only this task; repeat it.", rich_help_panel=WHAT),
    ] = None,
    num_tasks: Annotated[
        int | None,
        typer.Option("--num-tasks", "-n", help="Only so many of each.", rich_help_panel=WHAT),
    ] = None,
    trials: Annotated[
        int, typer.Option("--trials", "-k", help="How often each task.", rich_help_panel=WHAT)
    ] = 1,
    agent: Annotated[
        str,
        typer.Option(
            help="llm; gold, noop or noisy; or your own: FILE.py:FUNCTION.", rich_help_panel=WHO
        ),
    ] = "llm",
    user: Annotated[
        str | None,
        typer.Option(
            help="llm or scripted; scripted is the default for players.", rich_help_panel=WHO
        ),
    ] = None,
    agent_model: Annotated[
        str | None,
        typer.Option(
            help="Such as openai/gpt-4.1.", envvar="MASEVAL_AGENT_MODEL", rich_help_panel=WHO
        ),
    ] = None,
    user_model: Annotated[
        str | None,
        typer.Option(
            help="The model that plays the user.",
            envvar="MASEVAL_USER_MODEL",
            rich_help_panel=WHO,
        ),
    ] = None,
    judge_model: Annotated[
        str | None,
        typer.Option(help="The model that judges assertions.", rich_help_panel=WHO),
    ] = None,
    agent_args: Annotated[
        list[str] | None,
        typer.Option(
            help="JSON or key=value: temperature=0, error_rate=0.2.",
            envvar="MASEVAL_AGENT_ARGS",
            rich_help_panel=WHO,
        ),
    ] = None,
    user_args: Annotated[
        list[str] | None,
        typer.Option(
            help="The same for the user.", envvar="MASEVAL_USER_ARGS", rich_help_panel=WHO
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            help="An OpenAI-compatible server for all models.",
            envvar="MASEVAL_BASE_URL",
            rich_help_panel=WHO,
        ),
    ] = None,
    rehearse: Annotated[
        str | None,
        typer.Option(
            help="gold, noop or noisy plays the model of your own agent.", rich_help_panel=WHO
        ),
    ] = None,
    mode: Annotated[
        str, typer.Option(help="normal, solo or oracle-plan.", rich_help_panel=WHO)
    ] = "normal",
    concurrency: Annotated[
        int, typer.Option("--concurrency", "-j", help="How many at once.", rich_help_panel=HOW)
    ] = 4,
    max_steps: Annotated[
        int, typer.Option(help="How long a conversation may be.", rich_help_panel=HOW)
    ] = 200,
    seed: Annotated[int, typer.Option(help="Makes runs repeatable.", rich_help_panel=HOW)] = 300,
    timeout: Annotated[
        float,
        typer.Option(help="Seconds for one simulation; 0 for no limit.", rich_help_panel=HOW),
    ] = 600.0,
    budget: Annotated[
        str | None,
        typer.Option(help="Start nothing more after 5usd or '2M tokens'.", rich_help_panel=HOW),
    ] = None,
    retry_failed: Annotated[
        bool,
        typer.Option(
            help="Run again what failed through no fault of the agent.", rich_help_panel=HOW
        ),
    ] = True,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The run folder; goes on if it is there.", rich_help_panel=WHERE
        ),
    ] = None,
    fork: Annotated[
        bool,
        typer.Option(
            "--fork",
            help="Begin a folder beside one that was configured otherwise.",
            rich_help_panel=WHERE,
        ),
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="One JSON object at the end.", rich_help_panel=WHERE),
    ] = False,
    num_trials: Annotated[int | None, typer.Option(hidden=True)] = None,
    max_concurrency: Annotated[int | None, typer.Option(hidden=True)] = None,
    agent_llm: Annotated[str | None, typer.Option(hidden=True)] = None,
    user_llm: Annotated[str | None, typer.Option(hidden=True)] = None,
    agent_llm_args: Annotated[list[str] | None, typer.Option(hidden=True)] = None,
    user_llm_args: Annotated[list[str] | None, typer.Option(hidden=True)] = None,
    task_ids: Annotated[list[str] | None, typer.Option(hidden=True)] = None,
    save_to: Annotated[Path | None, typer.Option(hidden=True)] = None,
) -> None:
    """Run tasks, and keep every finished simulation in a run folder.

    The options of tau2-bench (--num-trials, --agent-llm, ...) are understood as well.
    """
    # tau2-bench takes all ids after one --task-ids; nothing else may stand without an option.
    if context.args and not task_ids:
        raise typer.BadParameter(f"unexpected argument {context.args[0]!r}")
    result = commands.tau2.run(
        domain=domain,
        split=split,
        task_id=[*(task_id or ()), *(task_ids or ()), *context.args],
        num_tasks=num_tasks,
        trials=num_trials or trials,
        agent=agent,
        user=user,
        agent_model=agent_model or agent_llm,
        user_model=user_model or user_llm,
        judge_model=judge_model,
        agent_args=arguments([*(agent_args or ()), *(agent_llm_args or ())]),
        user_args=arguments([*(user_args or ()), *(user_llm_args or ())]),
        base_url=base_url,
        rehearse=rehearse,
        concurrency=max_concurrency or concurrency,
        max_steps=max_steps,
        seed=seed,
        timeout=timeout or None,
        budget=budget,
        mode=mode,
        output=output or save_to,
        fork=fork,
        retry_failed=retry_failed,
        display=display(stderr()),
    )
    tell(result, stderr() if as_json else stdout(), as_json=as_json)
