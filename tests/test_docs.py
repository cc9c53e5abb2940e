"""Every example in README and docs runs, and says what it says it does."""

import importlib.util
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import maseval.core
from tests.interface.libraries import needing

CHECKOUT = Path(__file__).parents[1]
PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```[ ]*$", re.M | re.S
)
SHELLS = ("sh", "bash", "console", "shell")


class Block(NamedTuple):
    """A fenced block; ``line`` is that of its first line of content."""

    line: int
    language: str
    is_output: bool
    text: str


def name_of(page: Path) -> str:
    return page.relative_to(CHECKOUT).as_posix()


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        indent, info = len(fence["indent"]), fence["info"].strip()
        lines = [line[indent:] for line in fence["text"].splitlines()]
        yield Block(
            line=text.count("\n", 0, fence.start()) + 2,
            language=info.split()[0] if info else "",
            is_output='title="output"' in info,
            text="\n".join(lines) + "\n",
        )


def pages_with_python() -> Iterator[tuple]:
    for page in PAGES:
        if any(block.language == "python" for block in blocks_of(page)):
            text = page.read_text(encoding="utf-8")
            needs_data = "maseval.benchmark.tau2" in text or page.name in ("macs.md", "frames.md")
            marks = [pytest.mark.data] if needs_data else []
            marks += needing("duckdb") if page.name == "frames.md" else []
            marks += needing("uvicorn") if page.name == "view.md" else []
            marks += needing("gymnasium") if page.name == "training.md" else []
            yield pytest.param(page, id=name_of(page), marks=marks)


def commands() -> Iterator[tuple]:
    for page in PAGES:
        for block in blocks_of(page):
            if block.language in SHELLS:
                for offset, line in enumerate(block.text.splitlines()):
                    words = shlex.split(line.removeprefix("$ "), comments=True)
                    if words:
                        where = f"{name_of(page)}:{block.line + offset}"
                        yield pytest.param(words, id=where)


class Demo(NamedTuple):
    """The demo after it has ended: its folder, and what it printed."""

    folder: Path
    printed: str


@pytest.fixture(scope="module")
def demo(tau2_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("demo")
    environment = {**os.environ, "COLUMNS": "110", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-m", "maseval.cli", "demo"],
        capture_output=True,
        check=True,
        encoding="utf-8",
        env=environment,
        cwd=folder,
    )
    return Demo(folder, done.stdout)


@pytest.fixture
def data_if_needed(request: pytest.FixtureRequest) -> None:
    """The data files, for the pages that are marked as needing them."""
    if request.getfixturevalue("page").name == "judge.md":  # it keeps a measurement
        cache = str(request.getfixturevalue("tmp_path") / "cache")
        request.getfixturevalue("monkeypatch").setenv("MASEVAL_CACHE_DIR", cache)
    if request.node.get_closest_marker("data") is not None:
        if request.getfixturevalue("page").name == "macs.md":
            environment = request.getfixturevalue("monkeypatch")
            environment.setenv("MASEVAL_MACS_DATA", str(request.getfixturevalue("macs_data")))
            cache = request.getfixturevalue("tmp_path_factory").mktemp("cache")
            environment.setenv("MASEVAL_CACHE_DIR", str(cache))
            return
        request.getfixturevalue("tau2_data")
        if request.getfixturevalue("page").name == "frames.md":
            runs = request.getfixturevalue("demo").folder / "runs"
            shutil.copytree(runs, request.getfixturevalue("tmp_path") / "runs")
        fixtures = {"versions.md": "tau2_data_verified", "banking_knowledge.md": "banking_data"}
        if fixture := fixtures.get(request.getfixturevalue("page").name):
            request.getfixturevalue(fixture)


@pytest.mark.beside
@pytest.mark.parametrize("page", list(pages_with_python()))
def test_the_python_examples_of_a_page_run(page, data_if_needed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # A module of its own, because pydantic and dataclasses look up where a class comes from.
    module = ModuleType("documented_example")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    printed = None

    for block in blocks_of(page):
        where = f"{name_of(page)}:{block.line}"
        if block.is_output:
            assert printed is not None, f"{where}: no example stands before this output"
            assert printed == block.text, f"{where}: this is not what the example prints"
        elif block.language == "python":
            # Blank lines in front make a traceback point at the line of the page.
            code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
            exec(code, vars(module))
            printed = capsys.readouterr().out


@pytest.mark.parametrize("words", list(commands()))
def test_a_documented_command_names_something_that_exists(words):
    program, *arguments = words
    match Path(program).name, arguments:
        case "make", targets:
            known = re.findall(r"^([a-z-]+):.*##", (CHECKOUT / "Makefile").read_text(), re.M)
            assert {target for target in targets if "=" not in target} <= set(known)
        case (("python" | "python3"), ["-m", module, *_]):
            assert importlib.util.find_spec(module) is not None
        case (("python" | "python3"), [script, *_]):
            assert (CHECKOUT / script).is_file()
        case "maseval", _:
            project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
            assert "maseval" in project.get("scripts", {})
        case other, _:
            assert other in ("cd", "git", "pip", "ssh-keygen")


def test_no_python_example_is_overlooked():
    for page in PAGES:
        opened = page.read_text(encoding="utf-8").count("```python")
        found = sum(block.language == "python" for block in blocks_of(page))
        assert found == opened, name_of(page)


@pytest.mark.slow
@pytest.mark.data
def test_the_readme_shows_what_the_demo_prints(demo):
    printed = demo.printed

    table = printed[: printed.index("└")]

    assert "1112/1112" in table and "pass^4" in table
    assert "Report: runs/" in printed
    assert "maseval view" in printed and "maseval tau2 play" in printed
    assert table in (CHECKOUT / "README.md").read_text(encoding="utf-8")


def test_every_public_module_of_the_core_has_its_page():
    private = (
        *("maseval.core.engine.", "maseval.core.storage."),
        *(
            "maseval.core.index_line",
            "maseval.core.lazy",
            "maseval.core.recorded",
            "maseval.core.words",
            "maseval.core.scoring_options",
        ),
    )
    modules = {
        module.name
        for module in pkgutil.walk_packages(maseval.core.__path__, "maseval.core.")
        if not module.ispkg and not module.name.startswith(private)
    }
    pages = (CHECKOUT / "docs" / "api").glob("*.md")
    documented = [
        name
        for page in pages
        for name in re.findall(r"^::: (maseval\.core\S*)", page.read_text(), re.M)
    ]

    assert sorted(documented) == sorted(modules)
