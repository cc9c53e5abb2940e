"""Groups of commands, each of which is loaded when it is asked for.

A group lists where its commands are. Its help needs only their descriptions, which are read from
the files without running them: a file of ours takes ten times as long to run as to read.
"""

import ast
import inspect
import os
from collections.abc import Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command


class PlainCommand(TyperCommand):
    """A command whose help shows its parameters plainly."""

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]  # its Context
        return _simplify(super().get_params(ctx))


class CommandGroup(TyperGroup):
    """A group that loads its commands on demand, and knows which other group has a command."""

    places: ClassVar[Mapping[str, str]] = {}
    """``module:name`` of each command, in the order of the help."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._listing = False
        if self.places:
            self.commands = _Commands(self.places)  # type: ignore[assignment]  # as good as a dict

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
        if self._listing and cmd_name in self.places:
            description = _description(self.places[cmd_name])
            if description is not None:
                return PlainCommand(cmd_name, help=description)
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        if args and args[0] not in self.commands:
            root: Any = ctx.find_root().command
            groups = {"maseval": root}
            groups |= {f"maseval {name}": root.commands[name] for name in root.commands}
            others = [
                f"{name} {args[0]}"
                for name, each in groups.items()
                if isinstance(each, TyperGroup) and args[0] in each.commands
            ]
            if others:
                ctx.fail(f"No such command {args[0]!r} here, but: {', '.join(others)}")
        return super().resolve_command(ctx, args)


class _Commands(Mapping[str, Any]):
    """Commands by name, each made when it is looked up."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> Any:
        return _load(name, self._places[name])

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@cache
def _load(name: str, place: str) -> Any:
    module = import_module(place.partition(":")[0])
    found = getattr(module, place.partition(":")[2])
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False)
        settings = getattr(module, "SETTINGS", None)
        add = alone.command(
            name, cls=PlainCommand, epilog=_examples(module, found), context_settings=settings
        )
        add(found)
        found = alone
    command = get_command(found)
    command.name = name
    return command


def _examples(module: ModuleType, function: Any) -> str:
    """Return the examples of a command: of several in a file, each has its own."""
    listed = getattr(module, "COMMANDS", None)
    return str(module.EXAMPLES if listed is None else listed[function])


def _description(place: str) -> str | None:
    """Return the help of a command or group without loading it; None if that cannot be read."""
    module, _, name = place.partition(":")
    spec = find_spec(module)
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        return None
    for each in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        match each:
            case ast.FunctionDef() if each.name == name:
                return inspect.cleandoc(ast.get_docstring(each) or "")
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call(keywords=given)):
                found = [word.value for word in given if word.arg == "help" and target == name]
                if found:
                    return str(ast.literal_eval(found[0]))
    return None


def examples(*lines: tuple[str, str]) -> str:
    """Format commands and their purposes, for the end of a command's help."""
    shown = [f"[cyan]{escape(command)}[/cyan]\n  {escape(purpose)}" for command, purpose in lines]
    return "[bold]Examples[/bold]\n\n" + "\n\n".join(shown)


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
    return value if parameter.callback is None else parameter.callback(context, parameter, value)


def _is_any_path(info: Any, value: Any) -> bool:
    """Return True if a text names something readable, and no more is asked of a path."""
    asked = (info.writable, info.resolve_path, info.path_type, info.parser)
    if any(asked) or not (info.file_okay and info.dir_okay):
        return False
    return type(value) is str and value.isascii() and os.access(value, os.R_OK)
