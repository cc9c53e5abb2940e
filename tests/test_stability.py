"""The published list of stable modules: it is true, and the documentation keeps to it."""

import re
from importlib import import_module
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
PAGE = CHECKOUT / "docs" / "stability.md"
FRAMEWORKS = re.compile(r"`([a-z_]+)`")
IMPORT = re.compile(r"^\s*(?:from|import) (maseval[\w.]*)", re.MULTILINE)
# Pages about the insides, and about the names that MASEval had.
ABOUT_OTHER_NAMES = {"docs/migrating.md", "docs/architecture.md"}


def stable_modules() -> set[str]:
    """Return the modules that the page lists, with those of the API reference written out."""
    table = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:3] == "| `"]
    found: set[str] = set()
    for line in table:
        _, modules, hold, _ = line.split("|")
        for module in re.findall(r"`(maseval[\w.*]*)`", modules):
            package, _, last = module.rpartition(".")
            if last == "*":
                pages = (CHECKOUT / "docs" / "api").glob("*.md")
                found |= {name for page in pages for name in documented_on(page)}
            elif last == "NAME":
                found |= {f"{package}.{name}" for name in FRAMEWORKS.findall(hold)}
            else:
                found.add(module)
    return found


def documented_on(page: Path) -> set[str]:
    """Return the modules that a page of the API reference describes, and their packages."""
    modules = set(re.findall(r"^::: (maseval\.core[\w.]*)", page.read_text(encoding="utf-8"), re.M))
    return modules | {name.rpartition(".")[0] for name in modules if name.count(".") > 2}


def pages() -> list[Path]:
    """Return everything that shows users what to import."""
    written = [CHECKOUT / "README.md", *(CHECKOUT / "docs").rglob("*.md")]
    examples = [*(CHECKOUT / "examples").rglob("*.py")]
    skeletons = [*(CHECKOUT / "maseval").rglob("skeletons/**/*.py.txt")]
    return [path for path in (*written, *examples, *skeletons) if path.is_file()]


def test_every_stable_module_is_there():
    foreign = (".interface.agents.", ".verifiers")  # whose libraries have environments of their own
    own = {name for name in stable_modules() if not any(each in name for each in foreign)}

    assert len(own) > 30
    for name in sorted(own):
        import_module(name)


@pytest.mark.parametrize("name", sorted(n for n in stable_modules() if "interface.agents." in n))
def test_every_framework_has_its_module(name):
    folder = CHECKOUT / name.replace(".", "/")

    assert folder.with_suffix(".py").is_file() or (folder / "__init__.py").is_file()


def test_the_documentation_imports_stable_modules_only():
    stable = stable_modules()
    wrong = {
        (str(path.relative_to(CHECKOUT)), name)
        for path in pages()
        for name in IMPORT.findall(path.read_text(encoding="utf-8"))
        if name not in stable and str(path.relative_to(CHECKOUT)) not in ABOUT_OTHER_NAMES
    }

    assert wrong == set()
