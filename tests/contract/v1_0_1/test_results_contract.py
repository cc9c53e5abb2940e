"""Results of v1.0.x are read as the original reads them, and written as it writes them."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2 import (
    DefaultAgentTau2Benchmark,
    configure_model_ids,
    load_tasks,
)
from maseval.benchmark.tau2.evaluator import compute_run_metrics
from maseval.benchmark.tau2.formats.simulation import TerminationReason, trial_seed
from maseval.benchmark.tau2.results import ResultsFormatError, export_results, read_results
from maseval.benchmark.tau2.results.recorded import report_of_simulation
from maseval.benchmark.tau2.results.writing import Tau2Report
from maseval.benchmark.tau2.scoring.score import score_simulation
from maseval.core.model import ModelAdapter
from maseval.core.report import Report
from maseval.core.scripted import ScriptedModelAdapter
from maseval.runs import RunFolder, Simulation
from tests.contract.replay import records

pytestmark = [pytest.mark.contract, pytest.mark.data]


@pytest.fixture(scope="module")
def results(vectors: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the recorded results; a folder that holds nothing does not survive all tools."""
    folder = tmp_path_factory.mktemp("results") / "results"
    shutil.copytree(vectors / "results", folder)
    (folder / "json_beside_folder" / "simulations").mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def cases(results: Any) -> dict[str, Any]:
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
        if case["exception"]["type"] == "ValidationError":
            # Deliberately different: the original refuses a whole file for a reason that it does
            # not know; here it is read, and the simulation counts as a failure.
            reasons = {each["termination_reason"] for each in read_results(path)}
            assert reasons - {each.value for each in TerminationReason}
            continue
        with pytest.raises(ResultsFormatError) as refused:
            summary(path)
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
    reports = [Tau2Report(each) for each in file.reports()]
    assert reports
    for recorded in reports:
        verdict = score_simulation(
            recorded.conversation,
            domain=recorded.domain_name,
            task=file.tasks[recorded.task_id],
            version="1.0.1",
        )
        assert json.loads(json.dumps(verdict)) == recorded.recorded_verdict


class Scripted(DefaultAgentTau2Benchmark):
    """The second trial fails: the user's model breaks down."""

    def get_model_adapter(self, model_id: str, **options: Any) -> ModelAdapter:
        scripts = {
            "agent": [{"name": "calculate", "arguments": {"expression": "1 + 1"}}, "Two."] * 2,
            "user": ["Hello", "###STOP###"],
            "broken": [RuntimeError("no answer")],
        }
        model = ScriptedModelAdapter(scripts[model_id], model_id=model_id)
        return self.register("models", options["register_name"], model)


def run(user: str, seed: int = 7, **settings: Any) -> list[Report]:
    tasks = load_tasks("airline", limit=1, max_retries=0, version="1.0.1")
    configure_model_ids(tasks, user_model_id=user)
    agent = {"model_id": "agent"}
    benchmark = Scripted(progress_bar=False, seed=seed, agent_data=agent, **settings)
    return benchmark.run(tasks)


def test_runs_are_written_in_the_form_of_their_release(data, cases, tmp_path):
    target = tmp_path / "results.json"

    summary = export_results([*run("user"), *run("broken")], target)

    assert summary.written == 2 and not summary.omitted
    file = read_results(target)
    assert file.form == "1.0.1"
    assert len(list(file)) == 2
    head = json.loads(file.path.read_text())
    fine, failed = head["simulations"]
    assert fine["termination_reason"] == "user_stop"
    assert failed["termination_reason"] == "infrastructure_error"
    assert failed["messages"] == [] and failed["reward_info"] is None
    assert set(failed["info"]) == {
        *("error", "error_type", "error_traceback", "failed_after_attempts"),
    }
    order = cases["key_order"]
    assert list(fine) == order["simulation"]
    assert list(fine["messages"][0]) == order["assistant_message"]
    assert [list(m) for m in fine["messages"] if m["role"] == "tool"] == [order["tool_message"]]
    assert list(fine["reward_info"]) == order["reward_info"]
    assert list(head["tasks"][0])[: len(order["task"])] == order["task"]
    assert list(head["info"]) == order["info"]
    for side in ("user_info", "agent_info", "environment_info"):
        assert list(head["info"][side]) == order[side]
    defaults = cases["info_defaults"]
    assert file.info["text_streaming_config"] == defaults["text_streaming_config"]
    assert fine["policy"] == file.info["environment_info"]["policy"]
    assert list(head) == order["results"]
    assert compute_run_metrics(file, 1)["total_simulations"] == 1
    assert compute_run_metrics(file, 1, "leaderboard")["total_simulations"] == 2


def test_trials_have_the_recorded_seeds_and_so_do_exported_simulations(cases, data, tmp_path):
    for seed, expected in cases["per_trial_seeds"].items():
        assert [trial_seed(int(seed), trial) for trial in range(len(expected))] == expected
    export_results(run("user", seed=300, n_task_repeats=2), tmp_path / "results.json")

    file = read_results(tmp_path / "results.json")

    assert file.info["seed"] == 300
    assert [simulation["seed"] for simulation in file] == cases["per_trial_seeds"]["300"]


def test_resuming_runs_infrastructure_errors_again_and_keeps_the_rest(results, cases, tmp_path):
    file = read_results(results / "run_json" / "results.json")
    simulations = {Simulation("mock", str(one["task_id"]), one["trial"]): one for one in file}
    config = {"tasks": {"mock": list(file.tasks)}, "trials": file.info["num_trials"]}
    with RunFolder.open(tmp_path / "run", config) as folder:
        for simulation in simulations.values():
            folder.append(report_of_simulation(simulation, domain="mock"))

    resumed = RunFolder.read(tmp_path / "run")
    again = set(resumed.missing())
    kept = {key: one for key, one in simulations.items() if key not in again}

    expected = cases["checkpoint"]["after_resume"]
    assert [one["id"] for one in kept.values()] == expected["kept"]
    done = [[key.trial, key.task_id, one["seed"]] for key, one in kept.items()]
    assert sorted(done) == sorted(expected["done_runs"])


def test_a_file_reads_the_same_with_ascii_escapes_and_without(results, cases, tmp_path):
    assert cases["checkpoint"]["same_content"]
    source = results / "real_airline_v1.json"
    document = json.loads(source.read_text(encoding="utf-8"))
    forms = {}
    for ascii_only in (True, False):
        path = tmp_path / f"{ascii_only}.json"
        path.write_text(json.dumps(document, ensure_ascii=ascii_only), encoding="utf-8")
        forms[ascii_only] = list(read_results(path))
    assert (tmp_path / "True.json").read_bytes() != (tmp_path / "False.json").read_bytes()
    assert forms[True] == forms[False] == list(read_results(source))
