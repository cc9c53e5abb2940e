"""Results of v1.0.x are read as the original reads them: a file, a folder, and broken ones."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.results import ResultsFormatError, read_results
from maseval.benchmark.tau2.run_metrics import compute_run_metrics
from maseval.benchmark.tau2.scoring.score import score_simulation
from tests.contract.replay import records

pytestmark = [pytest.mark.contract, pytest.mark.data]


@pytest.fixture(scope="module")
def results(vectors, tmp_path_factory) -> Path:
    """A copy of the recorded results; a folder that holds nothing does not survive all tools."""
    folder = tmp_path_factory.mktemp("results") / "results"
    shutil.copytree(vectors / "results", folder)
    (folder / "json_beside_folder" / "simulations").mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def cases(results) -> dict[str, Any]:
    return records(results / "cases.json")[0]


def summary(path: Path) -> dict[str, Any]:
    file = read_results(path)
    index = file._member("simulation_index")
    return {
        "num_tasks": len(file.tasks),
        "simulations": [summary_of(simulation) for simulation in file],
        "domain": file.info["environment_info"]["domain_name"],
        "num_trials": file.info["num_trials"],
        "index": None if index is None else [entry["id"] for entry in index],
    }


def summary_of(simulation: dict[str, Any]) -> dict[str, Any]:
    policy, info = simulation.get("policy"), simulation.get("info")
    verdict = simulation.get("reward_info")
    keys = ("id", "task_id", "trial", "seed", "termination_reason")
    return {
        **{key: simulation.get(key) for key in keys},
        "reward": None if verdict is None else verdict["reward"],
        "num_messages": len(simulation["messages"]),
        "mode": simulation.get("mode", "half_duplex"),
        "policy_sha256": None if policy is None else hashlib.sha256(policy.encode()).hexdigest(),
        "info_keys": None if info is None else sorted(info),
    }


def test_every_recorded_file_and_folder_is_read_as_recorded(results, cases):
    assert len(cases["reading"]) >= 9
    for case in cases["reading"]:
        path = results / case["path"]
        if case["exception"] is None:
            assert summary(path) == case["loaded"], case["case"]
            continue
        with pytest.raises(ResultsFormatError) as refused:
            summary(path)
        if case["exception"]["type"] == "ValueError":
            text = str(refused.value).replace(str(results), "<results>")
            assert text == case["exception"]["message"]


def test_the_metrics_of_a_file_are_the_recorded_ones(results, cases):
    file = read_results(results / "run_json" / "results.json")
    found = compute_run_metrics(file, file.info["num_trials"])
    expected = cases["metrics_of_run_json"]
    assert {str(k): value for k, value in found.pop("pass_hat_ks").items()} == pytest.approx(
        expected["pass_hat_ks"]
    )
    assert found == pytest.approx({key: expected[key] for key in found})


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("run_json/results.json", "1.0.1"),
        ("run_dir", "1.0.1"),
        ("real_airline_v1.json", "1.0.1"),
        ("v0_2_0_form/results.json", "0.2.0"),
    ],
)
def test_the_form_of_a_file_is_recognised(results, name, form):
    assert read_results(results / name).form == form


def test_a_real_file_is_scored_as_its_authors_did(results, data):
    file = read_results(results / "real_airline_v1.json")
    simulations = list(file.records())
    assert simulations
    for recorded in simulations:
        verdict = score_simulation(
            recorded.simulation,
            domain=recorded.domain,
            task=file.tasks[recorded.simulation["task_id"]],
            version="1.0.1",
        )
        assert json.loads(json.dumps(verdict)) == recorded.verdict
