"""Runs as a file: ``maseval run FILE.toml``.

The file has the options of the command line under their own names; what is typed counts more.
With ``[grid]`` it is a set of runs, of all combinations of the levels of some factors. A level is a
value of the option that its factor names, or a table with a ``name`` and several options.
``system`` is the agent under the name that it has in an experiment: the agent of tau2, the team of
MACS, ``agent_data["system"]`` of a benchmark of one's own.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import product
from math import prod
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import typer

from maseval.cli.command_line import command_named
from maseval.cli.console import inert, stderr
from maseval.core.exceptions import ConfigurationError
from maseval.core.storage import strict_json
from maseval.core.words import as_file_name

BENCHMARK, NAME = "benchmark", "name"
GRID, SKIP, SYSTEM = "grid", "skip", "system"
# Each is a run with a folder; nobody waits for more.
_MOST_CELLS = 1_000
_OURS = {"tau2": ("tau2", "run"), "macs": ("macs", "run")}


def _command_of(benchmark: str) -> tuple[str, ...] | None:
    """Return the words of the command that runs a benchmark of that name; None for a reference."""
    from maseval.cli.offered import offered_commands

    return _OURS.get(benchmark) or ((benchmark, "run") if benchmark in offered_commands() else None)


class FileRun(NamedTuple):
    """One run of a file: its options; in a grid its name, the levels of its cell, and the options
    that these decide.
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

        return Path(self.options.get("output") or default_root() / path.stem, self.name or "")

    def with_options(self, more: Mapping[str, Any]) -> "FileRun":
        """Return the run with what was typed, which counts for each run of a file."""
        if both := sorted(self.decided & more.keys()):
            raise ConfigurationError(
                f"{both[0]} is decided by the levels of [{GRID}], so it cannot be typed for all; "
                "leave it out, or change the file"
            )
        return self._replace(options={**self.options, **more})


def read_run_file(path: Path, context: typer.Context) -> list[FileRun]:
    """Return the runs of a file; without ``[grid]`` it is one without a name."""
    try:
        content = _with_underscores(strict_json.loads_toml(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigurationError(f"{path} is not TOML: {error}") from None
    grid = content.pop(GRID, None)
    runs = [FileRun(content)]
    if grid is not None:
        try:
            runs = _cells(content, grid, partial(_options_of, context))
        except ConfigurationError as error:
            raise ConfigurationError(f"{path}: {error}") from None
    for each in runs:
        _check_names(path, each, context)
    names = [each.name for each in runs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigurationError(f"{path} has two runs of the name {twice!r}; each needs its own")
    # Said before any of that code is imported, while it can still be stopped.
    _name_code(path, runs)
    return runs


# Options of a file as a whole.
_NO_FACTORS = frozenset({"as_json", "budget", "dry_run", "output"})


def _options_of(context: typer.Context, benchmark: str) -> set[str]:
    """Return the options of the command that runs a benchmark, and ``benchmark``."""
    command, _, _ = command_named(context, _command_of(benchmark) or ("run",))
    spellings = (word for each in command.params for word in (*each.opts, *each.secondary_opts))
    named = {word.lstrip("-").replace("-", "_") for word in spellings}
    return {BENCHMARK, *named, *(str(each.name) for each in command.params)}


def _check_names(path: Path, run: FileRun, context: typer.Context) -> None:
    """Raise for an option that the command of a run does not have, where it stands in the file."""
    benchmark = run.options.get(BENCHMARK)
    if not isinstance(benchmark, str) or _command_of(benchmark) is None:
        return  # one of somebody's own says by itself what it takes
    known = _options_of(context, benchmark)
    unknown = next((name for name in run.options if name not in known), None)
    if unknown is None:
        return
    spelling = re.escape(unknown).replace("_", "[-_]")
    # TOML takes names with and without quotes, and people write - for _.
    is_it = re.compile(rf"""\s*["']?{spelling}["']?\s*=""")
    lines = path.read_text(encoding="utf-8").splitlines()
    place = next((f", line {n}" for n, each in enumerate(lines, 1) if is_it.match(each)), "")
    alike = get_close_matches(unknown, [*known, SYSTEM], n=1)
    hint = (
        f"did you mean {alike[0]!r}?"
        if alike
        else f"`maseval {benchmark} run --help-all` lists all"
    )
    raise ConfigurationError(f"{path}{place}: unknown option {unknown!r}; {hint}")


_PROGRAMS = ("acp:", "a2a:")
_OF_CODE = frozenset({BENCHMARK, "agent", "domain", "tasks", "team", "user"})
# A reference to code, such as shop.py:Shop, package.module:SHOP or shop.py.
_CODE = re.compile(r"[\w./\\ -]+\.py(:\w+)?|[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def _name_code(path: Path, runs: Sequence[FileRun]) -> None:
    """Say what a file will have imported or started, as that can do whatever its user can."""
    texts = (
        text
        for options in (each.options for each in runs)
        for option in _OF_CODE & options.keys()
        for text in (options[option] if isinstance(options[option], list) else [options[option]])
    )
    given = {text for text in texts if isinstance(text, str)}
    programs = {text for text in given if text.startswith(_PROGRAMS)}
    code = {text for text in given - programs if _CODE.fullmatch(text)}
    for what, named in (("Importing the code", code), ("Using the programs", programs)):
        if named:
            listed = inert(", ".join(sorted(named)))
            stderr().print(f"{what} that {inert(str(path))} names: {listed}")


def _with_underscores(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("-", "_"): value for name, value in table.items()}


def command_words(run: FileRun, path: Path) -> list[str]:
    """Return the words of the command that does the same as a run of the file at ``path``.

    Its folder is always the same, so that the run resumes.
    """
    given = {**run.options, "output": str(run.folder(path))}
    benchmark = given.pop(BENCHMARK, None)
    if not isinstance(benchmark, str):
        raise ConfigurationError(
            f'{BENCHMARK} is {benchmark!r}; write {BENCHMARK} = "tau2" or "FILE.py:NAME"'
        )
    command = _command_of(benchmark) or ("run", benchmark)
    return [*command, *(word for option in given.items() for word in option_words(*option))]


def option_words(name: str, value: object) -> Iterator[str]:
    option = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        yield option if value else f"--no-{option[2:]}"
    else:
        for each in value if isinstance(value, list) else [value]:
            yield from (option, json.dumps(each) if isinstance(each, Mapping) else str(each))


# Where a factor is an option of another name; of benchmarks of one's own, an entry of agent_data.
_OPTIONS = {"tau2": {SYSTEM: "agent"}, "macs": {SYSTEM: "team"}}
_AGENT_DATA = {SYSTEM: "system", "agent_model": "model_id"}
_PLACE = re.compile(r"(?P<place>[\w./\\ -]+?)(\.py)?:(?P<name>\w+)")


class Level(NamedTuple):
    """One level of a factor: a value, or the options of a table."""

    factor: str
    name: str
    value: Any

    @property
    def part_of_name(self) -> str:
        """The level in the name of a folder; a number says nothing without what it is of."""
        of = "" if isinstance(self.value, str | dict) else f"{self.factor}-"
        return as_file_name(f"{of}{self.name}")

    def options(self, benchmark: str) -> dict[str, Any]:
        """Return the level as options of the command that runs the benchmark."""
        if isinstance(self.value, dict):
            return self.value
        if self.factor == BENCHMARK or benchmark in _OPTIONS:
            return {_OPTIONS.get(benchmark, {}).get(self.factor, self.factor): self.value}
        if self.factor in _AGENT_DATA:
            return {"agent_data": {_AGENT_DATA[self.factor]: self.value}}
        return {self.factor: self.value}


def _cells(
    shared: Mapping[str, Any], grid: object, options_of: Callable[[str], set[str]]
) -> list[FileRun]:
    """Return the cells of a grid; ``shared`` are the options of the file that all of them have."""
    if not isinstance(grid, dict):
        raise ConfigurationError(f"{GRID} is {grid!r}; write [{GRID}] before its factors")
    grid = _with_underscores(grid)
    # Counted before any is made: a range in the wrong place asks for millions.
    number = prod(
        len(each) for name, each in grid.items() if name != SKIP and isinstance(each, list)
    )
    if number > _MOST_CELLS:
        raise ConfigurationError(
            f"[{GRID}] has {number:,} combinations of levels, {_MOST_CELLS:,} at most; give fewer "
            "levels, or split it into several files"
        )
    factors = {name: _levels(name, given) for name, given in grid.items() if name != SKIP}
    if not factors:
        raise ConfigurationError(f'[{GRID}] has no factor; write {SYSTEM} = ["a.py:agent", "llm"]')
    for name in factors.keys() & shared.keys():
        raise ConfigurationError(
            f"{name} is both an option of the whole file and a factor of [{GRID}]; keep one of them"
        )
    left_out = list(_skipped(grid.get(SKIP, []), factors))
    kept = [
        levels
        for levels in product(*factors.values())
        # An entry leaves out every cell that has all of its levels.
        if not any(skip <= {(each.factor, each.name) for each in levels} for skip in left_out)
    ]
    if not kept:
        raise ConfigurationError(f"{SKIP} leaves out every cell of [{GRID}]; leave out fewer")
    benchmarks = {_benchmark_of_cell(levels, shared) for levels in kept}
    known = {each: options_of(each) for each in benchmarks}
    return [_cell(levels, shared, known) for levels in kept]


def _levels(factor: str, given: object) -> list[Level]:
    where = f"the factor {factor!r} of [{GRID}]"
    if not isinstance(given, list) or not given:
        raise ConfigurationError(f"{where} is {given!r}; give a list of levels: {factor} = [...]")
    levels: list[Level] = []
    for value in given:
        # In lower case: some file systems do not tell runs apart whose names differ in nothing
        # else.
        name, taken = _name_of(value, where), {as_file_name(each.name).lower() for each in levels}
        if isinstance(value, dict):
            value = {key.replace("-", "_"): each for key, each in value.items() if key != NAME}
        if any(each.value == value for each in levels):
            raise ConfigurationError(f"{where} has the level {value!r} twice; keep one")
        if not isinstance(value, dict) and as_file_name(name).lower() in taken:
            name = as_file_name(str(value))  # of another provider, or in another folder
        if as_file_name(name).lower() in taken:
            raise ConfigurationError(
                f'{where} has two levels of the name {name!r}; name one: {{{NAME} = "other", ...}}'
            )
        levels.append(Level(factor, name, value))
    return levels


def _name_of(value: object, where: str) -> str:
    """Return a short name: of a model without its provider, of an agent that of its file."""
    match value:
        case {"name": str(name)} if name.strip():
            return name
        case dict():
            raise ConfigurationError(
                f'{where} has a level without a name: {value!r}; write {{{NAME} = "small", ...}}'
            )
        # Before int, as True is a number for Python.
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case str() if value.startswith(_PROGRAMS):  # the names of its files, or its host
            kind, _, words = value.partition(":")
            return " ".join([kind, *(PurePath(word).name for word in words.split())])
        case str() if found := _PLACE.fullmatch(value):
            place, name = PurePath(found["place"].replace(".", "/")), found["name"]
            # Where every agent's file is called agent.py, the folder around it tells them apart.
            stem = place.name if place.name != "agent" else place.parent.name or place.name
            return stem if name in ("agent", stem) else f"{stem}-{name}"
        case str() if value.strip():
            return value.rstrip("/").rpartition("/")[2]
    raise ConfigurationError(
        f'{where} has the level {value!r}; write {{{NAME} = "small", OPTION = ...}} for it'
    )


def _skipped(
    given: object, factors: Mapping[str, Sequence[Level]]
) -> Iterator[set[tuple[str, str]]]:
    """Yield the levels of each entry of ``skip``, by name."""
    if not isinstance(given, list) or not all(isinstance(each, dict) and each for each in given):
        raise ConfigurationError(
            f'{SKIP} of [{GRID}] is {given!r}; write {SKIP} = [{{{SYSTEM} = "a", domain = "b"}}]'
        )
    for entry in given:
        found = set()
        for factor, value in entry.items():
            levels = factors.get(factor, ())
            level = next((each for each in levels if value in (each.name, each.value)), None)
            if level is None:
                known = ", ".join(each.name for each in levels) or f"no factor {factor!r}"
                raise ConfigurationError(
                    f"{SKIP} names {factor} = {value!r}, and [{GRID}] has {known}"
                )
            found.add((factor, level.name))
        yield found


def _benchmark_of_cell(levels: Sequence[Level], shared: Mapping[str, Any]) -> str:
    # Without a benchmark, as this looks for the one that the levels name.
    of_levels = (each.options("").get(BENCHMARK) for each in levels)
    found = next((each for each in of_levels if each is not None), shared.get(BENCHMARK))
    if not isinstance(found, str):
        raise ConfigurationError(
            f'{BENCHMARK} is {found!r}; write {BENCHMARK} = "tau2" or "FILE.py:NAME"'
        )
    return found


def _cell(
    levels: Sequence[Level], shared: Mapping[str, Any], known: Mapping[str, set[str]]
) -> FileRun:
    """Put the options of a cell together; ``known`` are those of each benchmark's command.

    Options of another benchmark of the grid are left out. The command rejects unknown options.
    """
    benchmark, own = _benchmark_of_cell(levels, shared), dict[str, Any]()
    others = set[str]().union(*known.values()) - known[benchmark]
    for level in levels:
        of = f"the level {level.name!r} of the factor {level.factor!r}"
        given = level.options(benchmark)
        # Without any option that counts, the cell would be the same as that of another level.
        if given and given.keys() <= others:
            raise ConfigurationError(
                f"{of} has no option that the benchmark {benchmark} takes: {', '.join(given)}; add "
                f"one, or leave the cell out by {SKIP} = [...]"
            )
        for name, value in given.items():
            if name in others:
                continue
            if name in _NO_FACTORS:
                raise ConfigurationError(f"{of} has {name!r}, which is an option of the whole file")
            # Two factors may fill one table, such as agent_data, unless both set the same key.
            if name in own and (not isinstance(value, dict) or value.keys() & own[name]):
                raise ConfigurationError(
                    f"{name} is set by {of} and by that of another factor; keep one of them"
                )
            own[name] = _joined(own.get(name), value)
    options = {name: value for name, value in shared.items() if name not in others}
    options |= {name: _joined(options.get(name), value) for name, value in own.items()}
    parts = (each.part_of_name for each in sorted(levels, key=_place_in_name))
    cell = {each.factor: each.name for each in levels}
    return FileRun(options, "-".join(parts), cell, frozenset(own))


def _joined(before: object, value: object) -> object:
    return {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value


def _place_in_name(level: Level) -> tuple[int, str]:
    """Order the parts of a name, so that another order of factors finds the same folders."""
    places = {SYSTEM: 0, "agent": 0, "agent_model": 1, "domain": 3, BENCHMARK: 4}
    return places.get(level.factor, 2), level.factor
