import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import pytest

import maseval
from maseval.core import lazy
from maseval.core.lazy import find_entry_points

ROOT = Path(maseval.__file__).parent
STUBS = sorted(ROOT.rglob("*.pyi"))
PACKAGES = [stub for stub in STUBS if stub.stem == "__init__"]


def package_of(stub: Path) -> str:
    parts = stub.with_suffix("").relative_to(ROOT.parent).parts
    return ".".join(parts).removesuffix(".__init__")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A package with a function, a class and a submodule, each in a module of its own."""
    room = tmp_path / "corner_shop"
    room.mkdir()
    (room / "till.py").write_text("def pay(): return 'paid'\n")
    (room / "shelf.py").write_text("class Tin: ...\n")
    (room / "cellar.py").write_text("DEPTH = 3\n")
    (room / "__init__.py").write_text(
        "from maseval.core import lazy\n__all__ = lazy.attach(__name__, __file__)\n"
    )
    (room / "__init__.pyi").write_text(
        "from corner_shop import cellar as cellar\n"
        "from corner_shop.shelf import Tin as Tin\n"
        "from corner_shop.till import pay as pay\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("corner_shop")
    for name in [name for name in sys.modules if name.split(".")[0] == "corner_shop"]:
        del sys.modules[name]


def test_a_module_is_loaded_when_a_name_of_it_is_used(shop):
    assert "corner_shop.till" not in sys.modules

    assert shop.pay() == "paid"

    assert "corner_shop.till" in sys.modules
    assert "corner_shop.shelf" not in sys.modules


def test_a_package_without_a_stub_is_found_out_at_import(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"__init__\.pyi"):
        lazy.attach("corner_shop", str(tmp_path / "__init__.py"))


@pytest.mark.parametrize("stub", STUBS, ids=package_of)
def test_every_name_of_a_stub_can_be_loaded(stub):
    package = import_module(package_of(stub))

    assert package.__all__
    assert [name for name in package.__all__ if not hasattr(package, name)] == []


@pytest.mark.parametrize("stub", PACKAGES, ids=package_of)
def test_a_name_stays_what_the_stub_says_once_a_submodule_of_that_name_is_loaded(stub):
    package = import_module(package_of(stub))
    submodules = {found.name for found in iter_modules(package.__path__)}

    for name in submodules & set(package.__all__):
        before = getattr(package, name)
        import_module(f"{package.__name__}.{name}")
        assert getattr(package, name) is before


@pytest.mark.parametrize("stub", STUBS, ids=package_of)
def test_importing_a_package_with_a_stub_loads_none_of_its_modules(stub):
    package = package_of(stub)
    program = (
        f"import sys, {package}\nprint([m for m in sys.modules if m.startswith('{package}.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    # What makes the rest lazy is loaded with the outermost package.
    needed = ["maseval.compat", "maseval.core", "maseval.core.lazy"] if package == "maseval" else []
    assert (done.stderr, done.stdout) == ("", f"{needed}\n")


GROUP = "maseval.fruits"


def install(folder: Path, name: str) -> None:
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {name}:MADE\n")


def offered_names() -> set[str]:
    return {found.name for found in find_entry_points(GROUP)}


def test_a_folder_that_is_added_to_the_path_brings_its_packages(tmp_path, monkeypatch):
    install(tmp_path, "apple")
    before = offered_names()
    monkeypatch.syspath_prepend(tmp_path)

    assert (before, offered_names()) == (set(), {"apple"})
