"""``maseval tau2 tasks``."""

from typing import Annotated

import typer
from rich.table import Table

from maseval import commands
from maseval.benchmark.tau2.app.running.options import DATA_VERSION
from maseval.cli import completion
from maseval.cli.completion import quietly
from maseval.cli.console import inert, shorten_line, stdout
from maseval.cli.options import Split, TasksVersion, examples

EXAMPLES = examples(
    ("maseval tau2 tasks", "the base tasks of airline, retail and telecom"),
    ("maseval tau2 tasks --domain telecom --split small", "another set"),
    ("maseval tau2 tasks --domain airline --ids", "only ids, for scripts"),
)


def tasks(
    domain: Annotated[
        list[str] | None,
        typer.Option(
            "--domain",
            "-d",
            help="Only this domain, or your own: FILE.py:NAME (repeatable).",
            autocompletion=quietly(completion.domains),
        ),
    ] = None,
    split: Split = "base",
    data_version: TasksVersion = DATA_VERSION,
    ids: Annotated[bool, typer.Option("--ids", help="Print only domain/id, one per line.")] = False,
) -> None:
    """List tasks: what they are about, and how they are judged."""
    chosen = {"domain": domain} if domain else {}
    found = commands.tau2.tasks(**chosen, split=split, data_version=data_version)
    if ids:
        for task in found:
            typer.echo(f"{task.domain}/{task.task_id}")
        return
    table = Table()
    table.add_column("#", justify="right", no_wrap=True)
    for name in ("domain", "task", "the customer's reason"):
        table.add_column(name, overflow="fold")
    table.add_column("actions", justify="right")
    table.add_column("judged by")
    for task in found:
        table.add_row(
            str(task.number),
            inert(task.domain),
            inert(task.task_id),
            inert(shorten_line(task.reason or task.purpose, 100)),
            str(task.actions),
            " ".join(task.reward_basis),
        )
    stdout().print(table)
    stdout().print(f"{len(found)} tasks of tau2-bench {data_version}", highlight=False)
