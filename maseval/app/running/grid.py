"""``[grid]`` of a run file: factors with levels, and a run for each combination of levels.

A level is a value of the option that its factor names, or a table with a ``name`` and several
options. ``system`` is the agent under the name that it has in an experiment: the agent of tau2, the
team of MACS, ``agent_data["system"]`` of a benchmark of one's own.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import product
from pathlib import PurePath
from typing import Any, NamedTuple

from maseval.app.running.folder_run import as_file_name
from maseval.core.exceptions import ConfigurationError

BENCHMARK, GRID, NAME, SKIP, SYSTEM = "benchmark", "grid", "name", "skip", "system"
# Where a factor is an option of another name; of benchmarks of one's own, an entry of agent_data.
_OPTIONS = {"tau2": {SYSTEM: "agent"}, "macs": {SYSTEM: "team"}}
_AGENT_DATA = {SYSTEM: "system", "agent_model": "model_id"}
_CODE = re.compile(r"(?P<place>[\w./\\ -]+?)(\.py)?:(?P<name>\w+)")

OptionsOf = Callable[[str], Collection[str]]
"""The options of the command that runs a benchmark."""


class Level(NamedTuple):
    """One level of a factor: a value, or the options of a table."""

    factor: str
    name: str
    value: Any

    @property
    def has_table(self) -> bool:
        return isinstance(self.value, dict)

    @property
    def part_of_name(self) -> str:
        """The level in the name of a folder; a number says nothing without what it is of."""
        of = "" if isinstance(self.value, str | dict) else f"{self.factor}-"
        return as_file_name(f"{of}{self.name}")

    def options(self, benchmark: str) -> dict[str, Any]:
        """Return the level as options of the command that runs the benchmark."""
        if self.has_table:
            return dict(self.value)
        if self.factor == BENCHMARK or benchmark in _OPTIONS:
            return {_OPTIONS.get(benchmark, {}).get(self.factor, self.factor): self.value}
        if self.factor in _AGENT_DATA:
            return {"agent_data": {_AGENT_DATA[self.factor]: self.value}}
        return {self.factor: self.value}


class Cell(NamedTuple):
    """One combination of levels; ``own`` are the options that the levels decide."""

    name: str
    levels: dict[str, str]
    options: dict[str, Any]
    own: frozenset[str]


def cells_of(
    grid: Mapping[str, Any], shared: Mapping[str, Any], options_of: OptionsOf
) -> list[Cell]:
    """Return the cells of a grid; ``shared`` are the options of the file that all of them have."""
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
        if not any(skip <= {(each.factor, each.name) for each in levels} for skip in left_out)
    ]
    if not kept:
        raise ConfigurationError(f"{SKIP} leaves out every cell of [{GRID}]; leave out fewer")
    benchmarks = {_benchmark_of(levels, shared) for levels in kept}
    known = {each: {BENCHMARK, *options_of(each)} for each in benchmarks}
    return [_cell(levels, shared, known) for levels in kept]


def _levels(factor: str, given: object) -> list[Level]:
    where = f"the factor {factor!r} of [{GRID}]"
    if not isinstance(given, list) or not given:
        raise ConfigurationError(f"{where} is {given!r}; give a list of levels: {factor} = [...]")
    levels: list[Level] = []
    for value in given:
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
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case str() if found := _CODE.fullmatch(value):
            place, name = PurePath(found["place"].replace(".", "/")), found["name"]
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


def _benchmark_of(levels: Sequence[Level], shared: Mapping[str, Any]) -> str:
    of_levels = (each.options("").get(BENCHMARK) for each in levels)
    found = next((each for each in of_levels if each is not None), shared.get(BENCHMARK))
    if not isinstance(found, str):
        raise ConfigurationError(
            f'{BENCHMARK} is {found!r}; write {BENCHMARK} = "tau2", "macs" or "FILE.py:NAME"'
        )
    return found


def _cell(
    levels: Sequence[Level], shared: Mapping[str, Any], known: Mapping[str, Collection[str]]
) -> Cell:
    """Put the options of a cell together; ``known`` are those of each benchmark's command."""
    benchmark, own = _benchmark_of(levels, shared), dict[str, Any]()
    anywhere = set[str]().union(*known.values())
    for level in levels:
        given = level.options(benchmark)
        for option in given:
            if option not in (anywhere if level.has_table else known[benchmark]):
                close = get_close_matches(option, anywhere, 1)
                hint = f"did you mean {close[0]}? " if close else ""
                raise ConfigurationError(
                    f"the level {level.name!r} of the factor {level.factor!r} has {option!r}, "
                    f"which is no option for the benchmark {benchmark}; {hint}Levels of any other "
                    f'factor are tables with options: {level.factor} = [{{{NAME} = "a", ...}}]'
                )
        # Of a table, each benchmark has the options of its own command.
        taken = {name: value for name, value in given.items() if name in known[benchmark]}
        if given and not taken:
            raise ConfigurationError(
                f"the level {level.name!r} of the factor {level.factor!r} has no option that the "
                f"benchmark {benchmark} takes: {', '.join(given)}; add one, or leave the cell out "
                f"by {SKIP} = [...]"
            )
        for name, value in taken.items():
            if name in own and (not isinstance(value, dict) or value.keys() & own[name]):
                raise ConfigurationError(
                    f"{name} is set by the level {level.name!r} of the factor {level.factor!r} and "
                    "by that of another factor; keep one of them"
                )
            own[name] = _joined(own.get(name), value)
    options = {k: v for k, v in shared.items() if k in known[benchmark] or k not in anywhere}
    options |= {name: _joined(options.get(name), value) for name, value in own.items()}
    parts = (each.part_of_name for each in sorted(levels, key=_place_in_name))
    return Cell("-".join(parts), {e.factor: e.name for e in levels}, options, frozenset(own))


def _joined(before: object, value: object) -> object:
    return {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value


def _place_in_name(level: Level) -> tuple[int, str]:
    """Order the parts of a name, so that another order of factors finds the same folders."""
    places = {SYSTEM: 0, "agent": 0, "agent_model": 1, "domain": 3, BENCHMARK: 4}
    return places.get(level.factor, 2), level.factor
