"""Nothing that a model wrote comes alive in the viewer, wherever it stands."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hostile import ALIVE, ALLOWED, PAYLOADS, hostile_reports
from tests.browser.runs import written_run
from tests.browser.waiting import eventually, unfold

VIEWERS_OWN = {"link", "form", "progress", "mark", "textarea"}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs whose tasks say one hostile text each."""
    root = tmp_path_factory.mktemp("hostile")
    reports = [each for text in PAYLOADS.values() for each in hostile_reports(text)[:1]]
    for name in ("one", "two"):
        written_run(root / name, reports)
    return root


def assert_inert(page: Page) -> None:
    assert page.evaluate("window.__pwned") is None
    tags = set(page.evaluate("[...document.querySelectorAll('*')].map((e) => e.localName)"))
    assert tags <= ALLOWED | VIEWERS_OWN
    assert page.evaluate(ALIVE) == []
    expect(page.locator("script")).to_have_count(1)


def test_hostile_text_stays_text_in_a_run(visit, serve, hostile):
    visited = visit(serve(hostile).url)
    page = visited.open("/run/one")

    def whole_ids():  # long ones are shown in short
        ids = page.locator("table.tasks .id")
        return ids.evaluate_all("(all) => all.map((each) => each.title)")

    eventually(lambda: set(whole_ids()), set(PAYLOADS.values()))
    assert_inert(page)

    for text in whole_ids():
        page.keyboard.press("j")
        panel = visited.wait_for_simulation(f"{text}/{text}/0")
        unfold(page)
        assert_inert(page)
        eventually(panel.locator("h2 .id").text_content, text)
        eventually(panel.locator(".message.user .prose").text_content, text)


def test_hostile_text_stays_text_in_a_comparison(visit, serve, hostile):
    visited = visit(serve(hostile).url)
    page = visited.open("/compare?run=one&run=two")
    links = page.locator("table.compared tbody th a").evaluate_all(
        "(all) => all.map((each) => each.getAttribute('href'))"
    )
    assert len(links) == len(PAYLOADS)
    for link in links:
        page.evaluate("(link) => (location.hash = link)", link)
        visited.wait_for_simulation()
        unfold(page)
        assert_inert(page)
        page.keyboard.press("Escape")
        expect(page.locator("#panel")).to_be_hidden()
        expect(page.locator("#panel[data-ready]")).to_have_count(0)
