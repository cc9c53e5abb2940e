import copy
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.certify import Certificate, CertificateError, certify, verify
from maseval.benchmark.tau2.data_loader import load_tasks
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.players import PlayerTau2Benchmark
from maseval.benchmark.tau2.results import read_results
from maseval.benchmark.tau2.scoring.score import score_simulation
from maseval.core.exceptions import ConfigurationError
from maseval.core.scoring_options import ScoringOptions
from tests.benchmark.tau2.recorded import Recorded
from tests.benchmark.tau2.todo_list import COMPLETE, CREATE, said, task, todo_list


@pytest.fixture
def todo(tmp_path: Path) -> Domain:
    return todo_list(tmp_path, task(CREATE))


def conversation(
    domain: Domain, trial: int, *turns: dict[str, Any] | str, **changes: Any
) -> dict[str, Any]:
    """A whole simulation whose messages have their times and numbers."""
    simulation = said(domain, *turns, trial=trial, id=f"s{trial}")
    simulation["messages"] += [
        {"role": "user", "content": f"Thanks for the {trial}th time. ###STOP###"}
    ]
    for turn, message in enumerate(simulation["messages"]):
        message |= {"turn_idx": turn, "timestamp": f"2025-01-01T10:0{trial}:0{turn}"}
    simulation |= {"start_time": "2025-01-01T09:00:00", "end_time": "2025-01-01T11:00:00"}
    simulation["reward_info"] = score_simulation(simulation, domain=domain)
    return {**simulation, **changes}


@pytest.fixture
def run(todo: Domain) -> list[dict[str, Any]]:
    return [
        conversation(todo, 0, CREATE),
        conversation(todo, 1, CREATE, "Hm."),
        conversation(todo, 2),
    ]


def judged_as(domain: Domain) -> ScoringOptions:
    return ScoringOptions(domain=domain)


def kinds(certificate: Certificate) -> list[str]:
    return [each["kind"] for each in certificate.content["findings"]]


def test_a_sound_run_is_clean_and_its_numbers_are_recomputed(todo, run):
    found = certify(Recorded(run), judged_as(todo))

    assert found.is_clean
    assert found.content["agreement"] == {"compared": 3, "equal": 3}
    numbers = found.content["numbers"]["mock"]
    assert (numbers["simulations"], numbers["tasks"], numbers["passed"]) == (3, 1, 2)
    assert numbers["pass_hat_k"] == {
        "pass^1": pytest.approx(2 / 3),
        "pass^2": pytest.approx(1 / 3),
        "pass^3": 0.0,
    }
    assert found.content["domains"]["mock"].keys() == {"files", "policy", "tools"}


def test_a_certificate_survives_its_own_file_and_verifies(todo, run):
    written = certify(Recorded(run), judged_as(todo)).to_json()

    assert verify(written, Recorded(run), judged_as(todo)) == []
    assert Certificate.of(written).sha256 == certify(Recorded(run), judged_as(todo)).sha256


def test_a_certificate_that_was_changed_is_refused(todo, run):
    form = certify(Recorded(run), judged_as(todo)).to_dict()
    form["numbers"]["mock"]["passed"] = 3

    with pytest.raises(CertificateError, match="was changed"):
        verify(form, Recorded(run), judged_as(todo))


@pytest.mark.parametrize("value", ["", "[]", "{}", {"form": "x"}])
def test_what_is_no_certificate_is_refused(value):
    with pytest.raises(CertificateError, match="not a certificate"):
        Certificate.of(value)


def test_other_simulations_do_not_verify(todo, run):
    found = verify(certify(Recorded(run), judged_as(todo)), Recorded(run[:2]), judged_as(todo))

    assert {line.partition(":")[0] for line in found} == {
        "simulations_sha256",
        "numbers",
        "agreement",
    }


def test_an_answer_that_no_tool_gives_is_found(todo, run):
    run[0]["messages"][1]["content"] = "{}"
    run[0]["reward_info"] = None

    found = certify(Recorded(run), judged_as(todo))

    assert kinds(found) == ["edited messages"]


def test_equal_words_are_two_trials_and_one_id_is_a_caution(todo, run):
    again = {**copy.deepcopy(run[0]), "id": "new", "trial": 3}
    for message in again["messages"]:
        message["timestamp"] = message["timestamp"].replace("10:00", "10:30")

    found = certify(Recorded([*run, again]), judged_as(todo))
    assert found.is_clean and found.content["numbers"]["mock"]["passed"] == 3

    again["id"] = run[0]["id"]
    found = certify(Recorded([*run, again]), judged_as(todo))
    assert found.is_sound and not found.is_clean and kinds(found) == ["repeated id"]
    assert found.content["numbers"]["mock"]["passed"] == 3


def test_a_simulation_without_its_domain_is_an_error_that_says_so(run):
    with pytest.raises(ConfigurationError, match="domain="):
        certify(Recorded(run))


def test_reports_of_a_run_are_certified_as_they_are():
    benchmark = PlayerTau2Benchmark(progress_bar=False, n_task_repeats=2)
    reports = benchmark.run(load_tasks("library"), agent_data={"player": "gold"})

    found = certify(Recorded(reports))

    assert found.content["agreement"]["equal"] == len(reports)
    assert found.content["numbers"]["library"]["passed"] == len(reports)
    assert found.is_clean


def test_a_file_of_lines_is_certified(todo, run, tmp_path, monkeypatch):
    path = tmp_path / "lines.jsonl.gz"
    complete = [{**simulation, "duration": 1.0} for simulation in run]
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps({"simulation": each}) + "\n" for each in complete)

    found = certify(read_results(path), judged_as(todo))

    assert found.is_clean and found.content["source"] == "lines.jsonl.gz"
    assert "3 of 3 recorded verdicts confirmed" in found.text()


def results_file(
    path: Path, run: list[dict[str, Any]], tasks: list[dict[str, Any]], policy: str
) -> Path:
    side = {"implementation": "x"}
    info = {
        "git_commit": "x",
        "num_trials": 3,
        "max_steps": 200,
        "max_errors": 10,
        "user_info": side,
        "agent_info": side,
        "environment_info": {"domain_name": "mock", "policy": policy},
    }
    complete = [{**simulation, "duration": 1.0} for simulation in run]
    whole = {"timestamp": "", "info": info, "tasks": tasks, "simulations": complete}
    path.write_text(json.dumps(whole))
    return path


def test_a_results_file_with_another_task_or_policy_is_found(todo, run, tmp_path):
    (tmp_path / "mock" / "policy_solo.md").write_text("Be kind to yourself.")
    sound = results_file(tmp_path / "a.json", run, [task(CREATE)], "Be kind.")
    other = results_file(tmp_path / "b.json", run, [task(COMPLETE)], "Be cruel.")

    assert certify(read_results(sound), judged_as(todo)).is_clean
    assert kinds(certify(read_results(other), judged_as(todo))) == [
        "other policy",
        "other task version",
    ]


def test_a_domain_without_solo_mode_has_one_policy(todo, run, tmp_path):
    together = replace(todo, solo_refusal="nobody works alone here")
    path = results_file(tmp_path / "a.json", run, [task(CREATE)], "Be cruel.")

    assert kinds(certify(read_results(path), judged_as(together))) == ["other policy"]


def test_a_solo_run_is_certified_as_one(todo, run, tmp_path):
    path = results_file(tmp_path / "a.json", run, [task(CREATE)], "Be kind.")
    reports = list(read_results(path).reports())
    for report in reports:
        report["config"]["environment"]["solo"] = True

    assert certify(Recorded(reports), judged_as(todo)).content["rules"]["modes"] == ["solo"]
