"""The command line as a whole: groups of commands, the words that were typed, and errors.

A group lists where its commands are, and loads one when it is asked for. Its help needs only their
descriptions, which are read from the files without running them: a file of ours takes ten times as
long to run as to read.

A run remembers the command that started it. An error that maseval names becomes one message and an
exit code; its traceback is shown with ``--debug`` only.
"""

import ast
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, cast

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from maseval import __version__
from maseval.cli.console import inert, own_commands, release_stream, stderr
from maseval.core.exceptions import MASEvalError, ResultFileError, is_machine_failure
from maseval.core.storage.redaction import Secrets, redact_command, redact_text

CommandT = TypeVar("CommandT", bound=Callable[..., None])

ALL_HELP = "--help-all"
# Options that few people need: the help of a command with many leaves them to --help-all.
RARE_OPTIONS = frozenset(
    (
        "ray_address",
        "processes",
        "force",
        "max_wait",
        "allow",
        "agent_env",
        "junit_xml",
        "retry_failed",
        "prices",
        "fork",
        "resume_changed",
        "reasoning",
        "split",
        "mode",
        "texts",
        "max_errors",
        "user_args",
        "tool_model",
        "embedded_tasks",
        "as_recorded",
        "strict",
        "user",
        "key_env",
        "host",
        "timeout",
        "overwrite",
        "engine",
        "cache",
        "max_steps",
        "seed",
        "perturb",
        "ask_confidence",
    )
)
_MANY = 6


class PlainCommand(TyperCommand):
    """A command whose help shows its parameters plainly, and rare ones on demand."""

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]  # its Context
        for each in self._rare:
            each.hidden = not ctx.meta.get(ALL_HELP)
        return _simplify(super().get_params(ctx))

    @cached_property
    def _rare(self) -> list[Any]:
        every = [each for each in self.params if each.param_type_name == "option"]
        return [each for each in every if each.name in RARE_OPTIONS and len(every) > _MANY]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if self._rare and ALL_HELP in args:
            # Whatever else was typed is not read, so that it need not be complete.
            ctx.meta[ALL_HELP], args = True, ["--help"]
        return super().parse_args(ctx, args)

    def get_help_option(self, ctx: Any) -> Any:
        found = super().get_help_option(ctx)
        if found is not None and self._rare:
            more = f"{ALL_HELP} also shows {len(self._rare)} rare options"
            found.help = "Show this message and exit." if ctx.meta.get(ALL_HELP) else f"{more}."
        return found


class CommandGroup(TyperGroup):
    """A group that loads its commands on demand."""

    places: ClassVar[Mapping[str, str]] = {}
    """``module:name`` of each command, in the order of the help."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._listing = False
        # Typer suggests one of these names for a mistyped one, and never sees what they map to.
        self.commands = {**self.commands, **cast("dict[str, Any]", self.places)}

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]  # its Context
        return _simplify(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if (place := self.places.get(cmd_name)) is None:
            return super().get_command(ctx, cmd_name)
        return self.described(cmd_name, place) or _load(cmd_name, place)

    def described(self, name: str, place: str) -> Any:
        """Return a command that has a description and no more, while the help lists commands."""
        description = _description(place) if self._listing else None
        return None if description is None else PlainCommand(name, help=description)


def command_group(
    *, places: Mapping[str, str], help: str, shown: Sequence[tuple[str, str]]
) -> typer.Typer:
    """Return a group of commands without options of its own; ``shown`` are its examples."""
    group = typer.Typer(
        cls=type("Commands", (CommandGroup,), {"places": places}),
        help=help,
        epilog=examples(*shown),
        no_args_is_help=True,
        add_completion=False,
    )
    # Without a callback Typer would turn a group with one command into that command.
    group.callback()(lambda: None)
    return group


@cache
def _load(name: str, place: str) -> Any:
    module, _, function = place.partition(":")
    return as_command(name, getattr(import_module(module), function))


def as_command(name: str, found: Any) -> Any:
    """Return a function or a group of Typer's as a command of that name."""
    if not isinstance(found, typer.Typer):
        # A Typer that has a single command and no callback becomes that command.
        alone = typer.Typer(add_completion=False)
        alone.command(name, cls=PlainCommand, **found.more)(found)
        found = alone
    command = get_command(found)
    command.name = name
    return command


def _description(place: str) -> str | None:
    """Return the help of a command or group without loading it; None if that cannot be read."""
    module, _, name = place.partition(":")
    spec = find_spec(module)
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        return None
    for each in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        match each:
            case ast.FunctionDef() | ast.ClassDef() if each.name == name:
                return inspect.cleandoc(ast.get_docstring(each) or "")
            # A group is made by a call, and its help is a plain text among the words of that call.
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call(keywords=given)):
                found = [word.value for word in given if word.arg == "help" and target == name]
                if found:
                    return str(ast.literal_eval(found[0]))
    return None


def examples(*lines: tuple[str, str]) -> str:
    """Format commands and their purposes, for the end of a command's help."""
    shown = [f"[cyan]{escape(command)}[/cyan]\n  {escape(purpose)}" for command, purpose in lines]
    return "[bold]Examples[/bold]\n\n" + "\n\n".join(shown)


def with_examples(
    *lines: tuple[str, str], settings: Mapping[str, object] | None = None
) -> Callable[[CommandT], CommandT]:
    """Let the help of a command end with examples; ``settings`` are those of its context."""

    def decorate(function: CommandT) -> CommandT:
        # Kept beside the function, as it becomes a command only when it is looked up.
        vars(function)["more"] = {"epilog": examples(*lines), "context_settings": settings}
        return function

    return decorate


def _simplify(parameters: list[Any]) -> list[Any]:
    for each in parameters:
        each.process_value = partial(_process_value, each)
        if each.metavar is None and each.param_type_name == "argument":
            each.metavar = each.name.upper()
        elif each.metavar is None and getattr(each, "is_flag", False):
            each.metavar = ""
    return parameters


def _process_value(parameter: Any, context: Any, value: Any) -> Any:
    """Convert a value as Typer does, unless that would change nothing.

    Typer converts even what was not given, and loads pydantic for it, which takes a third of the
    time of a small command. A text that is not ASCII may stem from bytes that are none.
    """
    described: Any = getattr(parameter, "type_descriptor", None)
    wanted = getattr(described, "annotation", None)
    if value is None and not parameter.required:
        value = () if parameter.multiple or parameter.nargs == -1 else None
    elif wanted is Path and _is_any_path(described.parameter_info, value):
        value = Path(value)
    elif type(value) is not wanted or (wanted is str and not value.isascii()):
        return type(parameter).process_value(parameter, context, value)
    if value is None or parameter.callback is None:
        return value
    return parameter.callback(context, parameter, value)


def _is_any_path(info: Any, value: Any) -> bool:
    """Return True if a text names something readable, and no more is asked of a path."""
    asked = (info.writable, info.resolve_path, info.path_type, info.parser)
    if any(asked) or not (info.file_okay and info.dir_okay):
        return False
    return type(value) is str and value.isascii() and os.access(value, os.R_OK)


FAILED = 1
WRONG_USE = 2
INCOMPLETE = 3
NOT_REHEARSED = 4

_WORDS = "maseval.words"
_DEBUG = "--debug"  # it may stand anywhere
# A CI service takes their code 1 for a verdict, so no error may have it.
_JUDGING = frozenset({"gate"})


class RootGroup(CommandGroup):
    """The group of all commands: keeps the words typed, and turns errors into messages."""

    def make_context(
        self, info_name: str | None, args: list[str], *rest: Any, **more: Any
    ) -> typer.Context:
        words = list(args)
        # Only the group of all commands knows the option, so it goes before the name of the
        # command.
        ours = [word for word in words if word == _DEBUG]
        given = [*ours, *(word for word in words if word != _DEBUG)]
        context: Any = super().make_context(info_name, given, *rest, **more)
        context.meta.setdefault(_WORDS, [str(info_name), *words])
        return context  # type: ignore[no-any-return]

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]  # its own Context
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Whoever read our output has gone; nothing may be written while Python shuts down.
            release_stream(sys.stdout)
            raise typer.Exit(_code(FAILED, ctx)) from None
        except KeyboardInterrupt:
            stderr().print("Interrupted.")
            raise  # Typer leaves with exit code 130
        except (MASEvalError, OSError) as error:
            if is_debugging(ctx):
                raise
            print_error(error)
            raise typer.Exit(_code(exit_code(error), ctx)) from None
        # Where no thread can be started, Python raises a RuntimeError.
        except (MemoryError, RuntimeError) as error:
            if is_debugging(ctx) or not is_machine_failure(error):
                raise
            print_error(f"this machine has no memory or threads left{_OUT_OF_MEMORY}")
            raise typer.Exit(_code(FAILED, ctx)) from None


_OUT_OF_MEMORY = "; allow more, or do less at once (a run: a lower --concurrency)"


def print_error(error: Exception | str) -> None:
    text = error if isinstance(error, str) else error_text(error)
    stderr().print(f"[bold red]Error:[/] {inert(own_commands(text))}", soft_wrap=True)


def context_of(context: typer.Context, words: Sequence[str]) -> Any:
    """Return the context of another command of this command line; raise for wrong options."""
    command, name, rest = command_named(context, words)
    return command.make_context(name, rest, parent=context.find_root())


def command_named(context: typer.Context, words: Sequence[str]) -> tuple[Any, str, list[str]]:
    """Return the command that ``words`` begin with, its name, and the other words."""
    command: Any = context.find_root().command
    rest, name = list(words), []
    while isinstance(command, TyperGroup):
        name.append(rest.pop(0))
        command = command.get_command(context, name[-1])
    return command, " ".join(name), rest


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"maseval {__version__}")
        raise typer.Exit()


def root_options(
    context: typer.Context,
    debug: Annotated[
        bool, typer.Option(_DEBUG, help="Show the traceback of an error; can be given anywhere.")
    ] = False,
    show_version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    context.obj = {"debug": debug}


def command_line(context: typer.Context) -> str:
    return redact_command(context.meta[_WORDS])


def is_debugging(context: typer.Context) -> bool:
    return bool((context.find_root().obj or {}).get("debug"))


def exit_code(error: Exception) -> int:
    """Return 2 for what the caller can put right by asking differently, else 1."""
    asked_wrongly = isinstance(error, ValueError | LookupError | TypeError)
    # A faulty results file is a ValueError as well, but no other question would mend it.
    return WRONG_USE if asked_wrongly and not isinstance(error, ResultFileError) else FAILED


def _code(code: int, context: typer.Context) -> int:
    return WRONG_USE if context.invoked_subcommand in _JUDGING else code


def error_text(error: Exception) -> str:
    """Return the error's text without secrets; the system's without the number of the error."""
    words = str(error)
    if isinstance(error, OSError) and not isinstance(error, MASEvalError) and error.strerror:
        names = [os.fsdecode(each) for each in (error.filename, error.filename2) if each]
        words = ": ".join([*names, error.strerror])
    return Secrets.of({}).removed_from_text(redact_text(words or type(error).__name__))
