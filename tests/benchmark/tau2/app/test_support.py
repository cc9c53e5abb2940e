"""Who failed in a run, and what that makes of its numbers."""

from pathlib import Path

import pytest

from maseval.app.results.examined import examine_run
from maseval.app.results.explained import Review, cause_in, complete_report
from maseval.benchmark.tau2.app.results.explain import review
from maseval.commands import show, tau2
from maseval.runs import RunFolder


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("diagnosed") / "noisy"
    return tau2.run(
        domain="library", agent="noisy", agent_args={"error_rate": 0.3}, trials=2, output=folder
    ).folder


def test_every_failed_simulation_and_no_other_has_a_cause(noisy):
    told = []

    found = examine_run(
        RunFolder.read(noisy), on_progress=lambda done, total: told.append((done, total))
    ).findings

    lines = {(line.domain, line.task_id, line.trial): line for line in show(noisy).lines}
    assert found.keys() == lines.keys()
    for key, findings in found.items():
        assert (cause_in(findings) is None) == (lines[key].kind == "pass")
    assert told[-1] == (24, 24)


def test_a_page_names_the_message_and_the_fact_that_decided(noisy):
    failed = []
    for report in RunFolder.read(noisy).reports():
        found = review(report)
        if cause := cause_in(found.findings):
            page = complete_report(report, None, Review([cause], found.explanation))["explanation"]
            failed.append((cause, found.explanation, page))

    for _, explanation, page in failed:
        named = [f"message {page['message']}" in line for line in page["label"]["evidence"]]
        wrong = [each["message"] for each in explanation.fields]
        assert any(named) or page["message"] in [None, *wrong]
    assert any(page["message"] is not None for *_, page in failed)
    facts = [page["label"]["meaning"] for cause, _, page in failed if cause.rule == "not decided"]
    assert any(each.endswith(" was not made") for each in facts)


def test_the_official_number_is_that_of_the_run(noisy):
    view = show(noisy)

    overall, official = view.summary.overall, view.scores[0]
    assert (official.counted, official.pass_hat) == ("official", overall.pass_hat)
    assert sum(view.causes.values()) == overall.planned - overall.passed
