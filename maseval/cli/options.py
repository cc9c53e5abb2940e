"""Arguments and options that several commands share, each declared once."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, cast

import typer

from maseval.app.running.options import flag_of, list_options
from maseval.benchmark.tau2.data import VERSIONS
from maseval.core.scoring_options import ScoringKeywords


def load_domain(given: str | None) -> str | None:
    """Return the name of a domain that was typed; one in a file is loaded first."""
    if given is None or ":" not in given:
        return given
    from maseval.benchmark.tau2.app.running.tasks import (
        domain_name,  # help must not load the benchmark
    )

    return domain_name(given)


def option(default: object, help: str, *names: str, **more: Any) -> Any:
    """Declare an option of a command; ``...`` as its default asks for one."""
    return typer.Option(default, *names, help=help, **more)


def flag(help: str, *names: str, **more: Any) -> Any:
    """Declare an option that is either given or not."""
    return typer.Option(False, *names, help=help, **more)


def argument(default: object, help: str, **more: Any) -> Any:
    """Declare an argument of a command; ``...`` as its default asks for one."""
    return typer.Argument(default, help=help, **more)


def option_like(options: type, name: str) -> Any:
    [found] = [each for each in list_options(options) if each.name == name]
    flag = flag_of(found)
    assert flag is not None  # it is for the command line too
    return option(found.default, f"{flag.help}.", f"--{name.replace('_', '-')}")


def runs_argument(words: str, metavar: str = "RUN", default: object = ...) -> Any:
    """Declare an argument that names runs or results files."""
    return argument(default, words, metavar=metavar)


def domain_option(words: str, **more: Any) -> Any:
    return option(None, words, "--domain", "-d", **more)


RunOrResultsFile = Annotated[
    str, runs_argument("A run: its folder, its name, or last; or a results file of tau2-bench.")
]
TASK_OF_RUN = typer.Argument(
    help="A task: 12, retail/12, its number, or a part of its id.",
    show_default=False,
)
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
ByMeasure = Annotated[
    str | None,
    typer.Option(
        "--measure", help="A measure of the benchmark in place of its verdict, by its name."
    ),
]
Explain = Annotated[
    bool, typer.Option("--explain/--no-explain", help="Label and explain failures.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")]
RunOrFile = Annotated[str, runs_argument("A results file or a run.", metavar="FILE")]
ONLY_DOMAINS = domain_option("Only this domain, or your own: FILE.py:NAME (repeatable).")
# People type a domain with and without --domain; commands that are about domains take both.
NAMED_DOMAINS = argument(
    None,
    "Domains, or your own: FILE.py:NAME.",
    metavar="DOMAIN",
)
RUNS_OR_FILES = runs_argument("Runs or results files.", metavar="RUN_OR_FILE")


# How the command line shows each of the ``ScoringKeywords``.
SCORING = {
    "domain": domain_option(
        "The domain, whatever name the file gives; or yours: FILE.py:NAME.", callback=load_domain
    ),
    "as_recorded": flag("Count the recorded rewards; marked in the output.", "--as-recorded"),
    "embedded_tasks": flag(
        "Judge by the tasks in the file; marked in the output.", "--embedded-tasks"
    ),
    "data_version": option(
        None,
        f"Release by whose tasks and rules files are judged: {', '.join(VERSIONS)}, or "
        "1.0.1+tasks.0.2.0 for the tasks of one under the rules of the other.",
        "--data-version",
        show_default="runs: their own; files: by their form, else 0.2.0",
    ),
    "task_id": option(
        None,
        "The task of an ATIF trajectory that does not name it, or a .json file that names each.",
        "--task",
    ),
}

T = TypeVar("T")
_Command = TypeVar("_Command", bound=Callable[..., None])


def with_scoring_options(**declared: Any) -> Callable[[_Command], _Command]:
    """Declare an option of the command for each of its ``**scoring`` keywords.

    ``declared`` replaces the declaration of an option.
    """

    def declare(command: _Command) -> _Command:
        signature = inspect.signature(command)
        # The options replace **scoring, which takes them when the command is called.
        kept = [each for each in signature.parameters.values() if each.kind != each.VAR_KEYWORD]
        added = [
            keyword_of(name, kind, (SCORING | declared)[name])
            for name, kind in ScoringKeywords.__annotations__.items()
        ]
        # Typer reads the options of a command from its signature.
        cast(Any, command).__signature__ = signature.replace(parameters=[*kept, *added])
        return command

    return declare


JudgeModel = Annotated[
    str | None,
    typer.Option(
        "--judge-model",
        "--judge",
        help="Model that judges natural-language assertions; its answers are kept with the run or "
        "next to the file. rule: no model, for retail of 1.0.1.",
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


def keyword_of(
    name: str, kind: object, default: object = inspect.Parameter.empty
) -> inspect.Parameter:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=default, annotation=kind)
