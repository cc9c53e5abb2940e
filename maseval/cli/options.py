"""Arguments and options that several commands share, each declared once."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, cast

import typer

from maseval.benchmark.tau2.data import VERSIONS, VERSIONS_IN_WORDS
from maseval.cli import completion
from maseval.cli.console import stderr


def load_domain(given: str | None) -> str | None:
    """Return the name of a domain that was typed; one in a file is loaded first."""
    if given is None or ":" not in given:
        return given
    from maseval.benchmark.tau2.app.running.tasks import (
        domain_name,  # help must not load the benchmark
    )

    return domain_name(given)


def runs_argument(words: str, metavar: str = "RUN") -> Any:
    """Declare an argument that names runs or results files."""
    return typer.Argument(help=words, metavar=metavar, autocompletion=completion.runs_or_files)


def domain_option(words: str, **more: Any) -> Any:
    """Declare an option for a domain, or for several."""
    return typer.Option("--domain", "-d", help=words, autocompletion=completion.domains, **more)


RunName = Annotated[
    str,
    typer.Argument(help="A run: its folder, its name, or last.", autocompletion=completion.runs),
]
RunOrResultsFile = Annotated[
    str, runs_argument("A run: its folder, its name, or last; or a results file of tau2-bench.")
]
TASK_OF_RUN = typer.Argument(
    help="A task: 12, retail/12, its number, or a part of its id.",
    show_default=False,
    autocompletion=completion.tasks_of_run,
)
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Explain = Annotated[
    bool, typer.Option("--explain/--no-explain", help="Label and explain failures.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")]
Split = Annotated[
    str, typer.Option(help="Task split: base; telecom: small, full; 1.0.1: train, test.")
]
TasksVersion = Annotated[
    str,
    typer.Option(
        "--data-version",
        help=f"Release of tau2-bench whose tasks and rules are used: {VERSIONS_IN_WORDS}.",
    ),
]
RunOrFile = Annotated[str, runs_argument("A results file or a run.", metavar="FILE")]
OnlyDomains = Annotated[
    list[str] | None, domain_option("Only this domain, or your own: FILE.py:NAME (repeatable).")
]
RUNS_OR_FILES = runs_argument("Runs, results files, or folders of them.", metavar="RUN_OR_FILE")
DomainOfFile = Annotated[
    str | None,
    domain_option(
        "The domain, whatever the file calls its own; or yours: FILE.py:NAME.", callback=load_domain
    ),
]
DataVersion = Annotated[
    str | None,
    typer.Option(
        "--data-version",
        help=f"Release by whose tasks and rules files are judged: {', '.join(VERSIONS)}, or "
        "1.0.1+tasks.0.2.0 for the tasks of one under the rules of the other.",
        show_default="runs: their own; files: by their form, else 0.2.0",
    ),
]
AsRecorded = Annotated[
    bool, typer.Option("--as-recorded", help="Count the recorded rewards; marked in the output.")
]
EmbeddedTasks = Annotated[
    bool,
    typer.Option("--embedded-tasks", help="Judge by the tasks in the file; marked in the output."),
]
RemapTasks = Annotated[
    bool,
    typer.Option(
        "--remap-tasks", help="Judge each simulation by the task its recorded checks belong to."
    ),
]
_SCORING = {
    "domain": (DomainOfFile, None),
    "as_recorded": (AsRecorded, False),
    "embedded_tasks": (EmbeddedTasks, False),
    "remap_tasks": (RemapTasks, False),
    "data_version": (DataVersion, None),
}
T = TypeVar("T")
_Command = TypeVar("_Command", bound=Callable[..., None])


def renamed_option(former: T | None, old: str, value: T | None, new: str) -> T | None:
    """Return the value of an option, or what was given under its old name, with a note."""
    if former is None:
        return value
    stderr().print(
        f"[yellow]Note:[/yellow] {old} of this command is called {new} now; {old} goes in 0.9."
    )
    return former if value is None else value


def with_scoring_options(**declared: object) -> Callable[[_Command], _Command]:
    """Declare an option of the command for each of its ``**scoring`` keywords.

    ``declared`` replaces the declaration of an option.
    """

    def declare(command: _Command) -> _Command:
        signature = inspect.signature(command)
        kept = [each for each in signature.parameters.values() if each.kind != each.VAR_KEYWORD]
        added = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=declared.get(name, option),
            )
            for name, (option, default) in _SCORING.items()
        ]
        # Typer reads the options of a command from its signature.
        cast(Any, command).__signature__ = signature.replace(parameters=[*kept, *added])
        return command

    return declare


JudgeModels = Annotated[
    list[str] | None,
    typer.Option(
        "--judge-model",
        help="Model that judges natural-language assertions; given twice, agreement is reported. "
        "Replies are kept with the run or beside the file.",
    ),
]
JudgeAddress = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        help="URL of an OpenAI-compatible server, for the judge.",
        envvar="MASEVAL_BASE_URL",
    ),
]


Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option("--port", "-p", help="Port to listen on; 0 picks a free one.")]
KeyVariable = Annotated[
    str,
    typer.Option(help="Environment variable with the provider's key, for clients that send none."),
]
