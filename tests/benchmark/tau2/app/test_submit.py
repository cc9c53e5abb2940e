"""Submissions to the leaderboard: written whole, or refused with every rule that is broken."""

import json
from copy import deepcopy
from dataclasses import replace

import pytest

from maseval.benchmark.tau2.app.sharing.submit import SubmissionRefusedError, SubmittedDomain
from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.results import read_results
from maseval.commands import tau2
from maseval.core.exceptions import OutputExistsError
from maseval.runs import RunFolder
from tests.cli.commandline import maseval

pytestmark = pytest.mark.data

DETAILS = {
    "model_name": "Echo 1",
    "model_organization": "A lab",
    "submitting_organization": "Another lab",
    "email": "somebody@example.org",
}


def run_of_echoes(folder, **options):
    settings = {"domain": "airline", "data_version": "1.0.1", "max_steps": 4, "texts": "ours"}
    models = {"agent_model": "scripted/echo", "user_model": "scripted/echo"}
    return tau2.run(output=folder, **{**settings, **models, **options}).folder


@pytest.fixture(scope="module")
def whole_run(tau2_data_of_1_0_1, tmp_path_factory):
    return run_of_echoes(tmp_path_factory.mktemp("runs") / "whole")


def broken_by(*runs, tmp_path, **options):
    target = tmp_path / "submission"
    with pytest.raises(SubmissionRefusedError) as refused:
        tau2.submit(runs=runs, output=target, **{**DETAILS, **options})
    assert not target.exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("tmp")]
    return [(each.rule, each.what) for each in refused.value.broken]


def test_a_submission_has_its_form_and_files_that_are_read_and_scored_again(whole_run, tmp_path):
    target = tmp_path / "deep" / "submission"

    written = tau2.submit(runs=[whole_run], output=target, date="2026-07-31", **DETAILS)

    content = json.loads((target / "submission.json").read_text())
    assert content == written.content
    assert {key: content[key] for key in DETAILS if key != "email"} == {
        key: value for key, value in DETAILS.items() if key != "email"
    }
    assert content["contact_info"] == {"email": "somebody@example.org"}
    assert (content["submission_date"], content["modality"]) == ("2026-07-31", "text")
    assert content["results"] == {"airline": {"pass_1": 0.0}}
    methodology = content["methodology"]
    assert methodology["tau2_bench_version"] == "1.0.1"
    assert methodology["user_simulator"] == "scripted/echo"
    assert methodology["verification"]["modified_prompts"] is True
    assert content["submission_type"] == "custom"

    (file,) = written.files
    assert file.name == "Echo-1_airline_echo_1trials.json"
    assert sorted(path for path in target.rglob("*") if path.is_file()) == [
        target / "submission.json",
        file,
    ]
    results = read_results(file)
    base = [task["id"] for task in load_raw_tasks("airline", "base", version="1.0.1")]
    assert list(results.tasks) == base
    assert [simulation["task_id"] for simulation in results] == base
    (scored,) = tau2.score([file], data_version="1.0.1")
    assert scored.compared == 50 and not scored.disagreements


def test_a_scripted_agent_is_said_to_be_no_entry(whole_run, tmp_path):
    details = [f"--{name.replace('_', '-')}={value}" for name, value in DETAILS.items()]
    printed = maseval("tau2", "submit", whole_run, "--output", tmp_path / "s", *details)

    assert printed.exit_code == 0
    words = "the agent is scripted (scripted/echo), not a real system"
    assert words in printed.stdout and "is not an entry for a leaderboard" in printed.stdout


def test_what_is_there_is_not_written_over(whole_run, tmp_path):
    with pytest.raises(OutputExistsError):
        tau2.submit(runs=[whole_run], output=tmp_path, **DETAILS)


def test_all_broken_rules_are_named_at_once(tau2_data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = run_of_echoes(tmp_path / "old", data_version="0.2.0", num_tasks=2, domain="library")

    found = maseval("tau2", "submit", run, "--output", "submission", "--email", "nowhere")

    assert found.exit_code == 2
    words = " ".join(found.stderr.split())
    for expected in (
        "details: model_name is missing; give --model-name",
        "details: submitting_organization is missing; give --submitting-organization",
        "details: email is 'nowhere'; give an address like",
        "was run by tau2-bench v0.2.0; run it with --data-version 1.0.1",
        "old (library) is not on the leaderboard; it has airline, retail, telecom",
    ):
        assert expected in words
    assert not (tmp_path / "submission").exists()


def test_tasks_and_trials_must_be_complete(tau2_data_of_1_0_1, tmp_path):
    run = run_of_echoes(tmp_path / "part", num_tasks=3, trials=2, concurrency=1, budget="1 tokens")

    found = dict(broken_by(run, tmp_path=tmp_path))

    assert set(found) == {"tasks", "trials"}
    assert found["tasks"].endswith("lacks 47 of the 50 base tasks (3, 4, 5, 6, 7, and 42 more)")
    assert "does not have 2 trials of each task: 5 are missing" in found["trials"]


def test_tasks_beyond_the_base_split_are_refused(tau2_data_of_1_0_1, tmp_path):
    run = run_of_echoes(tmp_path / "full", domain="telecom", split="full", num_tasks=2)

    found = broken_by(run, tmp_path=tmp_path)

    assert any("has 2 that are not among the 114 base tasks" in what for _, what in found)


def test_a_standard_submission_is_the_reference_agents_with_the_original_texts(
    whole_run, tau2_data_of_1_0_1, tmp_path
):
    gold = tau2.run(
        domain="airline", agent="gold", data_version="1.0.1", output=tmp_path / "gold", num_tasks=1
    ).folder

    found = broken_by(gold, tmp_path=tmp_path, submission_type="standard")
    assert [what.partition(") ")[2] for rule, what in found if rule == "conditions"] == [
        "the agent is scripted (gold), which is not standard",
        "the user is not played by a model (scripted), which is not standard",
    ]
    ((rule, what),) = broken_by(whole_run, tmp_path=tmp_path, submission_type="standard")
    assert rule == "conditions" and "other texts" in what


def test_a_run_in_which_the_agent_is_sent_something_else_is_not_standard(
    tau2_data_of_1_0_1, tmp_path
):
    other = run_of_echoes(tmp_path / "other", num_tasks=1, reasoning="auto")
    entry = SubmittedDomain(RunFolder.read(other), "airline")
    agent = replace(entry.setup.agent, prompt="Be quick.")
    entry.setup = replace(entry.setup, texts="original", agent=agent)

    assert list(entry.deviations()) == [
        "models read other texts than the benchmark's",
        "the agent's model is sent its own reasoning by the policy auto",
    ]


def test_a_submission_has_each_domain_once_of_one_system(whole_run, tau2_data_of_1_0_1, tmp_path):
    other = run_of_echoes(tmp_path / "other", agent_args={"temperature": 0.5})

    found = broken_by(whole_run, other, tmp_path=tmp_path)

    assert found == [
        ("domain", "2 runs hold airline"),
        ("one system", "the runs have different configurations of the agent"),
    ]


def test_the_details_are_checked(whole_run, tmp_path):
    details = {"date": "31.7.2026", "submission_type": "best"}

    found = broken_by(whole_run, tmp_path=tmp_path, **details)

    assert found == [
        ("details", "submission_type is 'best'"),
        ("details", "date is '31.7.2026'"),
    ]


def test_verdicts_that_do_not_come_out_again_are_refused(whole_run, tmp_path):
    whole = RunFolder.read(whole_run)
    with RunFolder.open(tmp_path / "edited", whole.config.values) as edited:
        for number, report in enumerate(whole.reports()):
            changed = deepcopy(report)
            if number == 7:
                changed["eval"][0]["reward_info"]["reward"] = 1.0
            edited.append(changed)

    ((rule, what),) = broken_by(tmp_path / "edited", tmp_path=tmp_path)

    assert rule == "verdicts"
    assert "not confirmed: 1 recorded verdict" in what


def test_simulations_without_a_verdict_and_agents_that_saw_the_solution_are_refused(
    whole_run, tmp_path
):
    whole = RunFolder.read(whole_run)
    config = {**whole.config.values, "mode": "oracle-plan"}
    with RunFolder.open(tmp_path / "unjudged", config) as unjudged:
        for number, report in enumerate(whole.reports()):
            unjudged.append({**report, "eval": []} if number < 2 else report)

    found = broken_by(tmp_path / "unjudged", tmp_path=tmp_path)

    assert [(rule, what.partition("airline) ")[2]) for rule, what in found] == [
        ("verdicts", "has 2 simulations without a verdict"),
        ("conditions", "the agent was shown the solution (mode oracle-plan)"),
    ]


def test_infrastructure_errors_are_failed_trials_and_said_to_be(whole_run, tmp_path):
    whole = RunFolder.read(whole_run)
    error = {"error_type": "ProviderError", "error_message": "no answer", "traceback": ""}
    with RunFolder.open(tmp_path / "broken", whole.config.values) as broken:
        for number, report in enumerate(whole.reports()):
            lost = {**report, "status": "unknown_execution_error", "error": error, "traces": {}}
            lost["eval"] = []
            broken.append(lost if number == 0 else report)

    written = tau2.submit(runs=[tmp_path / "broken"], output=tmp_path / "submission", **DETAILS)

    assert "airline: 1 infrastructure error counted as failure" in written.notes[-1]
    endings = [simulation["termination_reason"] for simulation in read_results(written.files[0])]
    assert len(endings) == 50 and endings.count("infrastructure_error") == 1
