"""Code of your own that an option names: ``file.py:name`` or ``package.module:name``."""

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, TypeVar

from maseval.app.running.code_version import MASEVAL, note_opened, source_of
from maseval.app.running.opened_files import opened_files
from maseval.core.engine.own_modules import is_installed
from maseval.core.exceptions import ConfigurationError

T = TypeVar("T")


class OwnCode(NamedTuple):
    """A kind of code to load: its option, its noun, and the form of its name."""

    option: str
    noun: str
    form: str


def load_named(reference: str, what: OwnCode) -> object:
    place, name = split_reference(reference, what)
    return member_of(load_module(place, what), name, place, what)


def split_reference(reference: str, what: OwnCode) -> tuple[str, str]:
    place, _, name = reference.rpartition(":")
    if not place or not name:
        raise ConfigurationError(f"{what.option} is {reference!r}; write it like {what.form}")
    return place, name


def member_of(module: ModuleType, name: str, place: str, what: OwnCode) -> object:
    found: object = getattr(module, name, None)
    if found is None:
        every, home = vars(module), module.__name__
        own = [key for key in every if getattr(every[key], "__module__", None) == home]
        # What the module defines is more likely meant than what it imports.
        alike = [near for names in (own, every) for near in get_close_matches(name, names, n=1)]
        hint = f"; did you mean {alike[0]!r}?" if alike else ""
        raise ConfigurationError(f"{place} has no {what.noun} {name!r}{hint}")
    is_class = isinstance(found, type)  # of benchmarks only those that are one are called
    if callable(found) and not ((is_class and what.noun == "benchmark") or _may_be_called(found)):
        raise ConfigurationError(
            f"{what.option} is '{place}:{name}', which was not written for maseval and is not "
            "called; name a subclass of maseval.Benchmark, or code in files of your own"
        )
    return found


def _may_be_called(thing: Callable[..., object]) -> bool:
    """Return True for benchmarks, and for code in the user's own files.

    A run file may come from anybody, and must not be able to call what it likes.
    """
    from maseval.core.benchmark import Benchmark  # help must not load it

    while isinstance(thing, partial):
        thing = thing.func
    if isinstance(thing, Benchmark) or (isinstance(thing, type) and issubclass(thing, Benchmark)):
        return True
    code = thing if hasattr(thing, "__qualname__") else type(thing)
    module = str(getattr(code, "__module__", ""))
    file = getattr(sys.modules.get(module), "__file__", None)
    place = Path(file).resolve() if file else None
    return bool(place and not is_installed(place.parent) and not place.is_relative_to(MASEVAL))


def load_module(place: str, what: OwnCode) -> ModuleType:
    return _file(Path(place), what) if place.endswith(".py") else _module(place, what)


def qualified_name(thing: Callable[..., object]) -> str:
    """Return ``file.py:function``, by which a run names the user's code."""
    file = source_of(thing)
    return f"{file.name}:{title_of(thing)}" if file else title_of(thing)


def title_of(thing: Callable[..., object]) -> str:
    return str(getattr(thing, "__qualname__", type(thing).__name__))


def _file(path: Path, what: OwnCode) -> ModuleType:
    if not path.is_file():
        raise ConfigurationError(f"there is no file {str(path)!r}")
    _make_importable(path.parent)
    # Under a name of its own: agents.py must not pass for the library `agents`.
    name = f"maseval_{what.option}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # it is a file, and named *.py
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pydantic look up their own module
    with opened_files() as opened:
        _load_or_raise(path.name, partial(spec.loader.exec_module, module), what)
    note_opened(path, opened)
    return module


def _module(name: str, what: OwnCode) -> ModuleType:
    _make_importable(Path.cwd())
    with opened_files() as opened:
        module = _load_or_raise(name, partial(importlib.import_module, name), what)
    if module.__file__:
        note_opened(Path(module.__file__), opened)
    return module


def _load_or_raise(name: str, load: Callable[[], T], what: OwnCode) -> T:
    try:
        return load()
    except ConfigurationError:
        raise
    # A script that ends with sys.exit() when it is imported must not end this command.
    except (Exception, SystemExit) as error:
        why = f"{type(error).__name__}: {error}"
        unknown = isinstance(error, ModuleNotFoundError) and error.name == name.partition(".")[0]
        way = f"; write it like {what.form}" if unknown else way_out(error)
        raise ConfigurationError(f"cannot load the {what.option} in {name}: {why}{way}") from error


# The extra of maseval that brings a module.
_EXTRAS = {
    **{name: name for name in ("smolagents", "langgraph", "camel", "mcp", "openai", "anthropic")},
    **{"langchain": "langgraph", "langchain_openai": "langgraph", "llama_index": "llamaindex"},
    **{"agents": "openai-agents", "pydantic_ai": "pydantic-ai", "google": "google-genai"},
}


def way_out(error: BaseException) -> str:
    """Return advice about code that cannot be loaded, as the end of a sentence; may be empty."""
    module = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if module in _EXTRAS:
        from maseval.interface.extras import how_to_install  # help must not load the interface

        return f". {how_to_install(_EXTRAS[module])}"
    if "relative import" in str(error):
        return "; name a module of a package like package.module:function"
    return ""


_importable = set[Path]()


def _make_importable(folder: Path) -> None:
    """Let the file import its neighbours, as it can when it is run by itself.

    The neighbours of a file that this process loaded before may have the same names.
    """
    place = folder.resolve()
    if place not in _importable and str(place) in sys.path:
        return  # somebody else put it there
    sys.path[:] = [str(place), *(each for each in sys.path if each != str(place))]
    # With a separator at the end: the folder `app` is no part of `apple`.
    before = tuple(f"{each}{os.sep}" for each in _importable)
    for name, module in list(sys.modules.items()):
        file, top = getattr(module, "__file__", None) or "", place / name.partition(".")[0]
        if file.startswith(before):
            here = Path(file) == top.with_suffix(".py") or Path(file).is_relative_to(top)
            if not here and (top.is_dir() or top.with_suffix(".py").is_file()):
                del sys.modules[name]
    _importable.add(place)
