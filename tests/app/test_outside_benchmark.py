"""A benchmark that another package brings has what tau2 and MACS have."""

import inspect
import json
import tomllib
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import maseval
from maseval import Benchmark, commands, runs, stats
from maseval.commands import BenchmarkSupport, new
from maseval.core.engine.engines import Engine
from tests.cli.commandline import maseval as command

PAGES = Path(__file__).parents[2] / "docs" / "api"
AGENT = """
def agent(brief):
    def answer(query):
        tool, _, item = query.partition(" ")
        brief.tools[tool](item)
        return brief.chat_model().chat([{"role": "user", "content": query}]).content
    return answer
"""

SCRIPTED = """

from maseval import ScriptedModelAdapter


def scripted_model(self, player, environment, task):
    return ScriptedModelAdapter([f"Done by {player}."])


Shelf.scripted_model = scripted_model
"""


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A distribution as ``maseval new`` begins it, as if it were installed."""
    new("benchmark", "shelf", tmp_path)
    project = tomllib.loads((tmp_path / "shelf" / "pyproject.toml").read_text())["project"]
    about = tmp_path / "shelf" / "maseval_shelf-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: maseval-shelf\nVersion: 0.1.0\n")
    groups = (
        "\n".join([f"[{group}]", *(f"{name} = {value}" for name, value in points.items())])
        for group, points in project["entry-points"].items()
    )
    (about / "entry_points.txt").write_text("\n".join(groups))
    with (tmp_path / "shelf" / "shelf.py").open("a") as file:
        file.write(SCRIPTED)
    (tmp_path / "mine.py").write_text(AGENT)
    monkeypatch.syspath_prepend(tmp_path / "shelf")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    maseval.core.lazy._read.cache_clear()


def said(*words: int | str, code: int = 0) -> str:
    """What a command says, which is not about another benchmark."""
    result = command(*words)
    assert result.exit_code == code, (words, result.output)
    assert "tau2" not in result.output, words
    return result.stdout if "--json" in words else result.output


def test_it_has_a_command_of_its_own(shelf):
    assert "shelf" in command("--help").output
    assert "--polite" in said("shelf", "run", "--help")
    assert "2 simulations of 2 would run" in " ".join(said("shelf", "run", "--dry-run").split())
    assert not list(shelf.glob("runs/*"))

    said("shelf", "run", "--polite", "-o", "runs/a")

    config = json.loads((shelf / "runs/a/config.json").read_text())["config"]
    assert config["agent"] == {"polite": True}


def test_a_run_file_names_it(shelf):
    (shelf / "grid.toml").write_text('benchmark = "shelf"\n[grid]\npolite = [true, false]\n')

    assert "4" in said("run", "grid.toml", "--dry-run")
    said("run", "grid.toml")
    assert "polite" in said("compare", "runs/grid")
    (shelf / "wrong.toml").write_text('benchmark = "shelf"\npolit = true\n')
    assert "did you mean 'polite'?" in said("run", "wrong.toml", code=2)


def test_an_agent_of_ones_own_is_rehearsed(shelf):
    words = ("shelf", "run", "--agent", "mine.py:agent", "--rehearse", "gold")

    assert json.loads(said(*words, "-o", "runs/a", "--json"))["overall"]["passed"] == 2
    config = json.loads((shelf / "runs/a/config.json").read_text())["config"]
    assert config["own_agent"] == {"function": "mine.py:agent", "rehearsed with": "gold"}
    assert "mine.py" in config["code"]["files"]
    assert "name the agent" in said("shelf", "run", "--rehearse", "gold", code=2)
    assert "no file" in said("shelf", "run", "--agent", "theirs.py:agent", code=2)


def test_every_command_takes_its_runs(shelf):
    for name in ("a", "b"):
        said("shelf", "run", "-o", f"runs/{name}", "--trials", 2)

    assert "answered" in said("show", "a")
    assert "tea" in said("show", "a", "tea")
    assert "shows what happened" in said("explain", "a", "tea", code=2)  # it passed
    said("comply", "a")
    assert "answered" in said("compare", "a", "b", "--measure", "answered")
    said("plan", "a")
    said("gate", "a", "--baseline", "b", code=2)  # too small to show any loss
    said("report", "a")
    said("export", "a", "--format", "csv")
    said("bundle", "a")
    said("tag", "a", "--note", "good")
    assert "runs/a" in said("runs")
    assert "cannot judge recorded conversations again" in said("score", "a", code=2)
    assert "has no questions for a judge" in said(
        "judge", "ask", "a", "--judge", "scripted/echo", code=2
    )
    assert (shelf / "runs/a/report.html").is_file()


def names_in(annotation: type[Any] | types.GenericAlias | types.UnionType) -> Iterator[Any]:
    """The classes of maseval that an annotation names."""
    meta = getattr(annotation, "__pydantic_generic_metadata__", {})
    annotation = meta.get("origin") or annotation
    if getattr(annotation, "__module__", "").startswith("maseval"):
        yield annotation
    for each in typing.get_args(annotation):
        yield from names_in(each) if not isinstance(each, list) else ()


@pytest.mark.parametrize("owner", [BenchmarkSupport, Benchmark], ids=lambda each: each.__name__)
def test_whatever_a_public_method_takes_or_returns_is_public(owner):
    public = [getattr(home, n) for home in (maseval, commands, runs, stats) for n in home.__all__]
    documented = {f"maseval.core.{page.stem}" for page in PAGES.glob("*.md")}
    known = {**vars(commands), **{n: getattr(commands, n) for n in commands.__all__}}

    for name, method in inspect.getmembers(owner, inspect.isfunction):
        if name.startswith("_"):
            continue
        space = {**inspect.getmodule(method).__dict__, **known}
        for hint in typing.get_type_hints(method, space).values():
            for each in names_in(hint):
                is_public = each in public or each.__module__ in documented
                is_public = is_public or each is Engine  # docs/scale.md is about it
                assert is_public, f"{owner.__name__}.{name} names {each}"
