"""Notes and disagreement, written from the page of a run."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from maseval.runs.notes import read_notes
from tests.noisy_runs import noisy_run, small_grid


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return noisy_run(tmp_path_factory.mktemp("noted") / "run", 0.4).folder


def test_a_reader_disagrees_with_a_label_and_everybody_sees_it(visit, serve, made, flaws, tmp_path):
    run = shutil.copytree(made, tmp_path / "runs" / "run")
    visited = visit(serve(run, writes=True).url)
    page = visited.open("/run/run#?outcome=fail")
    expect(page.locator(".why th").first).to_be_visible()
    page.keyboard.press("j")
    visited.wait_for_simulation()
    form = page.locator(".note-form")
    form.get_by_label("Your name").fill("kim")
    form.get_by_label("I disagree").check()
    form.get_by_label("Note").fill("The user <b>never</b> asked for it.")
    assert flaws(page) == []
    form.get_by_role("button", name="Keep").click()
    expect(page.locator(".notes-on li")).to_contain_text("The user <b>never</b> asked for it.")
    expect(page.locator(".notes-on .tag")).to_have_text("disagrees")

    (note,) = read_notes(run)
    assert (note.by, note.disagrees) == ("kim", True)
    address = page.url.partition("/run/run")[2]
    reader = visit(serve(run.parent).url)
    page = reader.open(f"/run/run{address}")
    expect(page.locator(".notes-on li")).to_contain_text("kim")
    expect(page.locator(".note-form")).to_have_count(0)


def test_a_grid_is_one_row_that_unfolds_and_one_page(visit, serve, tmp_path, monkeypatch):
    small_grid(tmp_path, monkeypatch)
    page = visit(serve(tmp_path).url).open()
    rows = page.locator("tr[data-run]")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("16/16")
    rows.get_by_role("button", name="Cells of crossed").click()
    expect(rows).to_have_count(5)
    rows.first.get_by_role("checkbox").check()
    expect(page.get_by_role("link", name="Compare 4 runs")).to_be_visible()

    page.get_by_role("link", name="crossed", exact=True).click()
    expect(page.get_by_role("heading", name="Effects")).to_be_visible()
    expect(page.locator("h1")).to_have_text("crossed")
    expect(page.locator(".answer").first).to_contain_text("may be chance")
    expect(page.locator(".grid-cells .heat")).to_have_count(4)
    page.locator(".grid-cells a").first.click()
    expect(page.locator("h1")).to_contain_text("crossed/")
