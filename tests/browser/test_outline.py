"""The way through a long conversation."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from maseval.report import write_report
from tests.report.builders import answered, call, said, simulated


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A failure with two writes in 40 messages, the second of which is the first wrong step."""
    talk = [said(("assistant", "user")[at % 2], f"Turn {at}. " * 30, second=at) for at in range(40)]
    talk[10] = said("assistant", None, call("note_address", city="Ulm"), second=10)
    talk[11] = answered("noted")
    talk[20] = said("assistant", None, call("cancel_order", order_id="#W1"), second=20)
    talk[21] = answered("\n".join(f"line {at}" for at in range(40)))
    explanation = {
        "message": 20,
        "label": {"name": "agent: wrong write", "rule": "wrong", "evidence": ["message 20: no"]},
        "sections": [{"title": "Point of no return", "lines": ["message 24: it was shipped"]}],
    }
    types = {"tool_types": {"note_address": "write", "cancel_order": "write"}}
    report = simulated("0", 0, reward=0.0, messages=talk, explanation=explanation)
    report["config"]["environment"] = {**report["config"].get("environment", {}), **types}
    return write_report([report], tmp_path / "report.html")


def test_a_failure_opens_at_its_first_wrong_step(visit, run):
    visited = visit(run)
    page = visited.open("#retail/0/0")
    visited.wait_for_simulation()

    fault = page.locator("#panel .message.lost-here")
    expect(fault).to_be_in_viewport()
    expect(fault.locator(".lost-mark")).to_contain_text("First wrong step: agent: wrong write")
    expect(page.locator(".gone-mark")).to_have_text("Point of no return: it was shipped")
    expect(page.locator(".message", has=page.locator(".gone-mark"))).to_have_attribute(
        "data-message", "24"
    )
    expect(page).to_have_url(f"{visited.url}#retail/0/0")


def test_keys_go_from_event_to_event(visit, run):
    visited = visit(run, reduced_motion="reduce")
    page = visited.open("#retail/0/0/m0")
    visited.wait_for_simulation()

    for number in ("10", "20", "24"):
        page.keyboard.press("]")
        expect(page.locator("#panel .message:focus")).to_have_attribute("data-message", number)
    page.keyboard.press("[")
    expect(page.locator("#panel .message:focus")).to_have_attribute("data-message", "20")


def test_a_wide_window_has_an_outline_and_uses_its_width(visit, run, flaws):
    visited = visit(run, viewport={"width": 2560, "height": 1200})
    page = visited.open("#retail/0/0")
    visited.wait_for_simulation()

    outline = page.get_by_role("navigation", name="Outline")
    expect(outline.get_by_role("link")).to_have_count(38)
    expect(outline.locator(".event")).to_have_count(3)
    assert page.locator("ol.conversation").bounding_box()["width"] > 1100
    outline.get_by_role("link", name="#10 ✎ Agent: note_address").click()
    expect(page.locator(".message.marked")).to_have_attribute("data-message", "10")
    assert flaws(page) == []


def test_kinds_of_events_are_hidden_and_shown_and_all_is_folded(visit, run):
    visited = visit(run)
    page = visited.open("#retail/0/0")
    visited.wait_for_simulation()
    shown = page.get_by_role("group", name="Shown")

    shown.get_by_role("button", name="User").click()
    expect(page.locator("#panel .message.user").first).to_be_hidden()
    shown.get_by_role("button", name="User").click()
    expect(page.locator("#panel .message.user").first).to_be_visible()
    page.get_by_role("button", name="Expand all").click()
    expect(page.locator("#panel .answer details")).to_have_attribute("open", "")
    expect(page.get_by_text("line 39")).to_be_visible()
    page.get_by_role("button", name="Collapse all").click()
    expect(page.get_by_text("line 39")).to_be_hidden()


def test_a_message_and_the_whole_transcript_are_copied_as_text(visit, run, browser):
    visited = visit(run, permissions=["clipboard-read", "clipboard-write"])
    page = visited.open("#retail/0/0")
    visited.wait_for_simulation()

    page.get_by_role("button", name="Copy message 10", exact=True).click()
    expect(page.get_by_text("copied")).to_be_visible()
    text = page.evaluate("navigator.clipboard.readText()")
    assert text == '#10 Agent\n→ note_address {"city": "Ulm"}\n← noted'
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_text("copied")).to_have_count(2)
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("#0 Agent\nTurn 0.") and "#39 User" in text and "line 39" in text
