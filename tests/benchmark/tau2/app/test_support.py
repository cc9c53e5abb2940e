"""Who failed in a run, and what that makes of its numbers."""

import pytest

from maseval.app.results.examined import examine_run
from maseval.benchmark.tau2.app.results.explain import diagnose
from maseval.commands import show, tau2
from maseval.runs import RunFolder


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diagnosed") / "noisy"
    return tau2.run(
        domain="library", agent="noisy", agent_args={"error_rate": 0.3}, trials=2, output=folder
    ).folder


def test_every_failed_simulation_and_no_other_has_a_diagnosis(noisy):
    told = []

    found = examine_run(
        RunFolder.read(noisy), on_progress=lambda done, total: told.append((done, total))
    ).diagnosis.found

    lines = {(line.domain, line.task_id, line.trial): line for line in show(noisy).lines}
    assert found.keys() == lines.keys()
    for key, diagnosis in found.items():
        assert (diagnosis is None) == (lines[key].outcome == "pass")
    assert told[-1] == (24, 24)


def test_a_diagnosis_names_the_message_that_decided_and_what_its_label_means(noisy):
    found = map(diagnose, RunFolder.read(noisy).reports())
    failed = [each for each in found if each is not None]

    for each in failed:
        message = each.for_page()["message"]
        named = [f"message {message}" in line for line in each.label.evidence]
        assert any(named) or message in [None, *(field["message"] for field in each.fields)]
    assert any(each.message is not None for each in failed)
    meanings = {each.label.rule: each.for_page()["label"]["meaning"] for each in failed}
    assert meanings["missing write"].startswith("Something was not done")


def test_the_official_number_is_that_of_the_run(noisy):
    view = show(noisy)

    overall, official = view.summary.overall, view.beside[0]
    assert (official.counted, official.pass_hat) == ("official", overall.pass_hat)
    assert sum(view.labels["by_what"].values()) == overall.planned - overall.passed


def test_a_simulation_that_broke_is_nobodys_verdict(tmp_path):
    (tmp_path / "short.json").write_text('["Hello."]')
    run = tau2.run(
        domain="library",
        num_tasks=1,
        agent_model=f"scripted/{tmp_path / 'short.json'}",
        user="scripted",
        output=tmp_path / "r",
    )

    (report,) = RunFolder.read(run.folder).reports()
    found = diagnose(report)

    assert found.summary is None and found.explained == ()
    assert found.label.rule == "status of the run"
    assert report["status"] in found.label.evidence[0]
    assert found.sections()[0].title.startswith(found.name)
