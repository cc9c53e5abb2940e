"""Runs of ours, written in v0.2.0's form, read again and scored again with the same rewards."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2 import (
    DefaultAgentTau2Benchmark,
    configure_model_ids,
    load_tasks,
    score_simulation,
)
from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.domains.banking_knowledge import banking
from maseval.benchmark.tau2.formats.simulation import trial_seed
from maseval.benchmark.tau2.results import (
    ExportSummary,
    Omitted,
    export_results,
    read_results,
    simulation_of,
)
from maseval.benchmark.tau2.results.writing import Tau2Report
from maseval.core.callbacks import FileResultLogger
from maseval.core.exceptions import ConfigurationError, OutputExistsError
from maseval.core.model import ModelAdapter
from maseval.core.report import Report
from maseval.core.scripted import ScriptedModelAdapter

pytestmark = pytest.mark.data

USAGE = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7, "cost": 0.25}
SCRIPTS: dict[str, list[Any]] = {
    "agent": [
        {"name": "get_user_details", "arguments": {"user_id": "mia_li_3668"}},
        [
            {"name": "calculate", "arguments": {"expression": "2 * 3"}},
            {"name": "no_such_tool", "arguments": {"é": [1, {"a": None}]}},
        ],
        "That is all \U0001f642",
    ],
    "user": ["Hello", "Thanks ###STOP###"],
    "silent user": ["Hello", "   "],
}


class ScriptedBenchmark(DefaultAgentTau2Benchmark):
    def get_model_adapter(self, model_id: str, **options: Any) -> ModelAdapter:
        model = ScriptedModelAdapter(SCRIPTS[model_id], model_id=model_id, usage=USAGE)
        return self.register("models", options["register_name"], model)


def run(domain: str, user: str = "user", *callbacks: FileResultLogger) -> list[Report]:
    tasks = load_tasks(domain, limit=2, max_retries=0)
    configure_model_ids(tasks, user_model_id=user)
    benchmark = ScriptedBenchmark(
        callbacks, n_task_repeats=2, progress_bar=False, seed=7, agent_data={"model_id": "agent"}
    )
    return benchmark.run(tasks)


@pytest.fixture(scope="module")
def reports(tau2_data: Path) -> list[Report]:
    return run("airline")


@pytest.fixture(scope="module")
def broken_off(tau2_data: Path) -> list[Report]:
    return run("airline", "silent user")


@pytest.fixture
def exported(reports: list[Report], tmp_path: Path) -> ExportSummary:
    return export_results(iter(reports), tmp_path / "results.json")


def test_what_is_written_is_read_again_as_it_was(reports, exported):
    assert exported == (exported.path, "airline", 4, [], None, None, None, None)
    assert list(read_results(exported.path)) == [simulation_of(report) for report in reports]


def test_every_simulation_has_the_originals_keys_and_types(exported):
    document = json.loads(exported.path.read_bytes())

    assert list(document) == ["timestamp", "info", "tasks", "simulations"]
    for trial, simulation in zip([0, 1, 0, 1], document["simulations"], strict=True):
        assert list(simulation) == [
            *("id", "task_id", "timestamp", "start_time", "end_time", "duration"),
            *("termination_reason", "agent_cost", "user_cost", "reward_info", "messages"),
            *("trial", "seed"),
        ]
        assert (simulation["trial"], simulation["seed"]) == (trial, trial_seed(7, trial))
        assert isinstance(simulation["id"], str)
        assert isinstance(simulation["agent_cost"], float)
        assert simulation["termination_reason"] == "user_stop"
        for turn, message in enumerate(simulation["messages"]):
            spoken = ["content", "tool_calls", "turn_idx", "timestamp", "cost", "usage", "raw_data"]
            answered = ["content", "requestor", "error", "turn_idx", "timestamp"]
            keys = ["id", "role", *answered] if message["role"] == "tool" else ["role", *spoken]
            assert list(message) == keys
            assert message["turn_idx"] == turn
            for call in message.get("tool_calls") or ():
                assert list(call) == ["id", "name", "arguments", "requestor"]


def test_the_run_and_its_tasks_are_described(exported, tau2_data, reports, tmp_path):
    file = read_results(exported.path)
    assert file.tasks == {id: load_raw_task("airline", id) for id in ("0", "1")}
    other = export_results(reports, tmp_path / "other.json", info={"git_commit": "f8de30c"})
    assert read_results(other.path).info["git_commit"] == "f8de30c"

    info = file.info
    assert (info["num_trials"], info["max_steps"], info["max_errors"]) == (2, 200, 10)
    assert info["seed"] == 7
    assert info["agent_info"] == {
        "implementation": "llm_agent",
        "llm": "agent",
        "llm_args": {"temperature": 0.0},
    }
    guidelines = tau2_data / "user_simulator" / "simulation_guidelines.md"
    assert info["user_info"] == {
        "implementation": "user_simulator",
        "llm": "user",
        "llm_args": {"temperature": 0.0},
        "global_simulation_guidelines": guidelines.read_text(encoding="utf-8"),
    }
    policy = tau2_data / "domains" / "airline" / "policy.md"
    assert info["environment_info"]["policy"] == policy.read_text(encoding="utf-8")


def test_what_is_written_is_scored_again_with_the_same_verdict(reports, exported):
    file = read_results(exported.path)

    for each, report in zip(file.reports(), reports, strict=True):
        recorded, task = Tau2Report(each), file.tasks[report["task_id"]]
        again = score_simulation(recorded.conversation, domain="airline", task=task, strict=True)
        assert again == recorded.recorded_verdict == report["eval"][0]["reward_info"]


def test_what_the_original_has_no_word_for_is_listed_beside(reports, broken_off, tmp_path):
    summary = export_results([*reports, *broken_off], tmp_path / "results.json")

    assert (summary.written, len(summary.omitted)) == (4, 4)
    first = summary.omitted[0]
    assert first[:3] == ("0", 0, "user_error")
    assert "v0.2.0 has no termination reason for it: " in first.reason
    assert summary.omitted_path == tmp_path / "results.omitted.json"
    listed = json.loads(summary.omitted_path.read_bytes())
    assert [Omitted(**entry) for entry in listed["omitted"]] == summary.omitted
    assert len(list(read_results(summary.path))) == 4


def test_an_export_that_replaces_another_takes_its_list_away(reports, broken_off, tmp_path):
    path = tmp_path / "results.json"
    export_results(broken_off, path)

    summary = export_results(reports, path, overwrite=True)

    assert summary.omitted_path is None
    assert [file.name for file in tmp_path.iterdir()] == ["results.json"]


def test_a_file_that_is_there_is_not_replaced_unasked(reports, exported):
    before = exported.path.read_bytes()

    with pytest.raises(OutputExistsError, match="overwrite=True"):
        export_results(reports, exported.path)

    assert exported.path.read_bytes() == before


def test_a_failed_export_leaves_nothing_behind(reports, tmp_path):
    def cut_short() -> Iterator[Report]:
        yield reports[0]
        raise RuntimeError("the reports ran out")

    with pytest.raises(RuntimeError, match="ran out"):
        export_results(cut_short(), tmp_path / "results.json")

    assert not list(tmp_path.iterdir())


def test_each_domain_has_a_file_of_its_own(reports, tmp_path):
    mixed = [*reports, *run("retail")]

    with pytest.raises(ConfigurationError, match="reports of airline and retail") as caught:
        export_results(mixed, tmp_path / "results.json")
    assert '[r for r in reports if r["task"]["metadata"]["domain"] == "retail"]' in str(
        caught.value
    )

    only = [r for r in mixed if r["task"]["metadata"]["domain"] == "retail"]
    assert export_results(only, tmp_path / "results.json").domain == "retail"


def test_without_a_domain_there_is_nothing_to_export(tmp_path):
    with pytest.raises(ConfigurationError, match="nothing to export"):
        export_results([], tmp_path / "results.json")

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("variant", ["no_knowledge", "golden_retrieval"])
def test_how_banking_searches_is_written_as_the_original_writes_it(
    banking_data, shared_data, monkeypatch, tmp_path, variant
):
    monkeypatch.setenv("MASEVAL_TAU2_DATA", str(shared_data / "tau2-v1.0.1"))
    monkeypatch.setenv("MASEVAL_TAU2_TEXTS", str(shared_data / "tau2-texts"))
    domain = f"banking_knowledge@{variant}"
    reports = run(domain)
    own = banking(variant, top_k=5)
    path = export_results(reports, tmp_path / "results.json", domain=own).path
    document = json.loads(path.read_bytes())

    environment = document["info"]["environment_info"]
    assert environment["domain_name"] == "banking_knowledge"
    assert document["info"]["retrieval_config"] == variant
    assert document["info"]["retrieval_config_kwargs"] == {"top_k": 5}
    policies = {each["policy"] for each in document["simulations"]}
    if variant == "golden_retrieval":
        assert environment["policy"].startswith("(Policy is task-specific")
        assert len(policies) == len(document["tasks"])
        said = {each["traces"]["environment"].get("policy") for each in reports}
        assert said <= {None, *policies}
    else:
        assert policies == {environment["policy"]}
    assert read_results(path).claims.domain_name == domain
