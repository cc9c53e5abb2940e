"""The list of all runs in a real browser: what it shows, how it is narrowed, and what it keeps."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from maseval.runs import RunFolder, change_note, change_tags
from tests.browser.runs import planned, written_run
from tests.report.builders import broken, simulated


@pytest.fixture
def written(tmp_path: Path) -> Path:
    written_run(tmp_path / "first", [simulated("0"), simulated("1", reward=0.0)])
    written_run(tmp_path / "deep" / "second", [simulated("0"), broken("1", domain="retail")])
    return tmp_path


def expect_names(page: Page, *names: str) -> None:
    expect(page.locator("table.runs tbody th a")).to_have_text(names)


def test_every_run_stands_there_with_its_numbers(visit, serve, compared):
    page = visit(serve(compared).url).open("/")

    row = page.locator('tr[data-run="careful"]')
    expect(row.locator(".run-state")).to_have_text("complete")
    expect(row.locator(".of-pass1")).to_contain_text(re.compile(r"\d+\.\d.% \d+\.\d . \d+\.\d"))
    expect(row.locator(".interval")).to_have_count(1)
    expect(row.locator(".of-domains")).to_contain_text("library")
    expect(page.locator("output.status")).to_have_text("2 of 2 runs")
    row.get_by_role("link", name="careful").click()
    expect(page.locator("h1")).to_have_text("careful")


def test_runs_are_sorted_and_filtered_and_the_address_remembers_it(visit, serve, compared):
    visited = visit(serve(compared).url)
    page = visited.open("/")

    page.get_by_role("button", name="pass^1").click()
    expect_names(page, "careful", "hurried")
    page.get_by_role("button", name="pass^1").click()
    expect_names(page, "hurried", "careful")
    expect(page.locator('th[aria-sort="ascending"]')).to_have_text("pass^1")
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("CARE")
    expect_names(page, "careful")
    expect(page).to_have_url(re.compile("q=CARE"))

    again = visit(visited.url)
    page = again.open(page.url.removeprefix(visited.url))
    expect_names(page, "careful")
    expect(page.locator("#search")).to_have_value("CARE")


def test_a_run_that_begins_and_what_becomes_of_it_appear_by_themselves(visit, serve, written):
    page = visit(serve(written).url).open("/")
    page.get_by_label("Compare first").focus()
    reports = [simulated("7"), simulated("8")]

    with RunFolder.open(written / "third", planned(reports)) as folder:
        folder.append(reports[0])
        row = page.locator('tr[data-run="third"]')
        expect(row.locator(".run-state")).to_have_text("running")
        expect(row.locator(".of-state")).to_contain_text("1/2")
        folder.append(reports[1])
        expect(row.locator(".of-state")).to_contain_text("2/2")

    expect(row.locator(".run-state")).to_have_text("complete")
    expect(page.get_by_label("Compare first")).to_be_focused()


def test_tags_and_notes_are_shown_and_searched(visit, serve, written):
    change_tags(written / "first", ["baseline", "<b>bold</b>"])
    change_note(written / "first", "look at task 1")
    page = visit(serve(written).url).open("/?q=look+at")
    expect_names(page, "first")
    expect(page.locator('tr[data-run="first"] .tag')).to_have_text(["baseline", "<b>bold</b>"])
    expect(page.locator('tr[data-run="first"] .of-note')).to_contain_text("look at task 1")


def test_an_empty_folder_says_what_to_do(visit, serve, tmp_path):
    page = visit(serve(tmp_path).url).open("/")
    expect(page.locator(".card")).to_contain_text("maseval demo")


def test_columns_without_content_are_left_out_and_sides_are_named(visit, serve, compared):
    page = visit(serve(compared).url).open("/")
    expect(page.locator("th.of-models")).to_be_visible()
    expect(page.locator("th.of-tags")).to_be_hidden()
    expect(page.locator("th.of-note")).to_be_hidden()
    row = page.locator('tr[data-run="careful"]')
    expect(row.locator(".of-models")).to_contain_text("agent noisy")


def test_an_address_without_a_page_says_so_and_leads_back(visit, serve, written):
    visited = visit(serve(written).url)
    page = visited.open("/rnus")

    expect(page.get_by_role("alert")).to_contain_text("There is no page here: /rnus")
    expect(page.get_by_role("link", name="All runs")).to_be_visible()
    assert "404" in visited.noise.pop()  # the browser's own word on it


def test_a_page_whose_server_was_away_can_be_tried_again(visit, serve, written):
    visited = visit(serve(written).url)
    visited.page.route("**/api/runs*", lambda route: route.abort(), times=1)
    page = visited.open("/")

    expect(page.get_by_role("alert")).to_contain_text("The viewer's server does not answer")
    page.get_by_role("button", name="Try again").click()
    expect_names(page, "deep/second", "first")
    assert "ERR_FAILED" in visited.noise.pop()  # the browser's own word on it
