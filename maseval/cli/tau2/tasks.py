"""``maseval tau2 tasks``, ``show`` and ``data``: look at the benchmark itself."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from maseval import commands
from maseval.benchmark.tau2.app.running.options import DATA_VERSION
from maseval.benchmark.tau2.data import VERSIONS_IN_WORDS, title_of
from maseval.cli import completion
from maseval.cli.command_line import FAILED
from maseval.cli.console import indent, inert, print_check, shorten_line, stdout
from maseval.cli.groups import CommandGroup, PlainCommand, examples
from maseval.cli.options import (
    OnlyDomains,
    Split,
    TasksVersion,
    argument,
    domain_option,
    flag,
    option,
)
from maseval.core.words import count_of, visible

if TYPE_CHECKING:  # help must not load what makes it
    from maseval.benchmark.tau2.domains.banking_knowledge.documents import Hit


def tasks(
    domain: OnlyDomains = None,
    split: Split = "base",
    data_version: TasksVersion = DATA_VERSION,
    ids: bool = flag("Print only domain/id, one per line.", "--ids"),
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
    stdout().print(f"{count_of(len(found), 'task')} of tau2-bench {data_version}")


def show(
    what: str = argument(
        ...,
        "A task, 'tools', 'policy', or 'documents'.",
        metavar="WHAT",
        autocompletion=completion.tasks_of_domain,
    ),
    query: list[str] | None = argument(
        None, "What the documents should be about; without it, all their titles."
    ),
    domain: Annotated[str | None, domain_option("The domain, or your own: FILE.py:NAME.")] = None,
    data_version: TasksVersion = DATA_VERSION,
) -> None:
    """Show a task, or a domain's tools, policy or documents."""
    words = list(query or ())
    if words and words[0] == "documents" and what != "documents":
        what, domain, words = "documents", what, words[1:]
    if words and what != "documents":
        raise typer.BadParameter(f"{words[0]!r} is one argument too many after {what!r}")
    sought = " ".join(words) or None
    view = commands.tau2.show(what, domain, query=sought, data_version=data_version)
    console = stdout()
    if view.policy is not None:
        typer.echo(visible(view.policy))
    for number, hit in enumerate(view.documents or (), 1):
        _print_document(console, number, hit, whole=sought is not None)
    for tool in view.tools or ():
        names = ", ".join(tool.parameters)
        console.print(f"[bold]{tool.name}[/bold]({names})  [dim]{tool.side}, {tool.kind}[/dim]")
        console.print(f"  {inert(tool.description)}\n")
    if view.task is not None:
        console.print(f"[bold]{inert(view.domain)} task {inert(str(view.task.get('id')))}[/bold]")
        if view.reason:
            console.print(indent(f"[bold]{inert(view.reason)}[/bold]", 2))
        _print_parts(console, view.task)


def _print_document(console: Console, number: int, hit: "Hit", *, whole: bool) -> None:
    """A document of a knowledge base: its text if it was searched for, else its title."""
    document = hit.document
    console.print(
        f"[bold]{number}. {inert(document.title)}[/bold]  [dim]{inert(document.id)}[/dim]"
    )
    if whole:
        console.print(indent(f"{inert(document.content)}\n", 3))


def _print_parts(console: Console, value: Mapping[str, object], margin: int = 2) -> None:
    """Every part that says something, as an outline."""
    for key, part in value.items():
        if part in (None, "", [], {}) or key == "id":
            continue
        title = f"[cyan]{inert(key)}[/cyan]"
        if isinstance(part, Mapping):
            console.print(indent(title, margin))
            _print_parts(console, part, margin + 2)
        elif isinstance(part, list):
            console.print(indent(title, margin))
            for entry in part:
                console.print(indent(f"- {inert(_text(entry))}", margin + 2))
        else:
            console.print(indent(f"{title}: {inert(_text(part))}", margin))


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


COMMANDS = {
    tasks: examples(
        ("maseval tau2 tasks", "the base tasks of airline, retail and telecom"),
        ("maseval tau2 tasks --domain telecom --split small", "another set"),
        ("maseval tau2 tasks --domain airline --ids", "only ids, for scripts"),
    ),
    show: examples(
        ("maseval tau2 show retail/12", "a task: the user instructions, what is scored"),
        ("maseval tau2 show tools --domain telecom", "what the agent and the user can do"),
        ("maseval tau2 show policy --domain airline", "what the agent must obey"),
        (
            'maseval tau2 show banking_knowledge documents "out-of-network ATM"',
            "search the knowledge base of banking_knowledge",
        ),
    ),
}

data = typer.Typer(
    cls=CommandGroup,
    help="The benchmark's data: fetch it, verify it, find it.",
    epilog=examples(
        ("maseval tau2 data fetch", "fetch all files, once"),
        ("maseval tau2 data texts", "fetch the prompts of the original, once"),
        ("maseval tau2 data verify", "compare every file with its checksum"),
        ("ls $(maseval tau2 data path)", "look at them"),
    ),
    no_args_is_help=True,
)


_Release = Annotated[
    str, typer.Option("--data-version", help=f"Release of tau2-bench: {VERSIONS_IN_WORDS}.")
]


@data.command(cls=PlainCommand)
def fetch(
    domain: str | None = option(None, "Only this domain.", "--domain", "-d"),
    force: bool = flag("Fetch again what is already there.", "--force"),
    version: _Release = "0.2.0",
) -> None:
    """Fetch what is missing, from the first source that has the right files."""
    typer.echo(commands.tau2.data.fetch(domain, force=force, version=version))


@data.command(cls=PlainCommand)
def texts(version: _Release = "0.2.0") -> None:
    """Fetch the prompts and descriptions of the original, and print their hash."""
    found = commands.tau2.data.texts(version)
    typer.echo(f"{title_of(found.version)} {found.sha256}")


@data.command(cls=PlainCommand)
def path() -> None:
    """Print the folder in which fetched files are kept."""
    typer.echo(commands.tau2.data.path())


@data.command(cls=PlainCommand)
def verify() -> None:
    """Read every file again and compare it with its checksum."""
    if not print_check(commands.tau2.data.verify(), stdout(), "maseval tau2 data fetch"):
        raise typer.Exit(FAILED)
