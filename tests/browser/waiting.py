"""Waiting, from outside of the page, for what it is about to show.

A page answers a click or a key in its own time, so nothing is read once right after an action:
``expect`` of Playwright waits, and so does this, for what ``expect`` cannot read.
"""

import time
from collections.abc import Callable
from typing import Any

# Seconds: a guard against hanging. A busy machine may take long to read a browser from disk.
PATIENCE = 150
PAUSE = 0.05


def eventually(read: Callable[..., Any], expected: bool = True) -> None:
    """Waits until ``read`` gives what is expected; fails with what it gave last."""
    end = time.monotonic() + PATIENCE
    while (found := read()) != expected and time.monotonic() < end:
        time.sleep(PAUSE)
    assert found == expected


def unfold(page: Any) -> None:
    """Opens everything that is folded, and what is folded in it."""
    from playwright.sync_api import expect

    while page.locator("details:not([open])").count():
        page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
        expect(page.locator("details[open] > summary:only-child")).to_have_count(0)
