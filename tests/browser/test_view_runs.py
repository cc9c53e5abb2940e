"""The list of all runs in a real browser: what it shows, how it is narrowed, and what it keeps."""

import re

import pytest
from playwright.sync_api import expect

from maseval.runs import RunFolder
from tests.browser.runs import planned, written_run
from tests.report.builders import broken, simulated


@pytest.fixture
def written(tmp_path):
    written_run(tmp_path / "first", [simulated("0"), simulated("1", reward=0.0)])
    written_run(tmp_path / "deep" / "second", [simulated("0"), broken("1", domain="retail")])
    return tmp_path


def names(page):
    return page.locator("table.runs tbody th a").all_text_contents()


def test_every_run_stands_there_with_its_numbers(visit, serve, compared):
    page = visit(serve(compared).url).open("/")

    row = page.locator('tr[data-run="careful"]')
    assert row.locator(".state").text_content() == "finished"
    assert re.search(r"\d+\.\d.% \d+\.\d . \d+\.\d", row.locator(".of-pass1").text_content())
    assert row.locator("svg.interval").count() == 1
    assert "library" in row.locator(".of-domains").text_content()
    assert page.locator("output.status").text_content() == "2 of 2 runs"
    row.get_by_role("link", name="careful").click()
    expect(page.locator("h1")).to_have_text("careful")


def test_runs_are_sorted_and_filtered_and_the_address_remembers_it(visit, serve, compared):
    visited = visit(serve(compared).url)
    page = visited.open("/")

    page.get_by_role("button", name="pass^1").click()
    assert names(page) == ["careful", "hurried"]
    page.get_by_role("button", name="pass^1").click()
    assert names(page) == ["hurried", "careful"]
    assert page.locator('th[aria-sort="ascending"]').text_content() == "pass^1"
    page.keyboard.press("/")
    page.keyboard.type("CARE")
    expect(page.locator("table.runs tbody tr")).to_have_count(1)

    again = visit(visited.url)
    page = again.open(page.url.removeprefix(visited.url))
    assert names(page) == ["careful"]
    assert page.input_value("#search") == "CARE"


def test_two_chosen_runs_are_compared(visit, serve, compared):
    page = visit(serve(compared).url).open("/")

    page.get_by_label("Compare careful").check()
    assert page.locator(".compare-choice a").count() == 0
    page.get_by_label("Compare hurried").check()
    page.get_by_role("link", name="Compare careful with hurried").click()

    page.wait_for_selector("table.compared")
    assert page.url.endswith("/compare?a=careful&b=hurried")


def test_a_run_that_begins_and_what_becomes_of_it_appear_by_themselves(visit, serve, written):
    page = visit(serve(written).url).open("/")
    page.get_by_label("Compare first").focus()
    reports = [simulated("7"), simulated("8")]

    with RunFolder.open(written / "third", planned(reports)) as folder:
        folder.append(reports[0])
        row = page.locator('tr[data-run="third"]')
        expect(row.locator(".state")).to_have_text("running")
        expect(row.locator(".of-state")).to_contain_text("1/2")
        folder.append(reports[1])
        expect(row.locator(".of-state")).to_contain_text("2/2")

    expect(row.locator(".state")).to_have_text("finished")
    assert page.evaluate("document.activeElement.ariaLabel") == "Compare first"


def test_tags_and_notes_can_be_written_where_editing_is_on(visit, serve, written):
    server = serve(written, edit=True)
    page = visit(server.url).open("/")

    page.get_by_role("button", name="Tags of first").click()
    page.get_by_role("textbox", name="Tags of first").fill("baseline, <b>bold</b>")
    page.keyboard.press("Enter")
    tags = page.locator('tr[data-run="first"] .tag')
    expect(tags).to_have_text(["baseline", "<b>bold</b>"])
    page.get_by_role("button", name="Note on first").click()
    page.get_by_role("textbox", name="Note on first").fill("look at task 1")
    page.get_by_role("button", name="Save").click()
    expect(page.locator('tr[data-run="first"] .of-note')).to_contain_text("look at task 1")

    page = visit(server.url).open("/?q=look+at")
    assert names(page) == ["first"]
    assert page.locator(".tag").count() == 2


def test_without_editing_nothing_offers_to_write(visit, serve, written):
    page = visit(serve(written).url).open("/")
    assert page.locator(".edit").count() == 0


def test_two_hundred_runs_are_listed(visit, serve, tmp_path):
    for number in range(200):
        written_run(tmp_path / f"run-{number:03}", [simulated("0", reward=float(number % 2))])
    page = visit(serve(tmp_path).url).open("/")

    assert page.locator("output.status").text_content() == "200 of 200 runs"
    page.fill("#search", "run-19")
    expect(page.locator("table.runs tbody tr")).to_have_count(10)


def test_an_empty_folder_says_what_to_do(visit, serve, tmp_path):
    page = visit(serve(tmp_path).url).open("/")
    assert "maseval demo" in page.locator(".card").text_content()
