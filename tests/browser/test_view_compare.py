"""Two runs side by side in a real browser."""

import pytest
from playwright.sync_api import expect

from maseval.commands import compare
from tests.browser.runs import written_run
from tests.report.builders import CONVERSATION, said, simulated


@pytest.fixture
def pair(tmp_path):
    """The same beginning, and another end from message 4 on."""
    other = [*CONVERSATION[:4], said("assistant", "No."), said("user", "Oh. ###STOP###")]
    written_run(tmp_path / "a", [simulated("0"), simulated("1")])
    written_run(tmp_path / "b", [simulated("0"), simulated("1", reward=0.0, messages=other)])
    return tmp_path


def test_the_numbers_are_those_of_maseval_compare(visit, serve, compared):
    page = visit(serve(compared).url).open("/compare?a=careful&b=hurried")
    expected = compare([compared / "careful", compared / "hurried"])

    table = page.locator("table.results")
    for summary in expected.summaries.values():
        assert f"{100 * summary.overall.estimates[0].value:.1f}" in table.text_content()
    assert f"{100 * expected.two.main.difference:+.1f}" in page.locator(".notes").text_content()
    flipped = {flip.task for flip in expected.two.flipped}
    listed = page.locator("table.compared tbody th").all_text_contents()
    assert {name.removeprefix("library/") for name in listed[: len(flipped)]} == flipped


def test_two_conversations_are_aligned_up_to_their_first_difference(visit, serve, pair):
    visited = visit(serve(pair).url)
    page = visited.open("/compare?a=a&b=b")
    assert page.locator("table.compared tbody th").all_text_contents() == ["retail/1", "retail/0"]

    page.get_by_role("link", name="retail/1").first.click()
    panel = visited.wait_for_simulation()

    assert page.url.endswith("#retail/1?a=0&b=0")
    assert panel.locator(".pair.equal ol").first.locator(".message").count() == 3
    assert "after 3 equal messages" in panel.locator("#difference").text_content()
    differing = panel.locator(".message.differs")
    assert "cancel_order" in differing.first.text_content()
    assert "No." in differing.last.text_content()
    link = differing.last.locator(".anchor").get_attribute("href")
    assert link == "/run/b#retail/1/0/m4"
    ids = page.locator("#panel [id]").evaluate_all("(all) => all.map((each) => each.id)")
    assert ids == ["difference"]


def test_a_pair_has_an_address_and_is_closed_with_a_key(visit, serve, pair):
    visited = visit(serve(pair).url)
    page = visited.open("/compare?a=a&b=b#retail/0?a=0&b=0")
    panel = visited.wait_for_simulation()
    assert "are the same" in panel.locator("#difference").text_content()

    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()


def test_runs_that_cannot_be_compared_are_refused_in_words(visit, serve, pair):
    visited = visit(serve(pair).url)
    page = visited.open("/compare?a=a&b=nothing")
    expect(page.locator("output.status")).to_contain_text("no run is called 'nothing'")
    visited.noise.clear()  # the browser says that the answer was a 404
