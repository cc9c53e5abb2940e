"""The labelling page in a browser: a person answers with buttons and keys."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from maseval.app.judging.label import begin_labelling
from tests.app.judging.runs import judge_passes
from tests.noisy_runs import noisy_run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = noisy_run(tmp_path_factory.mktemp("labelled") / "run", 0.02).folder
    judge_passes(folder)
    return folder


def test_a_person_labels_with_buttons_and_keys(visit, serve, flaws, made, tmp_path):
    run = shutil.copytree(made, tmp_path / "run")
    page = visit(serve(run, writes=True).url).open("/label/run?numbers=4")
    page.fill("input[name=by]", "kim")
    page.click("button:has-text('Begin')")
    progress = page.locator(".label-progress")
    expect(progress).to_have_text("0 of 4 labelled")
    expect(page.locator("ol.conversation li.message").first).to_be_visible()
    assert "a-judge" not in page.inner_text("main")
    assert flaws(page) == []
    page.get_by_role("button", name="User", exact=True).click()
    expect(page.locator("li.message.user").first).to_be_hidden()
    page.get_by_role("button", name="User", exact=True).click()
    page.get_by_role("button", name="Expand all").click()
    expect(page.locator("li.message details:not([open])")).to_have_count(0)
    page.fill("textarea[name=note]", "clear")
    page.click("button[data-answer=kept]")
    expect(progress).to_contain_text("1 of 4 labelled · a-judge answered:")
    page.keyboard.press("b")
    expect(progress).to_contain_text("2 of 4 labelled")
    page.reload()
    expect(progress).to_have_text("2 of 4 labelled")
    page.keyboard.press("u")
    expect(progress).to_contain_text("3 of 4 labelled")
    page.click("button[data-answer=kept]")
    expect(page.locator("h1")).to_have_text("All labelled")
    expect(page.locator(".label-numbers")).to_contain_text("pass^1 without breaches")
    labels = begin_labelling(run, "kim", numbers=4).labelled.values()
    assert sorted(each.answer for each in labels) == ["broken", "kept", "kept", "unsure"]
    assert [each.note for each in labels].count("clear") == 1
