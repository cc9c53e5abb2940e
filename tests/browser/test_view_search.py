"""Search over all conversations, and in those of one run, in a real browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.hostile import ALIVE, PAYLOADS
from tests.browser.runs import written_run
from tests.report.builders import CONVERSATION, said, simulated


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    parrot = [*CONVERSATION[:1], said("user", "My parrot ate the PARCEL."), *CONVERSATION[2:]]
    hostile = [said("user", f"walrus {text}") for text in PAYLOADS.values()]
    written_run(tmp_path / "runs" / "one", [simulated("0"), simulated("1", messages=parrot)])
    written_run(tmp_path / "runs" / "two", [simulated("0", messages=hostile)])
    return tmp_path / "runs"


def test_a_hit_leads_to_its_message(visit, serve, runs):
    visited = visit(serve(runs).url)
    page = visited.open("/")
    page.get_by_role("searchbox", name="Search all conversations").fill("parrot parcel")
    page.keyboard.press("Enter")

    hit = page.locator(".hits li")
    expect(hit).to_have_count(1)
    expect(hit.locator("mark")).to_have_text(["parrot", "PARCEL"])
    expect(page.locator("output.status")).to_contain_text("1 hit in")
    hit.get_by_role("link").click()
    visited.wait_for_simulation("retail/1/0")
    expect(page).to_have_url(re.compile("/run/one#retail/1/0/m1$"))
    expect(page.locator(".message.marked")).to_have_attribute("data-message", "1")


def test_many_hits_come_in_pages(visit, serve, tmp_path):
    said_often = [said("user", "walrus again") for _ in range(30)]
    written_run(tmp_path / "many" / "one", [simulated("0", messages=said_often)])
    page = visit(serve(tmp_path / "many").url).open("/search?q=walrus")
    expect(page.locator(".hits li")).to_have_count(25)

    page.get_by_role("button", name="Show more").click()

    expect(page.locator(".hits li")).to_have_count(30)
    expect(page.get_by_role("button", name="Show more")).to_be_hidden()


def test_the_hits_are_inert(visit, serve, runs):
    page = visit(serve(runs).url).open("/search?q=walrus")
    expect(page.locator(".hits li")).to_have_count(len(PAYLOADS))

    assert page.evaluate("window.__pwned") is None
    assert page.evaluate(ALIVE) == []
    expect(page.locator("script")).to_have_count(1)


def test_the_conversations_of_one_run_are_searched_by_the_server(visit, serve, runs):
    page = visit(serve(runs).url).open("/run/one")

    page.fill("#search-text", "parrot ate")
    expect(page.locator("output.status")).to_have_text("1 of 2 simulations")
    page.fill("#search-text", "ate parrot")
    expect(page.locator("output.status")).to_have_text("0 of 2 simulations")
