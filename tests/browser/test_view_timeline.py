"""Time travel in a real browser: the databases after each message of a conversation."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from maseval.commands import tau2
from maseval.runs import RunFolder


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str, Any]:
    """A folder with a gold run, the name of its simulation, and its messages."""
    folder = tmp_path_factory.mktemp("travel")
    tau2.run(domain="library", num_tasks=1, agent="gold", output=folder / "gold")
    (report,) = RunFolder.read(folder / "gold").reports()
    messages = report["traces"]["environment"]["simulation"]["messages"]
    return folder, f"library/{report['task_id']}/0", messages


@pytest.fixture
def travelling(
    visit: Callable[..., Any], serve: Callable[..., Any], played: Any
) -> Callable[..., Any]:
    """Opens the simulation, at a message if one is named, and unfolds its timeline."""

    def start(message=None, **options):
        folder, name, _ = played
        visited = visit(serve(folder).url, **options)
        place = "" if message is None else f"/m{message}"
        visited.open(f"/run/gold#{quote(name)}{place}")
        panel = visited.wait_for_simulation()
        panel.locator(".time-travel summary").first.click()
        expect(panel.locator(".travel")).to_be_visible()
        return visited, panel

    return start


def block(panel: Any, title: str) -> Any:
    return panel.locator(".worlds .world").filter(has_text=title)


def test_the_slider_goes_through_the_conversation_with_the_arrow_keys(travelling, played):
    _, name, messages = played
    visited, panel = travelling()
    slider = panel.get_by_role("slider", name="Message")
    where = panel.locator(".travel-bar output")
    last = len(messages) - 1
    expect(where).to_contain_text(f"Message {last} of {last}")
    expect(block(panel, "gold end state")).to_contain_text("this is the gold end state")

    slider.focus()
    expect(slider).to_be_focused()
    visited.page.keyboard.press("Home")

    expect(where).to_contain_text("Message 0 of")
    expect(block(panel, "Differs from the start")).to_contain_text("as at the start")
    expect(block(panel, "gold end state").locator("tbody tr")).not_to_have_count(0)
    visited.page.keyboard.press("ArrowRight")
    expect(where).to_contain_text("Message 1 of")
    expect(panel.locator("ol.conversation .message.now")).to_have_attribute("data-message", "1")
    expect(visited.page).to_have_url(re.compile(re.escape(f"{quote(name)}/m1") + "$"))
    expect(panel.locator("[data-message='1']")).to_have_count(1)
    panel.locator("[data-message='0'] .anchor").click()
    expect(where).to_contain_text("Message 0 of")


def test_a_call_shows_what_it_changed(travelling, played):
    _, _, messages = played
    writes = [i for i in range(len(messages)) if messages[i].get("tool_calls")]
    _, panel = travelling(writes[-1])

    changed = block(panel, "This message changed")
    expect(changed.locator("tbody tr")).not_to_have_count(0)
