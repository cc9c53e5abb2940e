"""``maseval tau2 show``."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from maseval import commands
from maseval.benchmark.tau2.app.running.options import DATA_VERSION
from maseval.cli import completion
from maseval.cli.completion import quietly
from maseval.cli.console import indent, inert, stdout
from maseval.cli.options import TasksVersion, examples
from maseval.core.shapes import visible

if TYPE_CHECKING:
    from maseval.benchmark.tau2.domains.banking_knowledge.documents import Hit

EXAMPLES = examples(
    ("maseval tau2 show retail/12", "a task: the user instructions, what is scored"),
    ("maseval tau2 show tools --domain telecom", "what the agent and the user can do"),
    ("maseval tau2 show policy --domain airline", "what the agent must obey"),
    (
        'maseval tau2 show banking_knowledge documents "out-of-network ATM"',
        "search the knowledge base of banking_knowledge",
    ),
)


def show(
    what: Annotated[
        str,
        typer.Argument(
            help="A task, 'tools', 'policy', or 'documents'.",
            metavar="WHAT",
            autocompletion=quietly(completion.tasks_of_domain),
        ),
    ],
    query: Annotated[
        list[str] | None,
        typer.Argument(help="What the documents should be about; without it, all their titles."),
    ] = None,
    domain: Annotated[
        str | None,
        typer.Option(
            "--domain",
            "-d",
            help="The domain, or your own: FILE.py:NAME.",
            autocompletion=quietly(completion.domains),
        ),
    ] = None,
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
        console.print(
            f"[bold]{tool.name}[/bold]({names})  [dim]{tool.side}, {tool.kind}[/dim]",
            highlight=False,
        )
        console.print(f"  {inert(tool.description)}\n", highlight=False)
    if view.task is not None:
        console.print(f"[bold]{inert(view.domain)} task {inert(str(view.task.get('id')))}[/bold]")
        if view.reason:
            console.print(indent(f"[bold]{inert(view.reason)}[/bold]", 2), highlight=False)
        _print_parts(console, view.task)


def _print_document(console: Console, number: int, hit: "Hit", *, whole: bool) -> None:
    """A document of a knowledge base: its text if it was searched for, else its title."""
    document = hit.document
    console.print(
        f"[bold]{number}. {inert(document.title)}[/bold]  [dim]{inert(document.id)}[/dim]",
        highlight=False,
    )
    if whole:
        console.print(indent(f"{inert(document.content)}\n", 3), highlight=False)


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
                console.print(indent(f"- {inert(_text(entry))}", margin + 2), highlight=False)
        else:
            console.print(indent(f"{title}: {inert(_text(part))}", margin), highlight=False)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
