"""Code of your own, sent to workers as text: on another machine its files do not exist.

Sent are the modules that are imported when the run begins and belong neither to Python nor to an
installed package. In a worker they are imported from that text, whatever lies on its machine. What
stands in the program itself, or in a notebook, is pickled with the objects that use it.
"""

import hashlib
import os
import platform
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.core.storage.redaction import Secrets, environment_secrets, is_secret

# Every machine has its own, of the same version.
_EVERYWHERE = frozenset({"maseval", "ray", "__main__", "__mp_main__"})
_LARGEST = 5_000_000


class ModuleSource(NamedTuple):
    """The text of a module, and its path on the machine it comes from."""

    text: bytes
    path: str
    is_package: bool


def own_modules() -> dict[str, ModuleSource]:
    """Return the imported modules that no other machine can be expected to have."""
    found: dict[str, ModuleSource] = {}
    for name, module in tuple(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] in _EVERYWHERE or not str(file or "").endswith(".py"):
            continue
        path = Path(str(file))
        place = path.resolve() if path.is_symlink() else path
        if not is_installed(place.parent) and path.is_file():
            text = path.read_bytes()
            if len(text) <= _LARGEST:
                found[name] = ModuleSource(text, str(path), hasattr(module, "__path__"))
    return found


_INSTALLED = ("stdlib", "platstdlib", "purelib", "platlib")


@cache  # of hundreds of modules in a few folders
def is_installed(folder: Path) -> bool:
    """Return True if modules in this folder are Python's or a package's, and nobody's own."""
    places = (folder.resolve() / "module").parents
    # An environment may use packages of another one.
    return not {"site-packages", "dist-packages"}.isdisjoint(place.name for place in places) or any(
        Path(sysconfig.get_path(name)).resolve() in places for name in _INSTALLED
    )


def install(modules: Mapping[str, ModuleSource], folders: Sequence[str]) -> None:
    """Let these modules be imported in this process, and what lies in folders that exist here."""
    sys.path.extend(one for one in folders if one not in sys.path and Path(one).is_dir())
    sys.meta_path[:] = [one for one in sys.meta_path if not isinstance(one, _Finder)]
    sys.meta_path.insert(0, _Finder(modules))


class _Finder(MetaPathFinder):
    def __init__(self, modules: Mapping[str, ModuleSource]) -> None:
        self._modules = modules
        # Folders without __init__.py are packages as well.
        self._around = {
            name.rsplit(".", depth)[0]
            for name in modules
            for depth in range(1, name.count(".") + 1)
        }

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in self._modules:
            source = self._modules[name]
            return spec_from_loader(name, _Loader(source), is_package=source.is_package)
        if name in self._around:
            return ModuleSpec(name, None, is_package=True)
        return None


class _Loader(SourceLoader):
    """Loads one module from its text; tracebacks name the file it comes from."""

    def __init__(self, source: ModuleSource) -> None:
        self._source = source

    def get_filename(self, fullname: str) -> str:
        return self._source.path

    def get_data(self, path: str | bytes) -> bytes:
        if path != self._source.path:  # compiled code: there is none
            raise FileNotFoundError(path)
        return self._source.text

    def is_package(self, fullname: str) -> bool:
        return self._source.is_package


_PACKAGE = sys.modules["maseval"]


class NodeMismatchError(ConfigurationError):
    """A machine of the cluster has another maseval, another Python or other data."""


@cache
def code_facts() -> dict[str, str]:
    """Return the code that this process runs: versions, and a hash of maseval's own.

    A version says little of a checkout.
    """
    home, digest = Path(str(_PACKAGE.__file__)).parent, hashlib.sha256()
    for path in sorted(home.rglob("*.py")):
        digest.update(path.relative_to(home).as_posix().encode() + b"\0" + path.read_bytes())
    version = f"{_PACKAGE.__version__} (code {digest.hexdigest()[:12]})"
    return {"Python": ".".join(platform.python_version_tuple()[:2]), "maseval": version}


def check_same(node: str, theirs: Mapping[str, str], ours: Mapping[str, str], way: str) -> None:
    """Raise unless a machine has the code, or the data, that is used here."""
    for name in sorted({*theirs, *ours}):
        there, here = theirs.get(name, "(none)"), ours.get(name, "(none)")
        if there != here:
            text = f"node {node} is refused: {name} is {there} there and {here} here; {way}"
            raise NodeMismatchError(text)


_ADDRESSES = ("_BASE_URL", "_API_BASE", "_ENDPOINT", "_API_VERSION")


def needed_by_workers(more: Iterable[str] = ()) -> dict[str, str]:
    """Return the variables whose names say that they are secrets or addresses, and those named."""
    wanted = frozenset(more)

    def travels(name: str, value: str) -> bool:
        # Ray's own token opens the cluster of this machine, not that of another.
        is_key = not name.startswith("RAY_") and is_secret(name, value)
        return name in wanted or name.endswith(_ADDRESSES) or is_key

    return {name: value for name, value in os.environ.items() if travels(name, value)}


def own_secrets(given: Mapping[str, str]) -> Secrets:
    """Return the secrets of this machine, beside those that were sent to it."""
    sent = given.values()
    return Secrets(value for value in environment_secrets() if value not in sent)
