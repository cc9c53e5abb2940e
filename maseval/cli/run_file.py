"""Runs as a file: ``--config FILE.toml`` and ``maseval run FILE.toml``.

The file has the options of the command line under their own names. What is typed counts more than
an environment variable, and that more than the file. With ``[[run]]`` tables it is a set of runs:
each has the options above them and its own, and a name by which its folder is called. With
``[grid]`` it is a set of all combinations of the levels of some factors.
"""

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from maseval.app.running.options import OUTPUT
from maseval.cli.command_line import command_named
from maseval.cli.console import inert, stderr
from maseval.core.exceptions import ConfigurationError
from maseval.core.storage import strict_json

BENCHMARK, RUNS, GRID, NAME = "benchmark", "run", "grid", "name"
_COMMANDS = {"tau2": ("tau2", "run"), "macs": ("macs", "run")}


class FileRun(NamedTuple):
    """One run of a file: its options, and its name if there are several.

    ``cell`` has the levels of a cell of a grid, and ``decided`` the options that they decide.
    """

    options: dict[str, Any]
    name: str | None = None
    cell: Mapping[str, str] = {}
    decided: frozenset[str] = frozenset()

    def folder(self, path: Path) -> Path:
        """Return the run's folder, which is called like the file unless an option names one.

        Cells have a folder in that of the grid.
        """
        from maseval.runs import default_root  # help must be quick

        named = self.options.get("output")
        if self.cell:
            return Path(named or default_root() / path.stem, str(self.name))
        return Path(named or default_root() / "-".join(filter(None, (path.stem, self.name))))

    def with_options(self, more: Mapping[str, Any]) -> "FileRun":
        """Return the run with what was typed, which counts for each run of a file."""
        if both := sorted(self.decided & more.keys()):
            raise ConfigurationError(
                f"{both[0]} is decided by the levels of [{GRID}], so it cannot be typed for all; "
                "leave it out, or change the file"
            )
        return self._replace(options={**self.options, **more})


def read_run_file(path: Path, context: typer.Context) -> list[FileRun]:
    """Return the runs of a file; without ``[[run]]`` and ``[grid]`` it is one without a name."""
    try:
        content = _with_underscores(strict_json.loads_toml(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigurationError(f"{path} is not TOML: {error}") from None
    if f"{RUNS}s" in content:
        raise ConfigurationError(
            f"{path}: '{RUNS}s' is no option; write [[{RUNS}]] before each run"
        )
    tables, grid = content.pop(RUNS, None), content.pop(GRID, None)
    if grid is not None:
        if tables is not None:
            raise ConfigurationError(
                f"{path} has both [[{RUNS}]] and [{GRID}]; keep one, or make each run a level: "
                f'system = [{{{NAME} = "small", agent_model = "a"}}]'
            )
        runs = _cells(path, content, grid, context)
    elif tables is None:
        runs = [FileRun(content)]
    elif not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise ConfigurationError(
            f"{path}: {RUNS} is no list of tables; write [[{RUNS}]] before each run"
        )
    else:
        runs = [_run_of_set(path, content, _with_underscores(each)) for each in tables]
    names = [each.name for each in runs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigurationError(f"{path} has two runs of the name {twice!r}; each needs its own")
    _name_code(path, runs)
    return runs


def _cells(
    path: Path, shared: dict[str, Any], grid: object, context: typer.Context
) -> list[FileRun]:
    from maseval.app.running.grid import cells_of  # help must be quick

    if not isinstance(grid, dict):
        raise ConfigurationError(f"{path}: {GRID} is {grid!r}; write [{GRID}] before its factors")

    def options_of(benchmark: str) -> set[str]:
        command, _, _ = command_named(context, _COMMANDS.get(benchmark, ("run",)))
        return {str(each.name) for each in command.params} - _NO_FACTORS

    try:
        cells = cells_of(_with_underscores(grid), shared, options_of)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None
    return [FileRun(each.options, each.name, each.levels, each.own) for each in cells]


# Options of a file as a whole.
_NO_FACTORS = frozenset({"as_json", "budget", "config", "dry_run", "output"})
_OF_CODE = frozenset({BENCHMARK, "agent", "domain", "tasks", "team", "user"})
# A reference to code, such as shop.py:Shop, package.module:SHOP or shop.py.
_CODE = re.compile(r"[\w./\\ -]+\.py(:\w+)?|[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def _name_code(path: Path, runs: Sequence[FileRun]) -> None:
    """Say what a file will have imported, as that can do whatever its user can."""
    texts = (
        text
        for options in (each.options for each in runs)
        for option in _OF_CODE & options.keys()
        for text in (options[option] if isinstance(options[option], list) else [options[option]])
    )
    named = [text for text in texts if isinstance(text, str) and _CODE.fullmatch(text)]
    if named:
        listed = ", ".join(sorted(set(named)))
        stderr().print(f"Importing the code that {inert(str(path))} names: {inert(listed)}")


def _with_underscores(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("-", "_"): value for name, value in table.items()}


def _run_of_set(path: Path, shared: Mapping[str, Any], own: dict[str, Any]) -> FileRun:
    name = own.pop(NAME, None)
    if not isinstance(name, str) or not name or "/" in name:
        raise ConfigurationError(
            f'{path}: a [[{RUNS}]] has the {NAME} {name!r}; write {NAME} = "small", for example'
        )
    return FileRun({**shared, **own}, name)


def command_words(run: FileRun, path: Path) -> list[str]:
    """Return the words of the command that does the same as a run of the file at ``path``.

    Its folder is always the same, so that the run resumes.
    """
    given = {**run.options, "output": str(run.folder(path))}
    benchmark = given.pop(BENCHMARK, None)
    if not isinstance(benchmark, str):
        raise ConfigurationError(
            f'{BENCHMARK} is {benchmark!r}; write {BENCHMARK} = "tau2", "macs" or "FILE.py:NAME"'
        )
    command = _COMMANDS.get(benchmark, ("run", benchmark))
    return [*command, *(word for option in given.items() for word in option_words(*option))]


def option_words(name: str, value: object) -> Iterator[str]:
    """Yield an option as it is typed."""
    option = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        yield option if value else f"--no-{option[2:]}"
    else:
        for each in value if isinstance(value, list) else [value]:
            yield from (option, _as_text(each))


def _as_text(value: object) -> str:
    return json.dumps(value) if isinstance(value, Mapping) else str(value)


def _use_file(context: typer.Context, path: Path | None) -> Path | None:
    """Let the options of the file stand where nothing is typed."""
    if path is None or context.resilient_parsing:
        return path
    first, *others = read_run_file(path, context)
    own, options = _benchmark_of(context), dict(first.options)
    if others or first.name or (own is not None and options.pop(BENCHMARK, own) != own):
        raise ConfigurationError(f"{path} is for another command: maseval run {path}")
    parameters = {str(each.name): each for each in context.command.params}
    for name in options:
        if name not in parameters:
            close = difflib.get_close_matches(name, parameters, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise ConfigurationError(f"{path}: there is no option {name!r}{hint}")
    context.default_map = {
        name: _as_default(value, many=bool(getattr(parameters[name], "multiple", False)))
        for name, value in options.items()
    }
    return path


def _benchmark_of(context: typer.Context) -> str | None:
    """Return the benchmark that a command runs; None for ``maseval run``, which runs any."""
    *group, _ = context.command_path.split()[1:]
    return group[0] if group else None


def _as_default(value: object, *, many: bool) -> object:
    if many:
        return [_as_text(each) for each in (value if isinstance(value, list) else [value])]
    return _as_text(value) if isinstance(value, Mapping) else value


ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="TOML file with any of these options; the command line overrides it.",
        metavar="FILE.toml",
        callback=_use_file,
        is_eager=True,
        rich_help_panel=OUTPUT,
    ),
]
