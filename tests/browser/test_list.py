"""The flat list of simulations, and filters that are written as expressions."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from maseval.report import write_report
from tests.report.builders import CONVERSATION, simulated


def used(tokens: int) -> dict[str, Any]:
    return {"agents": {"a": {"input_tokens": tokens, "output_tokens": 0, "cost": tokens / 1000}}}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    finished = [
        simulated("0", 0, usage=used(300)),
        simulated("1", 0, usage=used(100), reward=0.0, labels=["agent: missing write"]),
        simulated("2", 0, usage=used(200), messages=CONVERSATION[:2]),
    ]
    return write_report(finished, tmp_path / "report.html", title="A run")


def expect_tasks(page: Page, *names: str) -> None:
    rows = page.locator("table.list tbody th")
    expect(rows).to_have_text([f"retail/{name}" for name in names])


def test_the_list_is_sorted_by_its_heads_and_the_order_is_in_the_address(visit, run):
    visited = visit(run)
    page = visited.open()
    page.get_by_role("button", name="As a list").click()
    expect_tasks(page, 0, 1, 2)
    heads = page.locator("table.list thead")

    heads.get_by_role("button", name="Tokens").click()
    expect_tasks(page, 0, 2, 1)
    expect(page).to_have_url(re.compile("view=list&sort=-tokens"))
    heads.get_by_role("button", name="Tokens").click()
    expect_tasks(page, 1, 2, 0)
    heads.get_by_role("button", name="Steps").click()
    expect_tasks(page, 0, 1, 2)

    page.keyboard.press("j")
    expect(visited.wait_for_simulation("retail/0/0")).to_be_visible()
    page = visited.open("#?view=list&sort=score")
    expect_tasks(page, 1, 0, 2)
    page.get_by_role("button", name="As a list").click()
    expect(page.locator("table.tasks")).to_be_visible()
    expect(page.locator("table.list")).to_be_hidden()


@pytest.mark.parametrize(
    ("words", "tasks"),
    [
        ("steps > 2 and tool = cancel_order", [0, 1]),
        ("tokens >= 200", [0, 2]),
        ("not outcome = pass", [1]),
        ("outcome != pass", [1]),
        ("outcome = failed", [1]),
        ('label = "agent: missing write" or task = 2', [1, 2]),
        ("(score = 1 or score = 0) and cost < 0.15", [1]),
        ("tool ~ CANCEL and not (task = 0)", [1]),
        ("domain = retail and trial = 0 and tokens <= 300", [0, 1, 2]),
    ],
)
def test_an_expression_filters_and_stands_in_the_address(visit, run, words, tasks):
    page = visit(run).open("#?view=list")
    page.get_by_label("steps > 30 and tool = refund").fill(words)
    expect_tasks(page, *tasks)
    expect(page.locator("output.status")).to_have_text(f"{len(tasks)} of 3 simulations")
    page.reload()
    expect_tasks(page, *tasks)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("stairs > 3", "stairs is no field; there are steps, tokens"),
        ("steps > many", "steps > takes a number, not many"),
        ("steps >", "after steps > a value is missing"),
        ("steps 3", "after steps one of = != ~ < <= > >= is missing"),
        ("(steps > 3", "a ) is missing"),
        ("steps > 3 tool = x", "“and” or “or” is missing before tool"),
        ("steps > 3 and", "the end is no field"),
        ('task = "', "is no part of a filter"),
    ],
)
def test_what_is_no_expression_is_named_and_filters_nothing(visit, run, words, told):
    page = visit(run).open("#?view=list")
    page.get_by_label("steps > 30 and tool = refund").fill(words)
    expect(page.locator("output.status")).to_contain_text(told)
    expect_tasks(page, 0, 1, 2)
