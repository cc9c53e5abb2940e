"""A grid in the viewer: one row of the list, and one address for all of its cells."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

import shutil

from maseval.runs import RunFolder
from tests.noisy_runs import small_grid
from tests.view.builders import viewer

pytestmark = pytest.mark.needs(library="starlette")


@pytest.fixture
def grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return small_grid(tmp_path, monkeypatch)


def cells_in(found: Any) -> list[str]:
    return sorted(found.json()["cells"])


def test_a_grid_has_an_address_and_its_cells_are_compared(grid):
    view = viewer(grid.parent)
    names = sorted(each.name for each in grid.iterdir() if each.is_dir())

    assert cells_in(view.get("/api/run/index", params={"run": "crossed"})) == names
    found = view.get("/api/compare", params={"run": "crossed"}).json()
    assert sorted(found["names"]) == names
    assert sorted(found["places"]) == [f"crossed/{name}" for name in names]
    assert found["grid"]["factors"] == ["system", "seed"]
    rows = view.get("/api/runs").json()["runs"]
    assert {row["cell"]["system"] for row in rows} == {"gold", "careless"}


def test_a_cell_without_a_verdict_is_left_out_and_named(grid):
    first, *rest = sorted(each for each in grid.iterdir() if each.is_dir())
    config = RunFolder.read(first).config.values
    shutil.rmtree(first)
    RunFolder.open(first, config).close()
    view = viewer(grid.parent)

    found = view.get("/api/compare", params={"run": "crossed"}).json()
    assert len(found["names"]) == 3
    assert f"{first.name}: no verdict yet; reload the page" in found["cautions"]
    for each in rest[:2]:
        shutil.rmtree(each)
    refused = view.get("/api/compare", params={"run": "crossed"})
    assert refused.status_code == 422
    assert "no two cells of this grid have a verdict" in refused.json()["error"]


@pytest.mark.parametrize("name", ["nothing", "../crossed", "crossed/nothing", ""])
def test_what_is_no_grid_is_not_there(grid, name):
    found = viewer(grid.parent).get("/api/run/index", params={"run": name})
    assert found.status_code == 404
