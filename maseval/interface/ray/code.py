"""Code of your own, sent to workers as text: on another machine its files do not exist.

Sent are the modules that are imported when the run begins and belong neither to Python nor to an
installed package. In a worker they are imported from that text, whatever lies on its machine. What
stands in the program itself, or in a notebook, is pickled with the objects that use it.
"""

import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

# Every machine has its own, of the same version.
_EVERYWHERE = frozenset({"maseval", "ray", "__main__", "__mp_main__"})
_LARGEST = 5_000_000


class Source(NamedTuple):
    """The text of a module, and where it lies on the machine it comes from."""

    text: bytes
    path: str
    is_package: bool


def own_modules() -> dict[str, Source]:
    """The imported modules that no other machine can be expected to have."""
    return dict(_found(tuple(sys.modules.items())))


def _found(modules: Sequence[tuple[str, ModuleType]]) -> Iterator[tuple[str, Source]]:
    installed = {Path(sysconfig.get_path(name)).resolve() for name in _INSTALLED}
    for name, module in modules:
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] in _EVERYWHERE or not str(file or "").endswith(".py"):
            continue
        path = Path(str(file))
        if installed.isdisjoint(path.resolve().parents) and path.is_file():
            text = path.read_bytes()
            if len(text) <= _LARGEST:
                yield name, Source(text, str(path), hasattr(module, "__path__"))


_INSTALLED = ("stdlib", "platstdlib", "purelib", "platlib")


def install(modules: Mapping[str, Source], folders: Sequence[str]) -> None:
    """Let these modules be imported in this process, and what lies in folders that exist here."""
    sys.path.extend(one for one in folders if one not in sys.path and Path(one).is_dir())
    sys.meta_path[:] = [one for one in sys.meta_path if not isinstance(one, _Finder)]
    sys.meta_path.insert(0, _Finder(modules))


class _Finder(MetaPathFinder):
    """Finds modules that were sent, and the packages around them."""

    def __init__(self, modules: Mapping[str, Source]) -> None:
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

    def __init__(self, source: Source) -> None:
        self._source = source

    def get_filename(self, fullname: str) -> str:
        return self._source.path

    def get_data(self, path: str | bytes) -> bytes:
        if path != self._source.path:  # compiled code: there is none
            raise FileNotFoundError(path)
        return self._source.text

    def is_package(self, fullname: str) -> bool:
        return self._source.is_package
