"""``maseval tag``."""

from typing import Annotated

import typer

from maseval import commands
from maseval.cli import completion
from maseval.cli.completion import quietly
from maseval.cli.console import here, inert, print_json, stdout
from maseval.cli.options import AsJson, examples

EXAMPLES = examples(
    ("maseval tag last --add baseline", "a word to find the latest run by"),
    ("maseval tag runs/a runs/b --add paper --remove draft", "several runs, several tags"),
    ("maseval tag theirs.json --add published", "a results file of tau2-bench"),
    ("maseval tag last", "the tags it has"),
    ("maseval runs --tag baseline", "the runs with a tag"),
)


def tag(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Runs: folder, name or last; or results files of tau2-bench.",
            metavar="RUN",
            autocompletion=quietly(completion.runs_or_files),
        ),
    ],
    add: Annotated[list[str] | None, typer.Option(help="Add this tag (repeatable).")] = None,
    remove: Annotated[list[str] | None, typer.Option(help="Remove this tag (repeatable).")] = None,
    as_json: AsJson = False,
) -> None:
    """Show or change the tags of runs; they are kept beside the results and never change them."""
    found = commands.tag(runs, add or (), remove or ())
    if as_json:
        print_json({str(path): list(each.tags) for path, each in found.items()})
        return
    for path, each in found.items():
        tags = ", ".join(each.tags) or "no tags"
        line = f"{inert(here(path))}: {inert(tags)}"
        stdout().print(line, highlight=False, soft_wrap=True)
