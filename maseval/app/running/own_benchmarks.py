"""A benchmark of your own, and where its tasks come from.

``maseval run shopping.py:Shopping`` makes it once. It is a subclass of ``Benchmark``, a function
that returns one, or one that is made already.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from maseval.app.running.options import ExtraArguments
from maseval.app.running.own_code import (
    OwnCode,
    load_module,
    member_of,
    named,
    source_sha256,
    title_of,
    way_out,
)
from maseval.app.running.run_options import AnyBenchmark
from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import ProgressBarCallback
from maseval.core.exceptions import ConfigurationError, MASEvalError

Maker = Callable[..., Benchmark]


class BenchmarkImportError(ConfigurationError):
    """The benchmark, or what it needs, cannot be found, loaded or made."""


_FORM = "my_benchmark.py:MyBenchmark or package.module:MyBenchmark"
_BENCHMARK = OwnCode("benchmark", "benchmark", _FORM, BenchmarkImportError)


@dataclass(frozen=True)
class OwnBenchmark:
    """A benchmark with the module it was found in, and how a run calls it."""

    benchmark: Benchmark
    home: ModuleType | None
    name: str
    source_sha256: str | None

    @classmethod
    def of(cls, given: AnyBenchmark, arguments: ExtraArguments) -> "OwnBenchmark":
        """The benchmark that was named or given, made with ``arguments``."""
        found, home = _found(given)
        code = type(found) if isinstance(found, Benchmark) else found
        benchmark = _without_bar(_made(found, arguments))
        return cls(benchmark, home or _module_of(code), _name_of(code), source_sha256(code))

    def to_config(self) -> dict[str, object]:
        """For the run's configuration: another version of the code is another benchmark."""
        return {"benchmark": self.name, "source_sha256": self.source_sha256}


def _found(given: AnyBenchmark) -> tuple[Benchmark | Maker, ModuleType | None]:
    if not isinstance(given, str):
        return _checked(given), None
    place, colon, name = given.rpartition(":")
    home = load_module(place if colon else given, _BENCHMARK)
    found = member_of(home, name, place, _BENCHMARK) if colon else _only_one(home, given)
    return _checked(found), home


def _checked(found: object) -> Benchmark | Maker:
    if isinstance(found, Benchmark):
        return found
    if isinstance(found, type) and not issubclass(found, Benchmark):
        raise BenchmarkImportError(
            f"{found.__name__} is not a Benchmark; derive it from maseval.Benchmark"
        )
    if not callable(found):
        raise BenchmarkImportError(
            f"{found!r} is not a benchmark; name a subclass of maseval.Benchmark, "
            "a function that returns one, or a benchmark that is made already"
        )
    if missing := getattr(found, "__abstractmethods__", None):
        raise BenchmarkImportError(
            f"{_name_of(found)} is abstract: it has no {', '.join(sorted(missing))}; "
            "write a subclass that has, and name that"
        )
    return found


def _only_one(home: ModuleType, place: str) -> object:
    """The benchmark of a file that has one."""
    found = [name for name, value in vars(home).items() if _is_own(value, home)]
    if len(found) == 1:
        return getattr(home, found[0])
    there = f"there are {', '.join(found)}" if found else "it defines none"
    raise BenchmarkImportError(f"which benchmark of {place}? {there}; write it like {_FORM}")


def _is_own(value: object, home: ModuleType) -> bool:
    if isinstance(value, Benchmark):
        return True
    if not isinstance(value, type) or not issubclass(value, Benchmark):
        return False
    within = f"{value.__module__}.".startswith(f"{home.__name__}.")
    return within and not inspect.isabstract(value)


def _made(found: Benchmark | Maker, arguments: ExtraArguments) -> Benchmark:
    if isinstance(found, Benchmark):
        if arguments:
            raise ConfigurationError(
                f"set has {next(iter(arguments))!r}, but the benchmark is made already; "
                "name its class, or a function that makes it"
            )
        return found
    made = call_with(found, arguments, "set")
    if not isinstance(made, Benchmark):
        raise BenchmarkImportError(f"{named(found)} returned {made!r}; it must return a Benchmark")
    return made


def call_with(function: Callable[..., object], arguments: Mapping[str, Any], option: str) -> object:
    """What a function of somebody's own returns; ``option`` is where its arguments come from."""
    try:
        signature = inspect.signature(function)
        signature.bind(**arguments)
    except TypeError as error:
        takes = ", ".join(signature.parameters) or "nothing"
        way = f"give them with --{option.replace('_', '-')} ({option}=...)"
        raise ConfigurationError(
            f"{named(function)} cannot be called: {error}; it takes {takes}: {way}"
        ) from None
    try:
        return function(**arguments)
    except MASEvalError:
        raise
    except Exception as error:  # somebody's own code, which may fail in any way
        why = f"{type(error).__name__}: {error}"
        raise BenchmarkImportError(f"{named(function)} failed: {why}{way_out(error)}") from error


def _without_bar(benchmark: Benchmark) -> Benchmark:
    """Progress is shown by whoever runs it."""
    bars = [one for one in benchmark.callbacks if isinstance(one, ProgressBarCallback)]
    for bar in bars:
        benchmark.callbacks.remove(bar)
    return benchmark


def _name_of(code: Maker) -> str:
    """``package.module:Name``, or the file's name if it was loaded from a file."""
    module = str(getattr(code, "__module__", ""))
    return f"{module}:{title_of(code)}" if "." in module else named(code)


def _module_of(code: Maker) -> ModuleType | None:
    return sys.modules.get(getattr(code, "__module__", ""))
