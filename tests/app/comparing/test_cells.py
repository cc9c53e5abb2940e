"""Runs that are the cells of a grid, compared by its factors."""

import json
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from maseval.app.comparing.page import document_of
from maseval.commands import compare, report
from maseval.core.exceptions import ConfigurationError
from maseval.core.storage import strict_json
from maseval.runs import RunFolder
from maseval.stats import IncomparableRunsError, find_effects
from tests.browser.runs import planned
from tests.cli.commandline import maseval
from tests.noisy_runs import noisy_run
from tests.report.builders import simulated

RATES = {"careful": 0.0, "hurried": 0.7}


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems, of which one makes mistakes, by two models that make no difference."""
    folder = tmp_path_factory.mktemp("grids") / "grid"
    for (system, rate), model in product(RATES.items(), ("small", "large")):
        cell = {"system": system, "agent_model": model}
        noisy_run(folder / f"{system}-{model}", rate, cell=cell, seed=len(model))
    return folder


def written_cell(path: Path, rewards: list[float], domain: str = "retail", **config: Any) -> Path:
    """Write a run of one trial for each task, with these rewards."""
    reports = [simulated(str(at), reward=each, domain=domain) for at, each in enumerate(rewards)]
    with RunFolder.open(path, {**planned(reports), **config}) as folder:
        for each in reports:
            folder.append(each)
    return folder.path


def test_a_folder_of_cells_is_compared_by_its_factors(grid):
    found = compare([grid])
    cells = {run.config["cell"]["system"]: [] for run in found.runs.values()}
    for run in found.runs.values():
        cells[run.config["cell"]["system"]] += [each.passed for each in run.outcomes]
    system, model = found.grid.effects.factors

    assert (system.name, system.grade, model.grade) == ("system", "shown", "undecided")
    scores = {name: sum(passed) / len(passed) for name, passed in cells.items()}
    assert system.levels == pytest.approx(scores)
    assert found.headline == found.grid.effects.headline
    assert found.headline.startswith("system moves the score (pass^1) by ")
    assert found.grid.effects == find_effects(
        (run.config["cell"], run.outcomes) for run in found.runs.values()
    )


def test_the_command_prints_the_sentence_the_cells_the_effects_and_what_systems_do_wrong(
    grid, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "200")
    result = maseval("compare", grid)

    assert result.exit_code == 0
    headline = compare([grid]).headline
    assert " ".join(result.stdout.split()).startswith(headline)
    for words in (
        "cells",
        "mean time",
        "what each factor does",
        "hurried \u2212 careful",
        "shown",
    ):
        assert words in result.stdout
    assert "reference call not made" in " ".join(result.stdout.split())
    values = json.loads(maseval("compare", grid, "--json").stdout)
    assert values["headline"] == headline
    assert len(values["grid"]["cells"]) == 4
    assert values["grid"]["effects"]["contrasts"][0]["grade"] == "shown"


def test_the_page_has_the_same_cells_and_effects(grid, tmp_path):
    found = compare([grid])
    document = strict_json.loads(strict_json.dumps(document_of(found)))

    assert document["headline"] == found.headline
    first = document["grid"]["cells"][0]
    assert first["levels"] == ["careful", "small"]
    assert first["value"] == found.grid.cells[0].estimate.value
    assert "hurried \u2212 careful" in str(document["grid"]["plot"])
    assert document["system_facts"][0]["columns"][1].startswith("careful (")
    cells = [grid / each.run for each in found.grid.cells]
    written = report(cells[0], tmp_path / "grid.html", against=cells[1:]).read_text()
    assert found.headline in written


def test_cells_of_other_classes_are_compared_and_two_other_runs_are_not(tmp_path):
    runs = [
        written_cell(tmp_path / name, [reward] * 4, benchmark=f"{name}Benchmark", max_steps=steps)
        for name, reward, steps in (("A", 1.0, 50), ("B", 0.0, 50), ("C", 0.0, 90))
    ]
    with pytest.raises(IncomparableRunsError, match="benchmark: 'ABenchmark' and 'BBenchmark'"):
        compare(runs[:2])

    cells = [
        written_cell(
            tmp_path / "grid" / name,
            [reward] * 4,
            benchmark=f"{name}Benchmark",
            max_steps=steps,
            cell={"system": name, "max_steps": steps},
        )
        for name, reward, steps in (("A", 1.0, 50), ("B", 0.0, 50), ("C", 0.0, 90))
    ]
    assert compare(cells[:2]).two.main.difference == -1.0
    assert compare(cells).grid.factors == ["system", "max_steps"]


def test_cells_of_different_domains_stand_side_by_side(tmp_path):
    rewards = {"react": [1.0, 1.0, 0.0], "plan": [0.0, 1.0, 0.0]}
    for system, domain in product(rewards, ("retail", "airline")):
        cell = {"system": system, "domain": domain}
        written_cell(tmp_path / f"{system}-{domain}", rewards[system], domain, cell=cell)
    found = compare([tmp_path])

    assert {pair.names for pair in found.table.pairs} == {
        ("react-retail", "plan-retail"),
        ("react-airline", "plan-airline"),
    }
    contrasts = {each.factors: each for each in found.grid.effects.contrasts}
    assert contrasts["system",].difference == pytest.approx(-1 / 3)
    assert contrasts["system",].tasks == 6
    assert found.missing is None and not found.dropped
    assert len(document_of(found)["tasks"]) == 6


def test_a_cell_without_a_verdict_is_left_out_and_said(grid, tmp_path):
    copied = shutil.copytree(grid, tmp_path / "grid")
    path = copied / "hurried-large"
    config = RunFolder.read(path).config.values
    shutil.rmtree(path)
    with RunFolder.open(path, config):
        pass
    found = compare([copied])

    assert found.notes[0] == "hurried-large: no verdict yet, left out"
    assert found.grid.effects.missing == ["hurried \u00b7 large"]
    assert found.grid.effects.factors[0].grade == "shown"


def test_a_folder_without_cells_is_refused(tmp_path):
    written_cell(tmp_path / "one", [1.0])
    with pytest.raises(ConfigurationError, match="neither a run nor a grid"):
        compare([tmp_path])
