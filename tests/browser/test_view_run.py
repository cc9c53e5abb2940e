"""One run in the viewer, while it goes on and afterwards, in a real browser."""

import os
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from maseval.runs import RunFolder, recording
from maseval.runs.lock import publish
from maseval.view import viewed
from maseval.view.viewed import ViewedRun
from tests.browser.runs import planned, written_run
from tests.browser.waiting import eventually
from tests.report.builders import simulated

REPORTS = [
    simulated(str(task), trial, reward=float((task + trial) % 2 == 0))
    for task in range(6)
    for trial in range(2)
]


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[Path]:
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
    expect(strip.locator(".run-state")).to_have_text("running")
    expect(strip.locator("progress")).to_have_attribute("value", "4")
    expect(page.locator(".headline")).to_contain_text(
        re.compile(r"passes 50\.0\s% of the \d of 6 (\w+ )?tasks with a verdict")
    )
    expect(page.locator(".headline")).to_contain_text("4 of 12 simulations have a verdict")
    expect(strip).to_contain_text("$1.00 so far")

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
    known = {"pid": os.getpid(), "at": "now", "cost": 2.5, "tokens": 20}

    publish(growing.path, {**known, "in_flight": [{**flight, "since": "2025-01-01T00:00:00"}]})

    item = page.locator(".flights li")
    expect(item.locator(".last")).to_have_text("User: <b>Where</b> is it?")
    expect(item.locator(".id")).to_have_text("retail/2/0")
    expect(page.locator(".live .outcome")).to_contain_text("$2.50 so far")


def test_a_run_that_ended_before_its_first_result_says_what_is_known(visit, serve, tmp_path):
    reports = [simulated("0"), simulated("1")]
    with RunFolder.open(tmp_path / "runs" / "killed", planned(reports)):
        pass
    page = visit(serve(tmp_path / "runs").url).open("/run/killed")

    card = page.locator("section[aria-labelledby=results]")
    expect(card).to_contain_text("None of 2 planned simulations has finished.")
    expect(card).to_contain_text("to resume it")
    expect(card.locator("table, dl, ul")).to_have_count(0)


def test_every_planned_trial_has_a_cell(visit, serve, growing):
    page = visit(serve(growing.path.parent).url).open("/run/grows")
    rows = page.locator("table.tasks tbody tr")
    expect(rows).to_have_count(6)
    expect(page.locator(".trial-numbers")).to_have_text("01")
    waiting = page.locator("table.tasks .absent.waiting")
    expect(waiting).to_have_count(8)

    last = {"role": "user", "text": "Where is it?"}
    flight = {"domain": "retail", "task": "4", "trial": 1, "step": 1, "last": last}
    known = {"pid": os.getpid(), "at": "now", "cost": 2.5, "tokens": 20}
    publish(growing.path, {**known, "in_flight": [{**flight, "since": "2025-01-01T00:00:00"}]})
    expect(page.locator(".flights .last")).to_have_text(re.compile("Where is it"))
    expect(waiting).to_have_count(7)

    growing.append(REPORTS[9])
    expect(rows.nth(4).locator("a.cell")).to_have_count(1)
    page.locator(".chip.fail").click()
    expect(rows.locator(".id", has_text="5")).to_have_count(0)
    page.locator(".chip.fail").click()

    growing.close()
    expect(page.locator("table.tasks .absent.missing")).to_have_count(7)
    expect(page.locator("table.tasks a.cell")).to_have_count(5)


def test_the_page_survives_a_restart_of_the_server(visit, serve, growing):
    first = serve(growing.path.parent)
    visited = visit(first.url)
    page = visited.open("/run/grows#retail/0/0")
    visited.wait_for_simulation()
    expect(page.locator(".live .run-state")).to_have_text("running")

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
    expect(page.locator(".live .run-state")).to_have_text("incomplete")

    with RunFolder.open(growing.path, planned(REPORTS)) as resumed:
        resumed.append(REPORTS[4])
        expect(page.locator(".live .run-state")).to_have_text("running")
        expect(page.locator("table.tasks .cell")).to_have_count(5)


def test_a_run_opens_as_its_report_does(visit, serve, tmp_path):
    written_run(tmp_path / "deep" / "one run", REPORTS)
    visited = visit(serve(tmp_path).url)
    page = visited.open("/run/deep/one%20run#retail/0/1/m4")
    visited.wait_for_simulation()

    expect(page).to_have_title("deep/one run · maseval")
    expect(page.locator(".message.marked")).to_have_attribute("data-message", "4")
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


def test_how_far_labelling_has_come_is_said_until_it_is_done(
    visit, serve, compared, monkeypatch, tmp_path
):
    """Nobody takes the first labels for all; the page reads everything again once, at the end."""
    found = threading.Semaphore(0)
    labels_of = ViewedRun.labels_of

    def wait_for_a_word(run, at):
        # The search reads labels as well, in a thread of its own.
        if threading.current_thread().name == "maseval-labels":
            found.acquire()
        return labels_of(run, at)

    monkeypatch.setattr(ViewedRun, "labels_of", wait_for_a_word)
    monkeypatch.setattr(viewed, "_AT_A_TIME", 0.0)
    # Another test may have labelled the run that all of them share.
    unlabelled = shutil.ignore_patterns("view-*")
    shutil.copytree(compared / "hurried", tmp_path / "hurried", ignore=unlabelled)
    page = visit(serve(tmp_path).url).open("/run/hurried")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    labels = page.locator(".counts", has_text="Why it failed")
    expect(labels).to_contain_text("labelling 0 of 24")

    found.release(3)
    expect(labels).to_contain_text("labelling 3 of 24")
    found.release(21)

    expect(labels).not_to_contain_text("labelling")
    expect(labels.locator("tr")).not_to_have_count(0)
    page.get_by_text("What does this number mean?").click()
    expect(page.locator("#overview")).to_contain_text("no verdict differs")
    assert len([address for address in asked if "/api/run/index" in address]) == 1


def test_the_frame_is_there_while_a_long_log_is_read(visit, serve, tmp_path, monkeypatch):
    go_on = threading.Event()
    lines_of = recording.lines_of

    def stop_half_way(path, after=None):
        for line in lines_of(path, after):
            if line.number == 8:
                go_on.wait()
            yield line

    monkeypatch.setattr(recording, "lines_of", stop_half_way)
    written_run(tmp_path / "long", REPORTS)
    visited = visit(serve(tmp_path).url)
    page = visited.page
    page.goto(f"{visited.url}/run/long")

    expect(page.get_by_role("heading", level=1)).to_have_text("long")
    expect(page.get_by_role("navigation", name="Viewer")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("Reading the run …")
    go_on.set()

    expect(page.locator("table.tasks .cell")).to_have_count(12)
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    expect(page.locator(".reading-log")).to_have_count(0)


def test_a_run_that_is_not_there_is_said_so(visit, serve, tmp_path):
    visited = visit(serve(tmp_path).url)
    page = visited.open("/run/nothing")
    expect(page.get_by_role("alert")).to_contain_text("no run is called 'nothing'")
    visited.noise.clear()  # the browser says that the answer was a 404


def test_the_arrow_keys_stop_at_every_trial_with_a_record_or_without(visit, serve, tmp_path):
    reports = [simulated("0"), simulated("0", 2), simulated("2", 1), simulated("2", 2)]
    plan = {"tasks": {"retail": ["0", "1", "2"]}, "trials": 3}
    with RunFolder.open(tmp_path / "gaps", plan) as folder:
        for each in reports:
            folder.append(each)
    page = visit(serve(tmp_path).url).open("/run/gaps")

    page.locator('.cell[href="#retail/0/0"]').focus()
    words = "retail task {}, trial {}: {}"
    for key, *place in (
        ("ArrowRight", "0", "1", "missing"),
        ("ArrowDown", "1", "1", "missing"),
        ("ArrowDown", "2", "1", "passed"),
        ("ArrowLeft", "2", "0", "missing"),
        ("ArrowUp", "1", "0", "missing"),
        ("ArrowUp", "0", "0", "passed"),
        ("ArrowUp", "0", "0", "passed"),
    ):
        page.keyboard.press(key)
        expect(page.locator("table.tasks :focus")).to_have_attribute(
            "aria-label", re.compile(words.format(*place))
        )
        expect(page.locator('.tasks [tabindex="0"]:is(.cell, .absent)')).to_have_count(1)


def test_a_trial_that_is_missing_leaves_its_place_and_columns_are_numbered(visit, serve, tmp_path):
    reports = [simulated("0"), simulated("0", 2), simulated("1", 1)]
    written_run(tmp_path / "gaps", reports)
    page = visit(serve(tmp_path).url).open("/run/gaps")

    expect(page.locator(".trial-numbers span")).to_have_text(["0", "1", "2"])
    row = page.locator("table.tasks tbody tr").first
    expect(row.locator(".cells > *")).to_have_count(3)
    expect(row.locator(".cells > .absent")).to_have_attribute(
        "aria-label", re.compile("trial 1: missing$")
    )
    places = [
        page.locator(
            f"table.tasks tbody tr:nth-child({line}) .cells > :nth-child(2)"
        ).bounding_box()
        for line in (1, 2)
    ]
    assert places[0]["x"] == places[1]["x"]


def test_a_link_to_a_simulation_that_is_not_there_says_so(visit, serve, tmp_path):
    written_run(tmp_path / "run", [simulated("0")])
    page = visit(serve(tmp_path).url).open("/run/run#retail/42/0")

    expect(page.locator(".absent-notice")).to_contain_text("no simulation retail/42/0")
    page.locator("table.tasks .cell").first.click()
    expect(page.locator("#panel")).to_be_visible()
    expect(page.locator(".absent-notice")).to_be_hidden()
