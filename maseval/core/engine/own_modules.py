"""Code of your own, which other processes must find: on another machine its files do not exist.

It is the modules that are imported when a run begins and belong neither to Python nor to an
installed package. What stands in the program itself, or in a notebook, is pickled with the objects
that use it.
"""

import sys
import sysconfig
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

# Every process has its own.
_EVERYWHERE = frozenset({"maseval", "ray", "__main__", "__mp_main__"})
_PACKAGE = "__init__.py"


def own_modules() -> dict[str, str]:
    """Return the files of the imported modules that nobody else can be expected to have."""
    found: dict[str, str] = {}
    for name, module in tuple(sys.modules.items()):
        file = str(getattr(module, "__file__", None) or "")
        if name.partition(".")[0] in _EVERYWHERE or not file.endswith(".py"):
            continue
        path = Path(file)
        # A link in a project may lead into an installed package, and the other way round.
        place = path.resolve() if path.is_symlink() else path
        if not is_installed(place.parent) and path.is_file():
            found[name] = file
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


def copy_modules(modules: Mapping[str, str], folder: Path) -> None:
    """Copy modules to where they can be imported by their names, for a machine without them."""
    for name, file in modules.items():
        place = folder.joinpath(*name.split("."))
        is_package = Path(file).name == _PACKAGE
        target = place / _PACKAGE if is_package else place.with_suffix(".py")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(Path(file).read_bytes())


def find_modules(modules: Mapping[str, str], folders: Sequence[str]) -> None:
    """Let this process import what another one of this machine has imported, from these files."""
    # Behind its own, by which this process has imported already.
    sys.path.extend(
        folder for folder in folders if folder not in sys.path and Path(folder).is_dir()
    )
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    sys.meta_path.append(_Finder(modules))


class _Finder(MetaPathFinder):
    """Finds a module that does not lie where its name says, like the file that an option names."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        file = self._modules.get(name)
        return spec_from_file_location(name, file) if file and Path(file).is_file() else None
