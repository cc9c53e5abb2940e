"""Finding and comparing: filters, search, side by side, badges."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from maseval.report import write_report
from maseval.stats import Outcome, pass_plot, summarise
from tests.report.builders import CONVERSATION, said, simulated

LABEL = "agent: missing write"


def expect_status(page: Page, words: str) -> None:
    expect(page.locator("output.status")).to_have_text(words)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    talked = [*CONVERSATION[:1], said("user", "My parrot ate the PARCEL."), *CONVERSATION[2:]]
    finished = [
        simulated("0", 0, title="Cancel the order, and be quick about it."),
        simulated("0", 1, reward=0.0, labels=[LABEL], title="Cancel the order."),
        simulated("1", 0, reward=0.0, ended="max_steps", messages=talked),
        simulated("2", 0),
    ]
    outcomes = [Outcome("retail", "0", 0, True), Outcome("retail", "0", 1, False)]
    return write_report(
        finished,
        tmp_path / "report.html",
        title="A run",
        plots=[pass_plot({"run": summarise(outcomes)})],
        findings={("retail", "2"): [("doing nothing passes", "an idle agent gets the reward")]},
    )


def test_the_customers_request_stands_on_top_of_a_simulation(visit, run):
    visited = visit(run)
    visited.open("#retail/0/0")

    wish = visited.wait_for_simulation().locator(".wish")
    expect(wish.locator(".prose")).to_have_text("Cancel the order, and be quick about it.")


def test_a_failed_trial_is_shown_beside_a_passed_one(visit, run):
    visited = visit(run)
    page = visited.open("#retail/0/1")
    panel = visited.wait_for_simulation()

    panel.get_by_role("button", name="beside trial").click()
    visited.wait_for_simulation("retail/0/1 retail/0/0")

    expect(panel.locator("span.chip")).to_have_text([re.compile("failed$"), re.compile("passed$")])
    expect(panel).to_have_class(re.compile("two"))
    boxes = [each.bounding_box() for each in panel.locator(".inside").all()]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"] + 1
    expect(page).to_have_url(re.compile(r"#retail/0/1\?beside=retail%2F0%2F0$"))
    ids = page.locator("#panel [id]").evaluate_all("(all) => all.map((each) => each.id)")
    assert len(ids) == len(set(ids))


def test_a_task_that_always_passed_has_no_other_trial_to_show(visit, run):
    visited = visit(run)
    visited.open("#retail/2/0")
    panel = visited.wait_for_simulation()
    expect(panel.get_by_role("button", name="beside trial")).to_have_count(0)


@pytest.mark.parametrize(
    ("title", "name", "cells"),
    [("Why it failed", LABEL, 1), ("Termination", "max_steps", 1), ("Outcome", "passed", 2)],
)
def test_a_bar_narrows_the_table_to_what_it_counts_and_back(visit, run, title, name, cells):
    page = visit(run).open()
    bars = page.locator("section.counts", has=page.get_by_role("heading", name=title))
    bar = bars.get_by_role("button", name=name)

    bar.click()
    expect_status(page, f"{cells} of 4 simulations")
    bar.click()
    expect_status(page, "4 of 4 simulations")


def test_the_page_begins_with_a_sentence_and_one_picture(visit, run):
    page = visit(run).open()

    sentence = (
        "lab/agent-1 passes 50.0 % of 3 retail tasks (95% CI 6.7 – 93.3); 1 of its 2 failures: "  # noqa: RUF001
    )
    expect(page.locator(".headline")).to_have_text(f"{sentence}{LABEL}.")
    places = [page.locator(name).bounding_box()["y"] for name in (".strip", ".results", ".plots")]
    assert places == sorted(places)
    page.get_by_text("Plot", exact=True).click()
    expect(page.locator(".plots svg.maseval-plot")).to_have_count(1)
    expect(page.locator(".why table th")).to_have_text([LABEL])
    expect(page.locator(".totals")).to_contain_text("5,120 tokens")
    expect(page.locator(".totals")).to_contain_text("$1.00")
    expect(page.locator(".pairs").first).to_contain_text("2025-01-01 10:00")


def test_numbers_beside_the_official_one_are_folded(visit, tmp_path):
    rates = {"name": "retail", "tasks": 1, "pass^1": {"value": 1.0}}
    beside = {"name": "over sound tasks", "tasks": 1, "pass^1": {"value": 0.5}}
    summary = {"rows": [rates], "beside": [beside], "meaning": ["How it is computed."]}
    page = visit(write_report([simulated()], tmp_path / "r.html", summary=summary)).open()

    row = page.get_by_role("row", name="over sound tasks")
    expect(row).to_have_count(0)
    page.get_by_text("What does this number mean?").click()
    expect(row).to_contain_text("50.0")
    expect(page.get_by_text("How it is computed.")).to_be_visible()


def test_a_long_id_is_short_in_the_table_and_whole_on_hover(visit, tmp_path):
    long = "[mms_issue]airplane_mode_on|data_mode_off|bad_vpn[PERSONA:Hard]"
    page = visit(write_report([simulated(long)], tmp_path / "r.html")).open()

    name = page.locator(".tasks .id")
    expect(name).to_have_text("mms_issue: airplane_mode_on +2, Hard")
    expect(name).to_have_attribute("title", long)


def test_filters_stand_in_the_address_and_come_back_with_it(visit, run):
    visited = visit(run)
    page = visited.open()
    page.click("button.chip.fail")
    page.get_by_label("Termination").select_option("max_steps")
    kept = "?ended=max_steps&outcome=fail"
    expect(page).to_have_url(re.compile(re.escape(f"#{kept}") + "$"))

    again = visit(run)
    page = again.open(f"#{kept}")

    expect_status(page, "1 of 4 simulations")
    expect(page.locator("button.chip.fail")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("Termination")).to_have_value("max_steps")
    page.locator(".cell:not(.dim):visible").click()
    again.wait_for_simulation("retail/1/0")
    expect(page).to_have_url(re.compile(re.escape(f"#retail/1/0{kept}") + "$"))


def test_conversations_are_searched_whatever_the_case_of_letters(visit, run):
    page = visit(run).open()

    page.get_by_label("Said in a conversation").fill("parrot ate the parcel")
    expect_status(page, "1 of 4 simulations")
    expect(page.locator("table.tasks tbody tr:visible .id")).to_have_text(["1"])

    page.get_by_label("Said in a conversation").fill("")
    expect_status(page, "4 of 4 simulations")


def test_a_search_in_the_address_is_carried_out(visit, run):
    page = visit(run).open("#?text=get_order")
    expect_status(page, "4 of 4 simulations")
    page = visit(run).open("#?text=nobody+says+this")
    expect_status(page, "0 of 4 simulations")


def test_a_task_with_an_audit_finding_has_a_badge(visit, run):
    page = visit(run).open()

    mark, badge = page.locator(".findings summary"), page.locator(".tag.finding")
    expect(mark).to_have_text("⚠ 1")
    expect(badge).to_have_count(0)
    mark.click()
    expect(badge).to_have_text("doing nothing passes")
    expect(badge).to_have_attribute("data-hint", "an idle agent gets the reward")


def test_n_leads_from_failure_to_failure(visit, run):
    visited = visit(run)
    page = visited.open()
    for name in ("retail/0/1", "retail/1/0", "retail/0/1"):
        page.keyboard.press("n")
        panel = visited.wait_for_simulation(name)
        expect(panel.locator("span.chip.fail")).to_have_count(1)
        expect(page).to_have_url(re.compile(f"#{name}$"))


def test_columns_and_dense_rows_are_remembered(visit, run):
    page = visit(run).open()
    cost = page.get_by_role("columnheader", name="Cost")
    expect(cost).to_be_hidden()
    page.locator(".column-menu summary").click()
    page.get_by_label("Cost").check()
    page.get_by_label("Dense rows").check()
    expect(cost).to_be_visible()

    page.reload()
    expect(cost).to_be_visible()
    expect(page.locator("table.tasks")).to_have_class(re.compile("dense"))


def test_a_simulation_is_saved_as_a_file(visit, run):
    visited = visit(run)
    page = visited.open("#retail/0/1")
    visited.wait_for_simulation("retail/0/1")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save").click()
    kept = json.loads(Path(saved.value.path()).read_text(encoding="utf-8"))

    assert kept["simulation"] == "retail/0/1"
    assert [each["who"] for each in kept["messages"]][:2] == ["assistant", "user"]
