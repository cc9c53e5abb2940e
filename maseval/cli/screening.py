"""``maseval screening``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.console import inert, print_json, stdout
from maseval.cli.groups import examples
from maseval.cli.options import AsJson, runs_argument
from maseval.core.words import count_of

EXAMPLES = examples(
    ("maseval screening a b c --output screening.json", "learn it from the runs of three systems"),
    ("maseval screening old.json a b", "also from results files"),
    (
        "maseval tau2 run -d retail --agent-model openai/gpt-4.1 --screen 20 --screening "
        "screening.json",
        "run the 20 most telling tasks of another system",
    ),
)
_SHOWN = 10


def screening(
    runs: Annotated[
        list[str],
        runs_argument("Runs or results files of three systems or more, on the same tasks."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The JSON file to write.")] = Path(
        "screening.json"
    ),
    as_json: AsJson = False,
) -> None:
    """Learn which tasks tell systems apart best, for run --screen: a ranking, never a score.

    Leave out the runs of systems that will be screened, and of their baseline.
    """
    found = commands.screening(runs)
    commands.save_screening(found, output)
    if as_json:
        print_json(found.to_dict())
        return
    names = [f"{each.domain}/{each.task}" for each in found.tasks[:_SHOWN]]
    console = stdout()
    console.print(
        f"{count_of(len(found.tasks), 'task')} ranked by {count_of(len(runs), 'run')} in "
        f"{inert(str(output))}; the most telling: {inert(', '.join(names))}",
        soft_wrap=True,
    )


COMMANDS = {screening: EXAMPLES}
