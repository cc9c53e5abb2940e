"""Who failed in a run, and what that makes of its numbers."""

import pytest

from maseval.app.results.counting import report_notes, report_rows
from maseval.benchmark.tau2.app.results.explain import diagnose
from maseval.benchmark.tau2.app.results.support import SUPPORT
from maseval.benchmark.tau2.labels import Label, Labelled, summarise_labels
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

    found = SUPPORT.run_diagnosis(
        RunFolder.read(noisy), lambda done, total: told.append((done, total))
    ).found

    lines = {(line.domain, line.task_id, line.trial): line for line in show(noisy).lines}
    assert found.keys() == lines.keys()
    for key, diagnosis in found.items():
        assert (diagnosis is None) == (lines[key].outcome == "pass")
    assert told[-1] == (24, 24)


def test_the_official_number_is_that_of_the_run(noisy):
    summary = SUPPORT.run_diagnosis(RunFolder.read(noisy), None).labels

    overall = show(noisy).summary.overall
    assert summary["official"]["values"] == {
        f"pass^{k}": pytest.approx(each.value) for k, each in overall.pass_hat.items()
    }
    assert sum(summary["by_what"].values()) == overall.planned - overall.passed


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

    assert found.explanation is None
    assert found.label.rule == "status of the run"
    assert report["status"] in found.label.evidence[0]
    assert found.sections()[0].title.startswith(found.name)


def labelled(task, who):
    return Labelled(task, None if who is None else Label(who, "something", "rule"))


def test_rows_that_leave_failures_out_are_there_only_where_something_is_left_out():
    agents_only = summarise_labels([labelled("1", "agent"), labelled("1", None)])
    users = summarise_labels([labelled("1", "user"), labelled("1", None)])
    both = summarise_labels([labelled("1", "user"), labelled("2", "task"), labelled("2", None)])

    assert report_rows(agents_only) == [] and report_notes(agents_only) == []
    (row,) = report_rows(users)
    assert row == {
        "name": "without user failures",
        "tasks": 1,
        "simulations": 1,
        "pass^1": 1.0,
        "pass^2": None,
    }
    assert len(report_rows(both)) == 3 and "never" in report_notes(both)[0]
