"""``maseval tau2 explain``."""

from typing import Annotated

from maseval import commands
from maseval.cli.console import inert, print_json, stdout
from maseval.cli.conversation import print_sections
from maseval.cli.groups import examples
from maseval.cli.options import (
    TASK_OF_RUN,
    AsJson,
    DataVersion,
    DomainOfFile,
    EmbeddedTasks,
    RemapTasks,
    RunOrResultsFile,
    argument,
)

EXAMPLES = examples(
    ("maseval tau2 explain last retail/12", "the first trial that failed"),
    ("maseval tau2 explain theirs.json 12 3", "trial 3 in a results file of tau2-bench"),
    ("maseval tau2 explain last 12 --json", "for scripts"),
)


def explain(
    run: RunOrResultsFile,
    task: Annotated[str, TASK_OF_RUN],
    trial: int | None = argument(None, "Which trial.", show_default="first that failed"),
    domain: DomainOfFile = None,
    embedded_tasks: EmbeddedTasks = False,
    remap_tasks: RemapTasks = False,
    data_version: DataVersion = None,
    as_json: AsJson = False,
) -> None:
    """Explain a verdict: what decided it, who failed, and what would have changed it."""
    found = commands.tau2.explain(
        run,
        task,
        trial,
        domain=domain,
        embedded_tasks=embedded_tasks,
        remap_tasks=remap_tasks,
        data_version=data_version,
    )
    if as_json:
        print_json(found.to_dict())
        return
    console = stdout()
    console.print(f"[bold]{inert(str(found.simulation))}[/bold]")
    print_sections(found.sections(), console)
