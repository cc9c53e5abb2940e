"""Pages in a narrow window, a phone's or half a screen's, with names as long as people give."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from maseval.commands import export_site, report, tag
from maseval.report import write_report
from maseval.runs import RunFolder
from tests.browser.runs import planned
from tests.report.builders import simulated

LONG = "2025-11-16_claude-sonnet-4.5_retail-airline-telecom_seed300"
MODELS = {
    LONG: "openrouter/anthropic/claude-sonnet-4.5-20250929",
    "gpt-5_high": "openai/gpt-5-2025-08-07",
    "qwen": "hosted_vllm/Qwen/Qwen3-235B-A22B-Instruct-2507-FP8",
}
TELECOM = "[mobile_data_issue]airplane_mode_on|data_saver_mode_on|bad_network_preference[Hard]"
COMPARED = "/compare?" + "&".join(f"run={name}" for name in MODELS)

TABLET = {"viewport": {"width": 660, "height": 820}}

# The text of the page sets how tall a line is.
LINES = """(rows) => rows.map((row) =>
  row.getBoundingClientRect().height / parseFloat(getComputedStyle(document.body).lineHeight))"""

# What is partly beyond the window, unless it stands in something that is scrolled by itself.
CUT = """() => [...document.querySelectorAll("body *")]
  .filter((each) => !each.closest(".scroll") && each.getBoundingClientRect().right > innerWidth + 1)
  .map((each) => `${each.tagName} ${each.className}`)"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("long")
    for name, model in MODELS.items():
        reports = [
            simulated(task, trial, domain="retail", reward=float((trial + len(name)) % 2))
            for task in ("0", TELECOM)
            for trial in range(4)
        ]
        sides = {"agent": {"model": model}, "user": {"model": "azure/gpt-4.1-2025-04-14"}}
        with RunFolder.open(home / name, {**planned(reports), **sides}) as run:
            for each in reports[: 7 if name == "qwen" else 8]:
                run.append(each)
    tag([home / "qwen"], add=["baseline", "temperature 0"])
    tag(
        [home / "gpt-5_high"],
        note="the second half was run after the outage; see the run of Tuesday",
    )
    return home


@pytest.fixture(params=[390, 900])
def look(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {"viewport": {"width": request.param, "height": 820}}


def expect_to_fit(page: Page) -> None:
    assert page.evaluate(CUT) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_no_page_is_wider_than_the_window(visit, serve, folder, look):
    visited = visit(serve(folder).url, **look)
    for link, ready in (
        ("/", "table.runs tr[data-run]"),
        (f"/run/{LONG}", "table.tasks .cell"),
        ("/run/qwen#retail/0/0", "#panel[data-ready]"),
        (COMPARED, "table.compared .cell"),
        ("/search?q=cancelled", ".hits li"),
    ):
        page = visited.open(link)
        expect(page.locator(ready).first).to_be_visible()
        expect_to_fit(page)

    page = visited.open(COMPARED.rpartition("&")[0])
    page.locator("table.compared th a").first.click()
    visited.wait_for_simulation()
    expect_to_fit(page)


def test_the_numbers_of_a_plot_stand_below_it_on_a_phone(visit, serve, folder):
    page = visit(serve(folder).url, viewport={"width": 390, "height": 820}).open(COMPARED)
    words = page.locator(".plot-words").first
    expect(words).to_be_visible()
    expect(words).to_contain_text(re.compile(r"pass\^1: [\d.]+% \([\d.]+% to [\d.]+%\)"))
    page.set_viewport_size({"width": 1300, "height": 820})
    expect(words).to_be_hidden()


def test_a_long_name_does_not_make_the_panel_wider(visit, tmp_path, look):
    words = {"summary": f"telecom task {TELECOM * 4}, reward 0: failed"}
    reports = [simulated(TELECOM, 0, domain="telecom", reward=0.0, explanation=words)]
    visited = visit(write_report(reports, tmp_path / "report.html"), **look)
    page = visited.open()
    page.locator(".cell").first.click()
    panel = visited.wait_for_simulation()
    assert panel.evaluate("(panel) => panel.scrollWidth <= panel.clientWidth")


def test_no_file_is_wider_than_the_window(visit, folder, tmp_path, look):
    visited = visit(report(folder / LONG, tmp_path / "a.html", explain=False), **look)
    page = visited.open()
    expect(page.locator("table.tasks .cell").first).to_be_visible()
    expect_to_fit(page)
    for link in ("#retail/0/1", "#retail/0/1?beside=retail%2F0%2F0"):
        visited.open(link)
        visited.wait_for_simulation()
        expect_to_fit(page)
    page = visit(export_site(tmp_path / "site", folder).folder, **look).open("index.html")
    expect(page.locator("table.runs tr[data-run]").first).to_be_visible()
    expect_to_fit(page)


def test_a_run_takes_few_lines_of_the_list(visit, serve, compared, folder, look):
    rows = "table.runs tr[data-run]"
    page = visit(serve(compared).url, **look).open("/")
    expect(page.locator(rows)).to_have_count(2)
    assert max(page.locator(rows).evaluate_all(LINES)) < 6

    page = visit(serve(folder).url, **look).open("/")
    expect(page.locator(rows)).to_have_count(3)
    assert max(page.locator(rows).evaluate_all(LINES)) < 11


def test_heads_of_a_table_are_not_broken_within_a_word(visit, folder, tmp_path):
    page = visit(report(folder / LONG, tmp_path / "a.html", explain=False), **TABLET).open()
    heads = page.locator("table.results thead th:not(:empty)")
    heights = heads.evaluate_all("(all) => all.map((each) => each.getBoundingClientRect().height)")
    assert len(heights) == 7
    assert max(heights) < 40


def test_the_list_is_sorted_on_a_phone(visit, serve, compared):
    page = visit(serve(compared).url, viewport={"width": 390, "height": 820}).open("/")
    by_name = page.locator("table.runs thead button").first
    by_name.click()
    expect(page.locator("tr[data-run] th")).to_have_text(["careful", "hurried"])
    by_name.click()
    expect(page.locator("tr[data-run] th")).to_have_text(["hurried", "careful"])


def test_badges_of_a_task_do_not_cover_its_trials(visit, tmp_path):
    badges = [(f"finding: number {each} of a few", "found") for each in range(5)]
    path = write_report(
        [simulated("0", trial) for trial in range(4)],
        tmp_path / "report.html",
        findings={("retail", "0"): badges},
    )
    page = visit(path, viewport={"width": 900, "height": 820}).open()
    page.locator(".findings summary").click()
    last = page.locator("table.tasks .tag.finding").last.bounding_box()
    assert last["x"] + last["width"] <= page.locator("table.tasks .cell").first.bounding_box()["x"]
