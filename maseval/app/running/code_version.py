"""The code of an experiment: every file of one's own that takes part, with its hash.

A run is one configuration and one state of all code that is not a published distribution. From the
files that were named, import statements lead to all others, also those that are executed later or
in another process. So the same files are found in every session. A file counts by its syntax tree:
comments, layout and docstrings are no change of code. The docstring of a decorated function is,
because frameworks make the description of a tool out of it, which a model reads.

``parts`` has a hash of what makes the agents, the environment, the user and the evaluators: of the
methods that do, and of all definitions that their names lead to.
"""

import ast
import hashlib
import importlib
import inspect
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial
from importlib import metadata
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

from maseval.core.engine.own_modules import is_installed
from maseval.core.recorded import mapping

_PARTS = {
    "agents": ("setup_agents",),
    "environment": ("setup_environment",),
    "user": ("setup_user",),
    "evaluator": ("setup_evaluators", "evaluate"),
}
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_DEFINITIONS = _FUNCTIONS | ast.ClassDef
# What a tree holds beside the code: u"" is the same text as "".
_NO_CODE = frozenset({"kind", "type_comment"})


def code_of(
    *things: object, benchmark: object = None, judges: Sequence[type] = ()
) -> dict[str, dict[str, str]]:
    """Return the ``code`` of a run's configuration.

    ``things`` are classes, functions, objects and files whose code takes part. Of a ``benchmark``
    the parts are told apart; without one, ``judges`` are the classes that decide verdicts.
    """
    importlib.invalidate_caches()  # what was written since this process began counts too
    # A file may be edited between two runs of one process, such as a notebook.
    _source.cache_clear()
    given = {} if benchmark is None else vars(benchmark)
    # What the benchmark was given counts as well, such as a class of agents as an argument.
    every = [*things, *judges, *inspect.getmro(type(benchmark)), *given.values()]
    files, modules = _closure(home for thing in every if (home := source_of(thing)) is not None)
    code = {
        "files": {name: _source(file).hash for name, file in _short_names(files).items()},
        "distributions": {name: found for name in modules if (found := _version(name)) is not None},
    }
    if benchmark is not None:
        code["parts"] = {
            name: _Part(type(benchmark), methods=methods, given=given).hash
            for name, methods in _PARTS.items()
        }
    elif own := [each for each in judges if _body(each)]:
        code["parts"] = {"evaluator": _Part(*own).hash}
    return {name: part for name, part in code.items() if part}


# The files that a file opened when it was loaded: executed, or read like a prompt.
_opened_by: dict[Path, list[Path]] = {}
_LARGEST = 5_000_000


def note_opened(file: Path, opened: dict[str, None]) -> None:
    """Let files that another one opened while it was loaded count as a part of it."""
    place = file.resolve()
    folder, files = file.absolute().parent, [*map(Path, [*opened])]
    found = [each.resolve() for each in files if each.is_relative_to(folder) and each.is_file()]
    if found or place not in _opened_by:  # imported before, it opens nothing
        _opened_by[place] = [
            each
            for each in found
            # What Python has compiled lies beside its source, which counts by its imports.
            if "__pycache__" not in each.parts and each.stat().st_size <= _LARGEST
        ]


def executed_beside(code: object, opened: dict[str, None]) -> dict[str, str]:
    """Return the Python files of the project that were opened, and are not in a run's ``code``."""
    known = mapping(mapping(code).get("files"))
    # Tracebacks open the files of modules, too.
    loaded = {getattr(each, "__file__", None) for each in [*sys.modules.values()]}
    found = {Path(each).resolve() for each in [*opened] if each.endswith(".py")}
    own = (each for each in found if str(each) not in loaded and _is_own(each))
    named = _short_names(sorted(own))
    return {name: _digest(file.read_bytes()) for name, file in named.items() if name not in known}


def source_of(thing: object) -> Path | None:
    """Return the file that holds the code of a class, a function or an object."""
    if isinstance(thing, Path):
        return thing
    while isinstance(thing, partial):
        thing = thing.func
    known = isinstance(thing, type) or inspect.isroutine(thing)
    code: object = inspect.unwrap(thing) if callable(thing) and known else type(thing)
    try:
        file = inspect.getsourcefile(code)  # type: ignore[arg-type]
    except TypeError:
        return None
    # Code that was typed or made by exec() has a name like <stdin>, and no file.
    return Path(file) if file and not file.startswith("<") else None


def _is_own(file: Path) -> bool:
    """Return True for code that may change while its version stays."""
    if not file.is_file() or file.is_relative_to(MASEVAL):
        return False
    installed = is_installed(file.parent)
    return not installed or any(file.is_relative_to(place) for place in _local_installs())


MASEVAL = Path(str(sys.modules["maseval"].__file__)).resolve().parent


@cache
def _local_installs() -> frozenset[Path]:
    """Return the places of packages that were installed from a folder, not from an index."""
    places = set()
    for note in (each for path in sys.path for each in Path(path).glob("*/direct_url.json")):
        try:
            local = "dir_info" in json.loads(note.read_bytes())
        except (OSError, ValueError):
            continue
        files = metadata.PathDistribution(note.parent).files if local else None
        places |= {note.parents[1].resolve() / each.parts[0] for each in files or ()}
    return frozenset(places)


@cache
def _version(module: str) -> str | None:
    """Return the version of the distribution that a module belongs to; None if there is none."""
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(module)
    names = metadata.packages_distributions().get(module)  # takes seconds
    return metadata.version(names[0]) if names else None


class _Target(NamedTuple):
    """The thing an import binds a name to: a module, or a member of it; ``top`` is its package."""

    top: str
    spec: ModuleSpec | None
    member: str | None = None


class _Source:
    """A file of code, which may be compiled; one without a tree counts byte by byte."""

    def __init__(self, file: Path) -> None:
        self.file, content = file, file.read_bytes()
        try:
            self.tree = ast.parse(content)
            self.hash = _digest(_describe(self.tree).encode())
        # Compiled files and code for another Python count byte by byte.
        except (SyntaxError, ValueError, RecursionError):
            self.tree, self.hash = ast.Module([], []), _digest(content)

    def imports(self, within: ast.AST) -> Iterator[tuple[str, _Target]]:
        """Yield what import statements anywhere in a node bind, by the name there."""
        for node in ast.walk(within):
            if isinstance(node, ast.Import):
                for each in node.names:
                    top = each.name.partition(".")[0]
                    # `import a.b` executes a.b but binds a: the first takes part without a name.
                    yield each.asname or "", _Target(top, _find(each.name))
                    yield each.asname or top, _Target(top, _find(each.name if each.asname else top))
            elif isinstance(node, ast.ImportFrom):
                folder = [str(self.file.parents[node.level - 1])] if node.level else None
                top = "" if folder else str(node.module).partition(".")[0]
                home = _find(node.module or "", folder)
                for each in node.names:
                    yield each.asname or each.name, _member(top, home, each.name, folder)
            elif isinstance(node, ast.Call) and (name := _imported_by_call(node)):
                yield "", _Target(name.partition(".")[0], _find(name))

    @cached_property
    def imported(self) -> list[tuple[str, _Target]]:
        return list(self.imports(self.tree))

    @cached_property
    def bindings(self) -> list[tuple[str, ast.stmt]]:
        """The statements that are executed when the file is, by the names they bind."""
        return list(_bindings(self.tree.body))


def _bindings(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    for each in body:
        if isinstance(each, _DEFINITIONS):
            yield each.name, each
            continue
        for node in ast.walk(each):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id, each
            elif isinstance(node, _DEFINITIONS):  # in an if or try
                yield node.name, node


def _imported_by_call(node: ast.Call) -> str | None:
    # Called by its name alone, or as a member of ``importlib``.
    called = getattr(node.func, "attr", getattr(node.func, "id", None))
    if called not in ("import_module", "__import__") or not node.args:
        return None
    # A name that begins with a dot is relative to a package that is known only when it runs.
    name = getattr(node.args[0], "value", None)
    return name if isinstance(name, str) and not name.startswith(".") else None


def _find(name: str, places: Sequence[str] | None = None) -> ModuleSpec | None:
    """Find a module without executing anything; ``places`` are folders in place of the path."""
    spec = None
    for part in filter(None, name.split(".")):
        try:
            spec = find_spec(part) if places is None else PathFinder.find_spec(part, [*places])
        except (ImportError, ValueError, AttributeError):  # a module that is made by hand
            return None
        if spec is None:
            return None
        places = spec.submodule_search_locations or []
    return spec


def _member(top: str, home: ModuleSpec | None, name: str, folder: Sequence[str] | None) -> _Target:
    places = home.submodule_search_locations if home else folder
    below = PathFinder.find_spec(name, [*places]) if places else None
    return _Target(top, home, name) if below is None else _Target(top, below)


def _file_of(spec: ModuleSpec | None) -> Path | None:
    """Return the file of a module that is one's own."""
    if spec is None or not spec.origin or not spec.has_location:
        return None
    file = Path(spec.origin).resolve()
    return file if _is_own(file) else None


_source = cache(_Source)


def _closure(roots: Iterable[Path]) -> tuple[list[Path], list[str]]:
    """Return all own files that the roots lead to, and the other packages they import."""
    waiting = [root for file in roots if _is_own(root := file.resolve())]
    files, packages = set[Path](), set[str]()
    # Most runs have no code of anybody's own.
    loaded = {
        Path(file).resolve(): module
        for module in ([*sys.modules.values()] if waiting else ())
        if (file := getattr(module, "__file__", None))
    }
    while waiting:
        file = waiting.pop()
        if file in files or not _is_own(file):
            continue
        files.add(file)
        waiting += [*_packages_around(file), *_opened_by.get(file, ())]
        source = _source(file)
        for _, target in source.imported:
            own = _file_of(target.spec)
            waiting += [own] if own else []
            if own is None and target.spec is not None:
                packages.add(target.top)
        # A module may get names by hand, of which no import statement tells.
        waiting += _homes_of_members(loaded[file]) if file in loaded else []
    return sorted(files), sorted(packages - {"", "maseval", *sys.stdlib_module_names})


def _packages_around(file: Path) -> list[Path]:
    # An import executes the packages around a module before the module.
    return [*takewhile(Path.is_file, (folder / "__init__.py" for folder in file.parents))]


def _homes_of_members(module: ModuleType) -> Iterator[Path]:
    """Yield the files that members of a loaded module come from, however it got them."""
    for value in [*vars(module).values()]:
        name = getattr(value, "__name__" if isinstance(value, ModuleType) else "__module__", None)
        file = getattr(sys.modules.get(str(name)), "__file__", None)
        if file:
            yield Path(file).resolve()


def _short_names(files: Sequence[Path]) -> dict[str, Path]:
    """Name files as they are imported, which is the same wherever the project lies."""
    names = {file: len(_packages_around(file)) + 1 for file in files}
    # Files of the same name get one more folder each, until all names differ.
    while len(found := {"/".join(f.parts[-depth:]): f for f, depth in names.items()}) < len(files):
        names = {file: depth + 1 for file, depth in names.items()}
    return found


def _describe(value: object) -> str:
    """Write a syntax tree down, in the same way with every version of Python."""
    if isinstance(value, list):
        return f"[{','.join(map(_describe, value))}]"
    if not isinstance(value, ast.AST):
        return repr(value)
    fields = dict(ast.iter_fields(value))
    described = isinstance(value, _FUNCTIONS) and value.decorator_list
    if isinstance(value, ast.Module | _DEFINITIONS) and not described:
        # True counts as 1: where the first statement is a docstring, it is left out.
        fields["body"] = value.body[ast.get_docstring(value, clean=False) is not None :]
    # Newer versions of Python add fields to their nodes; empty ones are no difference.
    told = (
        f"{name}={_describe(each)}"
        for name, each in fields.items()
        if each is not None and each != [] and name not in _NO_CODE
    )
    return f"{type(value).__name__}({','.join(told)})"


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]


class _Part:
    """The definitions that classes lead to, or some methods, whatever their files are called."""

    def __init__(
        self,
        *classes: type,
        methods: Iterable[str] = (),
        given: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        self._classes = [each for one in classes for each in inspect.getmro(one)]
        self._given = given
        self._found: dict[object, str] = {}
        self._waiting: list[tuple[_Source, ast.AST, type | None]] = []
        for name in methods:
            self._attribute(name)
        if not methods:
            self._waiting += [(*found, None) for each in self._classes for found in _body(each)]
        while self._waiting:
            self._follow(*self._waiting.pop())

    @property
    def hash(self) -> str:
        # Sorted: definitions that only changed places are no change of code.
        return _digest("\n".join(sorted({*self._found.values()} - {""})).encode())

    def _attribute(self, name: str, after: type | None = None) -> None:
        """Add what the benchmark's classes say of one of its attributes, and what was given."""
        value = self._given.get(name)
        code = value if isinstance(value, type) or inspect.isfunction(value) else type(value)
        self._waiting += [(*found, None) for found in _body(code)]
        # As in Python, super() looks only behind the class that it stands in.
        for each in self._classes[self._classes.index(after) + 1 if after else 0 :]:
            body, defined = _body(each), name in vars(each)
            for source, node in body:
                inside = _bindings(node.body) if defined else _set_attributes(node)
                self._waiting += [(source, found, each) for key, found in inside if key == name]
            if defined:
                if not body:  # the code of a distribution
                    top = each.__module__.partition(".")[0]
                    version = None if top == "maseval" else _version(top)
                    self._name(f"{each.__module__}:{each.__qualname__}.{name} {version}")
                return

    def _name(self, text: str) -> None:
        self._found[text] = text

    def _follow(self, source: _Source, node: ast.AST, owner: type | None) -> None:
        """Add a definition, and whatever its names stand for."""
        # Definitions may use each other.
        if node in self._found:
            return
        self._found[node] = _digest(_describe(node).encode())
        local = dict(source.imports(node))
        for name, *rest in _names_in(node):
            if owner is not None and rest and name in ("self", "super()"):
                self._attribute(rest[0], owner if name == "super()" else None)
            elif name in local:
                self._target(local[name], rest)
            else:
                self._global(source, name, rest)

    def _global(self, source: _Source, name: str, rest: Sequence[str]) -> None:
        """Add what a name stands for in a file."""
        if (source, name, *rest) in self._found:  # files may import from each other
            return
        self._found[source, name, *rest] = ""
        nodes = [node for key, node in source.bindings if key == name]
        self._waiting += [(source, node, None) for node in nodes]
        for key, target in source.imported:
            if key == name:
                self._target(target, rest)
            # A star may bring any name that the file itself does not bind.
            elif key == "*" and not nodes and (file := _file_of(target.spec)):
                self._global(_source(file), name, rest)

    def _target(self, target: _Target, rest: Sequence[str]) -> None:
        spec, chain = target.spec, [*filter(None, [target.member]), *rest]
        while chain and spec and spec.submodule_search_locations:
            below = PathFinder.find_spec(chain[0], [*spec.submodule_search_locations])
            if below is None:
                break
            spec, chain = below, chain[1:]
        file = _file_of(spec)
        if file is None:
            if target.top not in sys.stdlib_module_names:
                self._name(f"{target.top}:{'.'.join(chain)}")
        elif chain:
            self._global(_source(file), chain[0], chain[1:])
        else:  # the module as a whole
            for each in _closure([file])[0]:
                self._name(_source(each).hash)


def _body(which: Any) -> list[tuple[_Source, Any]]:
    """Return the definition of a class or function of one's own; nothing for any other."""
    file = source_of(which)
    if file is None or not _is_own(file.resolve()):
        return []
    source, name = _source(file.resolve()), which.__name__
    nodes = (node for node in ast.walk(source.tree) if isinstance(node, _DEFINITIONS))
    return [(source, node) for node in nodes if node.name == name]


def _set_attributes(node: ast.ClassDef) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the statements of a class that set attributes of its objects, by their names."""
    for each in ast.walk(node):
        if isinstance(each, ast.Assign | ast.AnnAssign):
            for one in each.targets if isinstance(each, ast.Assign) else [each.target]:
                if isinstance(one, ast.Attribute) and getattr(one.value, "id", None) == "self":
                    yield one.attr, each


def _names_in(node: ast.AST) -> Iterator[list[str]]:
    """Yield the names in a node with the attributes behind them; without types of parameters."""
    chain, inner = list[str](), node
    while isinstance(inner, ast.Attribute):
        chain, inner = [inner.attr, *chain], inner.value
    if isinstance(inner, ast.Name):
        yield [inner.id, *chain]
    elif isinstance(inner, ast.Call) and getattr(inner.func, "id", None) == "super" and chain:
        yield ["super()", *chain]
    else:
        for field, value in ast.iter_fields(inner):
            if field in ("annotation", "returns") and isinstance(inner, ast.arg | _FUNCTIONS):
                continue
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST):
                    yield from _names_in(each)
