"""The options of ``maseval NAME run``: those of ``maseval run``, and the benchmark's own.

Its class says what they are: each parameter that ``Benchmark`` has not is an option, described by
the ``Args`` of the class, and so is each key of its ``AGENT_DATA``.
"""

import collections.abc
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields, make_dataclass
from types import NoneType
from typing import Any, get_args, get_origin

from maseval.app.running.options import PARTICIPANTS, option
from maseval.app.running.run import AGENT_DATA, own_parameters
from maseval.app.running.run_options import MADE, BenchmarkRunOptions
from maseval.core.benchmark import Benchmark

_Field = tuple[str, Any, Any]


def named_options(benchmark: type[Benchmark]) -> type[BenchmarkRunOptions]:
    """Return the options of runs of a benchmark, as keywords and on the command line."""
    made, told = list(_of_class(benchmark)), list(_of_agents(benchmark))
    names, keys = ([name for name, *_ in some] for some in (made, told))

    def put_together(self: Any) -> None:
        for where, its in (("set", names), ("agent_data", keys)):
            own = {name: getattr(self, name) for name in its}
            # What was not given is left to the defaults of the benchmark.
            given = {name: each for name, each in own.items() if each not in (None, [], ())}
            # Frozen from now on; this is still part of its making.
            object.__setattr__(self, where, {**given, **(getattr(self, where) or {})} or None)
        BenchmarkRunOptions.__post_init__(self)

    return make_dataclass(
        f"{benchmark.__name__}Options",
        [*made, *told, ("benchmark", Any, benchmark)],
        bases=(BenchmarkRunOptions,),
        namespace={"__post_init__": put_together},
        frozen=True,
        kw_only=True,
    )


_TAKEN = frozenset(each.name for each in fields(BenchmarkRunOptions))


def _of_class(benchmark: type[Benchmark]) -> Iterator[_Field]:
    from docstring_parser import DocstringStyle, parse  # help of our own commands must not load it

    described = parse(inspect.getdoc(benchmark) or "", style=DocstringStyle.GOOGLE).params
    helps = {each.arg_name: (each.description or "").rstrip(".") for each in described}
    for name, each in own_parameters(benchmark).items():
        if (kind := _kind(each.annotation)) is not None and name not in _TAKEN:
            yield _field(name, kind, helps.get(name, f"Argument of {benchmark.__name__}"), MADE)


def _of_agents(benchmark: type[Benchmark]) -> Iterator[_Field]:
    usual: Mapping[str, object] = getattr(benchmark, AGENT_DATA, {})
    for name, value in usual.items():
        kind = str if value is None else _kind(type(value))
        if kind is not None and name not in _TAKEN:
            known = "" if value is None else f" (default: {value})"
            yield _field(name, kind, f"{name} of the agents{known}", PARTICIPANTS)


def _field(name: str, kind: Any, help: str, panel: str) -> _Field:
    return name, kind | None, option(None, help, panel, typed=kind)


def _kind(annotation: Any) -> Any:
    """Return what is typed for a parameter, None if it cannot be typed."""
    some = [each for each in get_args(annotation) if each is not NoneType]
    if annotation in (str, int, float, bool):
        return annotation
    if get_origin(annotation) in (list, tuple, collections.abc.Sequence) and some[:1] == [str]:
        return list[str]
    return _kind(some[0]) if len(some) == 1 else None
