"""The tables of tested releases say what is pinned, and every extra is pinned somewhere."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import maseval

CHECKOUT = Path(__file__).parents[1]
# They need versions of openai or mcp that others exclude.
APART = {"litellm", "llamaindex", "camel", "verifiers"}
CHANGELOG = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
REQUIREMENTS = CHECKOUT / "requirements"
PINS = {path.stem: path for path in [*REQUIREMENTS.glob("*.txt"), *REQUIREMENTS.rglob("*/*.txt")]}


def pins(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(re.findall(r"^([\w.-]+)==(\S+)$", "\n".join(lines), re.M))


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


ALL = {(normal(name), version) for path in PINS.values() for name, version in pins(path).items()}


@pytest.mark.parametrize("page", ["docs/agents/index.md", "docs/models/index.md"])
def test_a_table_tells_the_releases_that_are_pinned(page):
    _, table = (CHECKOUT / page).read_text(encoding="utf-8").split("## Tested with")

    told = re.findall(r"`([\w-]+)` (\d[\w.]*\w)", table)

    assert len(told) >= 7
    assert [each for each in told if (normal(each[0]), each[1]) not in ALL] == []


def test_every_line_is_a_pin():
    for path in PINS.values():
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line]
        loose = [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.+!]+", line)]
        assert [line for line in loose if not line.startswith(("#", "-r "))] == [], path.name


def test_every_extra_is_tried_by_some_environment():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = {name for name, _ in ALL}

    for extra, needs in project["optional-dependencies"].items():
        names = {normal(re.match(r"[\w.-]+", need)[0]) for need in needs}
        assert names - {"maseval"} <= pinned, extra


def test_the_version_stands_in_one_place_and_satisfies_who_asks_for_maseval_0_4():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))

    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"] == {"path": "maseval/__init__.py"}
    assert maseval.__version__ == "0.7.0"
    assert re.search(rf"^## {re.escape(maseval.__version__)}\b", CHANGELOG, re.M)


def test_the_extras_that_gather_others_leave_out_what_cannot_be_installed_beside_them():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    gathered = {name: set(_extras_in(extras[name])) for name in ("all", "examples")}

    assert gathered["examples"] <= gathered["all"] <= set(extras)
    assert set(extras) - gathered["all"] == {"all", "examples", *APART}


def _extras_in(needs: list[str]) -> Iterator[Any]:
    for need in needs:
        yield from re.fullmatch(r"maseval\[(.*)\]", need)[1].split(",")
