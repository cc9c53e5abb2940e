"""A whole task played in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from maseval.benchmark.tau2.app.running.options import PlayOptions
from maseval.runs import list_runs
from tests.browser.waiting import eventually

TASK = "renew_own_not_husbands"
GOLD = [
    ("get_member", {"card_number": "B 1184 2011"}),
    ("get_account", {"member_id": "M-2011"}),
    ("renew_loan", {"loan_id": "L-5001"}),
]


@pytest.fixture
def table(visit, serve, tmp_path):
    """A page to play in; the runs are put into ``tmp_path``."""
    return visit(serve(tmp_path, play=PlayOptions(domain="library")).url)


def begin(page):
    expect(page.get_by_label("Task")).to_have_value(TASK)
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_text("It is your turn.")).to_be_visible()


def call(page, name, written):
    form = page.locator(f'[data-tool="{name}"]')
    form.locator("summary").click()
    for parameter, value in written.items():
        form.get_by_label(parameter).fill(value)
    form.get_by_role("button", name="Call").click()


def test_a_whole_gold_solution_is_played_and_passes(table, tmp_path, flaws):
    page = table.open("/play")
    begin(page)
    expect(page.locator(".play-beside")).to_contain_text("Good standing")
    given = page.locator(".play-given")
    expect(given.locator(".markdown .heading").first).to_be_visible()
    expect(given).not_to_contain_text("## ")
    assert flaws(page) == []

    words = page.get_by_label("What you say")
    words.fill("Which card do you have?")
    words.press("Enter")
    expect(page.locator(".message.user").nth(1)).to_contain_text("Ingrid Solheim")
    for number, (name, written) in enumerate(GOLD):
        call(page, name, written)
        expect(page.locator(".call .answer")).to_have_count(number + 1)
    words.fill("Your book is renewed.")
    page.get_by_role("button", name="Send and end the conversation").click()

    expect(page.get_by_text("The conversation is over")).to_be_visible()
    expect(page.locator(".part.verdict")).to_contain_text("Reward 1")
    assert flaws(page) == []
    eventually(lambda: [state.state for state in list_runs(tmp_path)], ["complete"])
    [state] = list_runs(tmp_path)
    assert state.pass_1["value"] == 1
    page.get_by_role("link", name="Open the run").click()
    table.wait_for_simulation(f"library/{TASK}/0")
    expect(page).to_have_url(re.compile(re.escape(f"/run/{state.name}#library/{TASK}/0") + "$"))


def test_what_is_wrong_in_a_form_is_said_beside_it_and_a_reload_resumes(table, tmp_path):
    page = table.open("/play")
    begin(page)

    call(page, "renew_loan", {})
    form = page.locator('[data-tool="renew_loan"]')
    expect(form.get_by_role("alert")).to_contain_text("loan_id is empty")
    page.get_by_label("What you say").fill("Good morning!")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator(".message")).to_have_count(4)

    page.reload()
    expect(page.locator(".message")).to_have_count(4)
    expect(page.get_by_text("Good morning!")).to_be_visible()
    assert [state.state for state in list_runs(tmp_path)] == ["running"]
    table.noise.clear()  # the browser notes every answer that refuses something


def test_on_a_phone_nothing_is_wider_than_the_screen(visit, serve, tmp_path, flaws):
    server = serve(tmp_path, play=PlayOptions(domain="library", side="user"))
    look = {"viewport": {"width": 390, "height": 820}, "color_scheme": "dark"}
    page = visit(server.url, **look).open("/play")
    begin(page)

    expect(page.locator(".play-beside")).to_contain_text("Ask for your own book first")
    eventually(lambda: page.evaluate("document.documentElement.scrollWidth") <= 390)
    assert flaws(page) == []
    server.close()
    eventually(lambda: [state.state for state in list_runs(tmp_path)], ["incomplete"])
