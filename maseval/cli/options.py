"""Arguments and options that several commands share, each declared once."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast, get_origin

import typer

from maseval.app.running.options import ExtraArguments, Flag, OptionSpec, list_options
from maseval.benchmark.tau2.data import VERSIONS
from maseval.cli.console import note, stderr
from maseval.core.storage import strict_json

if TYPE_CHECKING:  # help must not load what runs need
    from maseval.app.running.folder_run import FolderRun


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
    """Declare an option as an options object does."""
    [found] = [each for each in list_options(options) if each.name == name]
    assert found.flag is not None  # it is for the command line too
    return option(found.default, f"{found.flag.help}.", f"--{name.replace('_', '-')}")


def runs_argument(words: str, metavar: str = "RUN", default: object = ...) -> Any:
    """Declare an argument that names runs or results files."""
    return argument(default, words, metavar=metavar)


def domain_option(words: str, **more: Any) -> Any:
    """Declare an option for a domain, or for several."""
    return option(None, words, "--domain", "-d", **more)


RunOrResultsFile = Annotated[
    str, runs_argument("A run: its folder, its name, or last; or a results file of tau2-bench.")
]
TASK_OF_RUN = typer.Argument(
    help="A task: 12, retail/12, its number, or a part of its id.",
    show_default=False,
)
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
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


class Scoring:
    """The way in which conversations are judged again; the keywords of ``ScoringKeywords``."""

    domain: str | None = domain_option(
        "The domain, whatever name the file gives; or yours: FILE.py:NAME.", callback=load_domain
    )
    as_recorded: bool = flag("Count the recorded rewards; marked in the output.", "--as-recorded")
    embedded_tasks: bool = flag(
        "Judge by the tasks in the file; marked in the output.", "--embedded-tasks"
    )
    data_version: str | None = option(
        None,
        f"Release by whose tasks and rules files are judged: {', '.join(VERSIONS)}, or "
        "1.0.1+tasks.0.2.0 for the tasks of one under the rules of the other.",
        "--data-version",
        show_default="runs: their own; files: by their form, else 0.2.0",
    )


T = TypeVar("T")
_Command = TypeVar("_Command", bound=Callable[..., None])


def renamed_option(former: T | None, old: str, value: T | None, new: str) -> T | None:
    """Return the value of an option, or what was given under its old name, with a note."""
    if former is None:
        return value
    stderr().print(
        note(f"{old} of this command is now called {new}; {old} will be removed in 0.9.")
    )
    return former if value is None else value


def with_scoring_options(**declared: Any) -> Callable[[_Command], _Command]:
    """Declare an option of the command for each of its ``**scoring`` keywords.

    ``declared`` replaces the declaration of an option.
    """

    def declare(command: _Command) -> _Command:
        signature = inspect.signature(command)
        kept = [each for each in signature.parameters.values() if each.kind != each.VAR_KEYWORD]
        added = [
            _keyword(name, kind, declared.get(name, getattr(Scoring, name)))
            for name, kind in Scoring.__annotations__.items()
        ]
        # Typer reads the options of a command from its signature.
        cast(Any, command).__signature__ = signature.replace(parameters=[*kept, *added])
        return command

    return declare


JudgeModel = Annotated[
    str | None,
    typer.Option(
        "--judge-model",
        help="Model that judges natural-language assertions; its replies are kept with the run or "
        "next to the file.",
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


def command_with(
    options: type, *, prepare: "Callable[..., FolderRun] | None" = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of an options object, beside those of its own.

    The function's first parameter gets what was given, as keywords for the object. What a command
    can ``prepare`` can also be prepared for another one, such as a run file.
    """
    listed = [each for each in list_options(options) if each.flag]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            values = {each.name: _value_of(each, given) for each in listed}
            function(values, **given)

        def prepare_run(context: typer.Context, **more: Any) -> "FolderRun":
            given = dict(context.params)
            values = {each.name: _value_of(each, given) for each in listed}
            assert prepare is not None
            return prepare(context, {**values, **more})

        _, *own = inspect.signature(function).parameters.values()
        others = [_keyword(each.name, each.annotation, each.default) for each in own]
        if prepare is not None:
            vars(command)["prepare_run"] = prepare_run
        vars(command)["__signature__"] = inspect.Signature([*_parameters(listed), *others])
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        return command

    return decorate


def _parameters(options: list[OptionSpec]) -> list[inspect.Parameter]:
    shown = [_parameter(each, each.flag) for each in options if each.flag]
    aliases = [_alias(each, each.flag) for each in options if each.flag and each.flag.alias]
    return [*shown, *aliases]


def _parameter(option: OptionSpec, flag: Flag) -> inspect.Parameter:
    name = f"--{option.name.replace('_', '-')}"
    spelling = f"{name}/--no-{name[2:]}" if option.default is True else name
    shown = typer.Option(
        *filter(None, (spelling, flag.short)),
        help=f"{flag.help}.",
        rich_help_panel=flag.panel,
        envvar=f"MASEVAL_{option.name.upper()}" if flag.env else None,
    )
    if option.default is MISSING:
        return _keyword(option.name, Annotated[flag.typed or option.type, shown])
    typed = flag.typed | None if flag.typed else option.type
    return _keyword(option.name, Annotated[typed, shown], _default(option))


def _default(option: OptionSpec) -> object:
    return None if option.default == () else option.default


def _alias(option: OptionSpec, flag: Flag) -> inspect.Parameter:
    typed = (flag.typed or option.type) | None
    return _keyword(str(flag.alias), Annotated[typed, typer.Option(hidden=True)], None)


def _keyword(
    name: str, kind: object, default: object = inspect.Parameter.empty
) -> inspect.Parameter:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=default, annotation=kind)


def _value_of(option: OptionSpec, given: dict[str, Any]) -> object:
    """Return the value typed under the option's own name, or under that of tau2-bench."""
    value, flag = given.pop(option.name), option.flag
    other = given.pop(flag.alias, None) if flag and flag.alias else None
    if flag and get_origin(flag.typed) is list:
        value = [*(value or ()), *(other or ())]
    elif other and value == _default(option):
        value = other
    return arguments(value) if option.type == ExtraArguments | None else value


def arguments(texts: list[str] | None) -> dict[str, object]:
    """Parse JSON objects, files with one, and ``key=value``; given several times, all count."""
    merged: dict[str, object] = {}
    for text in texts or ():
        merged |= json_object(text) if text.lstrip().startswith("{") else _from_file_or_pair(text)
    return merged


def _from_file_or_pair(text: str) -> dict[str, object]:
    if not text.endswith(".json") or "=" in text:
        return _key_and_value(text)
    try:
        return json_object(Path(text).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{text} cannot be read: {error}") from None


def json_object(text: str) -> dict[str, object]:
    try:
        value = strict_json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"not a JSON object ({error})") from None
    if not isinstance(value, dict):
        raise typer.BadParameter("not a JSON object")
    return value


def _key_and_value(text: str) -> dict[str, object]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        # The text itself is not repeated: it may be a key that was typed in the wrong place.
        raise typer.BadParameter(
            "neither a JSON object like '{\"temperature\": 0}', nor a .json file, nor "
            "key=value like temperature=0"
        )
    return {key.strip(): json_or_text(value.strip())}


def json_or_text(text: str) -> object:
    try:
        return strict_json.loads(text)
    except ValueError:
        return text
