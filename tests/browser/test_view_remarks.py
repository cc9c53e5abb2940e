"""Remarks in a real browser: written in the viewer with the keyboard, and shown in the report."""

import pytest
from playwright.sync_api import expect

from maseval.commands import report, tau2
from maseval.runs import RunFolder, read_remarks
from tests.browser.runs import written_run
from tests.report.builders import simulated

HOSTILE = '<img src="x" onerror="alert(1)"> ${1} \u00a0end'


@pytest.fixture
def run(tmp_path):
    return written_run(tmp_path / "runs" / "first", [simulated("0"), simulated("1", reward=0.0)])


def opened(visit, server):
    visited = visit(server.url)
    page = visited.open("/run/first#retail/1/0")
    visited.wait_for_simulation("retail/1/0")
    return page


def test_a_verdict_is_disagreed_with_and_a_message_remarked_on(visit, serve, run, flaws):
    server = serve(run.parent, edit=True)
    page = opened(visit, server)
    question = page.get_by_role("group", name="Is this verdict right?")

    question.get_by_role("button", name="Disagree").focus()
    page.keyboard.press("Enter")

    reader = page.locator(".part.reader")
    expect(page.get_by_role("textbox", name="Why")).to_be_focused()
    assert not read_remarks(run)  # nothing is saved before the reader says so
    page.keyboard.type(HOSTILE)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(reader.locator(".remark.disagree")).to_contain_text("The verdict is wrong")
    expect(reader.get_by_role("button", name="Edit: The verdict is wrong")).to_be_focused()
    expect(reader.locator(".remark")).to_contain_text("<img src=")
    expect(page.locator("img")).to_have_count(0)
    expect(page.locator(".notes")).to_contain_text("Readers disagree with 1 of 1 verdict")

    message = page.locator('[data-message="1"]')
    message.get_by_role("button", name="Add a remark on message 1").click()
    page.keyboard.type("j k n / look here")
    expect(page).to_have_url(f"{server.url}/run/first#retail/1/0")
    message.locator("form").get_by_role("button", name="Save").click()
    expect(message.locator(".remark")).to_contain_text("look here")
    assert flaws(page) == []
    assert [each.message for each in read_remarks(run)] == [None, 1]

    page.reload()
    expect(page.locator('[data-message="1"] .remark')).to_contain_text("look here")
    page.get_by_label("Remarks").select_option("The verdict is wrong")
    expect(page.locator(".cell:not(.dim)")).to_have_count(1)


def test_two_open_pages_do_not_overwrite_each_other(visit, serve, run):
    server = serve(run.parent, edit=True)
    one, late = opened(visit, server), visit(server.url)
    other = late.open("/run/first#retail/1/0")
    late.wait_for_simulation("retail/1/0")

    one.get_by_role("button", name="Agree", exact=True).click()
    expect(one.locator(".remark.agree")).to_be_visible()
    other.get_by_role("button", name="Disagree").click()
    other.locator("form").get_by_role("button", name="Save").click()

    expect(other.locator(".part.reader .problem")).to_contain_text("someone else has changed")
    late.noise.clear()  # the browser notes every answer that refuses something
    assert [each.opinion for each in read_remarks(run)] == ["agree"]


def test_a_remark_is_changed_given_up_and_removed(visit, serve, run):
    page = opened(visit, serve(run.parent, edit=True))
    reader = page.locator(".part.reader")

    reader.get_by_role("button", name="Add a remark on this simulation").click()
    page.keyboard.press("Escape")
    expect(reader.get_by_role("textbox")).to_have_count(0)
    expect(page.locator("#panel")).to_be_visible()
    reader.get_by_role("button", name="Add a remark on this simulation").click()
    page.keyboard.type("odd")
    reader.locator("form").get_by_role("button", name="Save").click()
    reader.get_by_role("button", name="Edit: odd").click()
    page.get_by_role("textbox", name="Remark").fill("very odd")
    reader.locator("form").get_by_role("button", name="Save").click()
    expect(reader.locator(".remark")).to_contain_text("very odd")
    reader.get_by_role("button", name="Edit: very odd").click()
    reader.get_by_role("button", name="Remove").click()
    expect(reader.locator(".remark")).to_have_count(0)
    assert read_remarks(run) == []


def test_without_editing_and_in_the_report_remarks_are_only_shown(visit, serve, run, tmp_path):
    page = opened(visit, serve(run.parent, edit=True))
    page.get_by_role("button", name="Agree", exact=True).click()
    expect(page.locator(".remark.agree")).to_be_visible()
    page = opened(visit, serve(run.parent))
    expect(page.locator(".remark.agree")).to_be_visible()
    expect(page.locator(".remarks button")).to_have_count(0)

    visited = visit(report(run, tmp_path / "page.html"))
    page = visited.open("#retail/1/0")
    visited.wait_for_simulation("retail/1/0")

    expect(page.locator(".remark.agree")).to_contain_text("The verdict is right")
    expect(page.locator(".remarks button")).to_have_count(0)
    expect(page.locator(".notes")).to_contain_text("Readers disagree with 0 of 1 verdict")


def test_a_branch_and_its_origin_link_to_each_other(visit, serve, tmp_path):
    origin = tau2.run(domain="library", num_tasks=1, agent="noop", output=tmp_path / "one").folder
    one = next(iter(RunFolder.read(origin).planned))
    tau2.branch(run=origin, task=one.task_id, at=1, agent="gold", output=tmp_path / "again")
    page = visit(serve(tmp_path).url).open("/run/again")

    page.get_by_role("link", name=f"one, library/{one.task_id}/0, after message 1").click()

    message = page.locator('[data-message="1"]')
    expect(message.locator(".branch-link")).to_have_text("Branch from here: again (1 of 1 passed)")
    message.get_by_role("link", name="again").click()
    expect(page.locator("h1")).to_have_text("again")
