"""One run in the viewer, while it goes on and afterwards, in a real browser."""

import os
import re

import pytest
from playwright.sync_api import expect

from maseval.runs import RunFolder
from maseval.runs.live import publish
from tests.browser.runs import planned, written_run
from tests.browser.waiting import eventually
from tests.report.builders import simulated

REPORTS = [
    simulated(str(task), trial, reward=float((task + trial) % 2 == 0))
    for task in range(6)
    for trial in range(2)
]


@pytest.fixture
def growing(tmp_path):
    """A run in which four of twelve simulations are done, and which goes on."""
    with RunFolder.open(tmp_path / "grows", planned(REPORTS)) as folder:
        for each in REPORTS[:4]:
            folder.append(each)
        yield folder


def test_a_simulation_that_finishes_appears_and_moves_nothing(visit, serve, growing):
    visited = visit(serve(growing.path.parent).url)
    page = visited.open("/run/grows#retail/0/1")
    panel = visited.wait_for_simulation()
    panel.locator("summary", has_text="Reference actions").click()
    expect(panel.locator("details[open] .checks")).not_to_have_count(0)
    panel.evaluate("(panel) => panel.scrollTo({ top: 200, behavior: 'instant' })")
    page.focus("#search")
    conversation = panel.locator(".part.conversation").element_handle()
    expect(page.locator("table.tasks .cell")).to_have_count(4)
    eventually(lambda: panel.evaluate("(panel) => panel.scrollTop"), 200)

    growing.append(REPORTS[4])

    expect(page.locator("table.tasks .cell")).to_have_count(5)
    expect(page.locator(".live .outcome")).to_contain_text("5 of 12 simulations")
    assert conversation.evaluate("(section) => section.isConnected")
    assert panel.evaluate("(panel) => panel.scrollTop") == 200
    expect(panel.locator("details[open]", has_text="Reference actions")).to_have_count(1)
    expect(page.locator("#search")).to_be_focused()
    expect(page.locator(".cell[aria-current]")).to_have_attribute("href", "#retail/0/1")

    page.evaluate("location.hash = '#retail/2/0'")
    expect(panel.locator("h2 .id")).to_have_text("2")
    expect(panel.locator(".message")).to_have_count(6)


def test_a_running_run_shows_how_far_it_is(visit, serve, growing):
    page = visit(serve(growing.path.parent).url).open("/run/grows")

    strip = page.locator(".card.live")
    expect(strip.locator(".state")).to_have_text("running")
    expect(strip.locator("progress")).to_have_attribute("value", "4")
    expect(strip.locator("dd").first).to_contain_text("50.0")
    expect(strip).to_contain_text("$1.00 so far")
    expect(strip.locator("svg.interval")).not_to_have_count(0)

    for each in REPORTS[4:]:
        growing.append(each)
    growing.close()

    expect(strip).to_be_hidden()
    expect(page.locator("table.tasks .cell")).to_have_count(12)
    expect(page.locator("table.results tbody tr").last).to_contain_text("12")


def test_what_each_simulation_in_flight_is_doing_is_shown(visit, serve, growing):
    page = visit(serve(growing.path.parent).url).open("/run/grows")
    last = {"role": "user", "text": "<b>Where</b> is it?"}
    flight = {"domain": "retail", "task": "2", "trial": 0, "step": 3, "last": last}
    known = {"pid": os.getpid(), "at": "now", "cost": 2.5, "tokens": 20, "rate_limits": 2}

    publish(growing.path, {**known, "in_flight": [{**flight, "since": "2025-01-01T00:00:00"}]})

    item = page.locator(".flights li")
    expect(item.locator(".last")).to_have_text("User: <b>Where</b> is it?")
    expect(item.locator(".id")).to_have_text("retail/2/0")
    expect(page.locator(".live .outcome")).to_contain_text("$2.50 so far · 2 rate limits")


def test_the_page_survives_a_restart_of_the_server(visit, serve, growing):
    first = serve(growing.path.parent)
    visited = visit(first.url)
    page = visited.open("/run/grows#retail/0/0")
    visited.wait_for_simulation()
    expect(page.locator(".live .state")).to_have_text("running")

    first.close()
    expect(page.locator(".lost")).to_have_text("Connection lost, retrying …")
    growing.append(REPORTS[4])
    serve(growing.path.parent, again=first)

    expect(page.locator(".lost")).to_be_hidden()
    expect(page.locator("table.tasks .cell")).to_have_count(5)
    growing.append(REPORTS[5])
    expect(page.locator("table.tasks .cell")).to_have_count(6)
    expect(page.locator("#panel .message")).to_have_count(6)
    visited.noise.clear()  # the browser says that nobody answered


def test_an_interrupted_run_says_so_and_is_taken_up_again(visit, serve, growing):
    growing.close()
    page = visit(serve(growing.path.parent).url).open("/run/grows")
    expect(page.locator(".live .state")).to_have_text("incomplete")

    with RunFolder.open(growing.path, planned(REPORTS)) as resumed:
        resumed.append(REPORTS[4])
        expect(page.locator(".live .state")).to_have_text("running")
        expect(page.locator("table.tasks .cell")).to_have_count(5)


def test_a_run_opens_as_its_report_does(visit, serve, tmp_path):
    written_run(tmp_path / "deep" / "one run", REPORTS)
    visited = visit(serve(tmp_path).url)
    page = visited.open("/run/deep/one%20run#retail/0/1/m4")
    visited.wait_for_simulation()

    expect(page).to_have_title("deep/one run · maseval")
    expect(page.locator(".message.marked")).to_have_id("message-4")
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile("#retail/1/0$"))


def test_labels_appear_in_the_filters_before_a_failure_was_opened(visit, serve, compared):
    page = visit(serve(compared).url).open("/run/hurried")

    choice = page.get_by_label("Label")
    expect(choice.locator("option")).not_to_have_count(0)
    label = choice.locator("option").nth(1).get_attribute("value")
    choice.select_option(label)

    shown = page.locator("table.tasks tbody tr:visible .cell:not(.dim)")
    expect(shown).not_to_have_count(0)
    expect(page.locator("output.status")).not_to_have_text("24 of 24 simulations")
    expect(page.locator("#panel")).to_be_hidden()


def test_a_run_that_is_not_there_is_said_so(visit, serve, tmp_path):
    visited = visit(serve(tmp_path).url)
    page = visited.open("/run/nothing")
    expect(page.get_by_role("alert")).to_contain_text("no run is called 'nothing'")
    visited.noise.clear()  # the browser says that the answer was a 404
