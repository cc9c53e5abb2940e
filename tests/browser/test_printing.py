"""What comes out of the printer: the text of the PDF, and a picture of its pages."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from playwright.sync_api import Page, expect

from maseval.report import write_report
from tests.browser.runs import compared_runs
from tests.report.builders import answered, call, said, simulated

LONG = '{"rooms": [' + ", ".join(f'{{"number": {at}, "floor": "F{at}"}}' for at in range(60)) + "]}"


@pytest.fixture
def failed(tmp_path: Path) -> Any:
    """A failure whose fault, long tool result and unmet check a printed transcript must have."""
    messages = [
        said("user", "I want room 12. " * 30),
        said("assistant", None, call("book", room=13)),
        answered(LONG),
        *(said(("user", "assistant")[at % 2], f"Turn {at}. " * 60) for at in range(14)),
    ]
    place = {"place": "rooms[12].taken", "expected": "true", "found": "false", "message": 1}
    explanation = {
        "message": 1,
        "label": {"name": "agent: wrong arguments", "rule": "wrong", "evidence": ["message 1: 13"]},
        "fields": [place],
    }
    one = simulated("12", 0, reward=0.0, messages=messages, explanation=explanation)
    return write_report([one, simulated("13", 0)], tmp_path / "report.html", title="A run")


def printed(page: Page, path: Path) -> tuple[Any, Any]:
    """Return the document, and its text without the white space that a reader of PDF guesses."""
    page.pdf(path=path, format="A4", print_background=True)
    document = pypdfium2.PdfDocument(path)
    words = "".join(sheet.get_textpage().get_text_range() for sheet in document)
    return document, re.sub(r"\s+", "", words)


def test_a_failure_is_printed_as_a_transcript(visit, failed, tmp_path):
    visited = visit(failed, color_scheme="dark")
    page = visited.open("#retail/12/0")
    visited.wait_for_simulation()

    document, text = printed(page, tmp_path / "page.pdf")

    assert "rooms[12].taken" in text and "expected" in text and "found" in text
    assert all(f'"number":{at},' in text for at in range(60)), "the result is printed whole"
    assert all(f"#{number}" in text for number in (0, 1, *range(3, 17)))
    assert all(f"Turn{at}.Turn{at}." in text for at in range(14))
    assert text.index("#0") < text.index("#1") < text.index("Turn0.") < text.index("Turn13.")
    assert '"domain":"retail"' in text, "what is folded of the task is printed"
    for absent in ("61lines", "Allruns", "Taskidortext"):
        assert absent not in text
    expect(page.locator("#panel .call .answer details")).not_to_have_attribute("open", "")
    sheet = document[0].render(scale=1).to_pil().convert("L")
    assert sheet.getpixel((3, 3)) == 255, "paper is white, whatever the screen"


def test_no_two_lines_of_a_printed_page_lie_on_each_other(visit, failed, tmp_path):
    visited = visit(failed)
    page = visited.open("#retail/12/0")
    visited.wait_for_simulation()

    document, _ = printed(page, tmp_path / "page.pdf")

    for sheet in document:
        words = sheet.get_textpage()
        boxes = [words.get_charbox(at) for at in range(words.count_chars())]
        glyphs = [box for box in boxes if box[2] - box[0] > 1 and box[3] - box[1] > 3]
        middles = sorted(((low + high) / 2, left, right) for left, low, right, high in glyphs)
        for (one, left, right), (other, begin, end) in pairwise(middles):
            overlap = min(right, end) - max(left, begin)
            same_line = abs(one - other) < 5
            assert not (same_line and overlap > 0.6 * min(right - left, end - begin))


def test_the_table_and_a_comparison_are_printed(visit, serve, failed, tmp_path):
    page = visit(failed).open()
    _, text = printed(page, tmp_path / "table.pdf")
    assert "Tasksbytrials" in text and "passes50.0%of2retailtasks" in text

    page = visit(serve(compared_runs(tmp_path)).url).open("/compare?run=careful&run=hurried")
    expect(page.get_by_role("heading", name="Why simulations failed")).to_be_visible()
    document, text = printed(page, tmp_path / "compared.pdf")
    assert "Tasksbyruns" in text and "renew_own_not_husbands" in text
    assert "Allruns" not in text
    width = document[0].get_width()
    for sheet in document:
        words = sheet.get_textpage()
        rights = [words.get_charbox(at)[2] for at in range(words.count_chars())]
        assert max(rights, default=0) < width
