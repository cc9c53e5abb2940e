"""axe-core finds nothing in any kind of page: light and dark, wide and narrow."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from maseval.report import write_report
from maseval.runs import RunFolder
from maseval.runs.lock import publish
from maseval.stats import Outcome, pass_plot, summarise
from tests.browser.runs import planned
from tests.browser.waiting import unfold
from tests.report.builders import broken, simulated

LABEL = "agent: missing write"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    finished = [
        simulated("0", 0),
        simulated("0", 1, reward=0.0, labels=[LABEL]),
        broken("12", 1, domain="retail"),
    ]
    findings = {("retail", "0"): [("doing nothing passes", "an idle agent gets the reward")]}
    plots = [pass_plot({"mine": summarise([Outcome("retail", "0", 0, passed=True)])})]
    return write_report(finished, tmp_path / "report.html", plots=plots, findings=findings)


def test_the_report_keeps_nobody_out(visit, report, flaws_everywhere):
    visited = visit(report)
    page = visited.open()
    assert flaws_everywhere(page) == {}

    for link, name in (
        ("#retail/0/1", "retail/0/1"),
        ("#retail/12/1", "retail/12/1"),
        ("#retail/0/1?beside=retail%2F0%2F0", "retail/0/1 retail/0/0"),
    ):
        visited.open(link)
        visited.wait_for_simulation(name)
        unfold(page)
        assert flaws_everywhere(page) == {}


def test_the_viewer_keeps_nobody_out(visit, serve, compared, flaws_everywhere):
    visited = visit(serve(compared).url)
    page = visited.open("/")
    assert flaws_everywhere(page) == {}

    visited.open("/run/careful")
    assert flaws_everywhere(page) == {}

    visited.open("/compare?run=careful&run=hurried")
    assert flaws_everywhere(page) == {}
    page.locator("table.compared .cell").first.click()
    visited.wait_for_simulation()
    unfold(page)
    assert flaws_everywhere(page) == {}

    visited.open("/run/careful#library/second_waiver/0")
    visited.wait_for_simulation()
    unfold(page)
    assert flaws_everywhere(page) == {}

    visited.open("/search?q=card")
    expect(page.locator(".hits li")).not_to_have_count(0)
    assert flaws_everywhere(page) == {}


def test_a_running_run_keeps_nobody_out(visit, serve, tmp_path, flaws_everywhere):
    reports = [simulated("0", reward=0.0), simulated("1"), simulated("2")]
    last = {"role": "user", "text": "Where is my parcel?"}
    flight = {"domain": "retail", "task": "2", "trial": 0, "step": 3, "last": last}
    known = {"pid": os.getpid(), "at": "now", "cost": 2.5, "tokens": 20}
    with RunFolder.open(tmp_path / "grows", planned(reports)) as folder:
        for each in reports[:2]:
            folder.append(each)
        publish(folder.path, {**known, "in_flight": [{**flight, "since": "2025-01-01T00:00:00"}]})
        page = visit(serve(tmp_path).url).open("/run/grows")

        expect(page.locator(".live .flights .last")).to_contain_text("Where is my parcel?")
        assert flaws_everywhere(page) == {}
