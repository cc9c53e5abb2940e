"""Two runs side by side in a real browser: the viewer's page, and the same page in a file."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from maseval.commands import compare, report
from maseval.runs import RunFolder
from tests.browser.runs import planned, written_run
from tests.report.builders import CONVERSATION, said, simulated


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """The same beginning, and another end from message 4 on."""
    other = [*CONVERSATION[:4], said("assistant", "No."), said("user", "Oh. ###STOP###")]
    written_run(tmp_path / "a", [simulated("0"), simulated("1")])
    written_run(tmp_path / "b", [simulated("0"), simulated("1", reward=0.0, messages=other)])
    return tmp_path


def test_the_numbers_are_those_of_maseval_compare(visit, serve, compared):
    page = visit(serve(compared).url).open("/compare?run=careful&run=hurried")
    expected = compare([compared / "careful", compared / "hurried"])

    table = page.locator("table.results").first
    for summary in expected.summaries.values():
        expect(table).to_contain_text(f"{100 * summary.overall.estimates[0].value:.1f}")
    expect(page.locator(".headline")).to_have_text(expected.headline)
    flipped = {flip.task for flip in expected.two.flipped}
    listed = page.locator("table.compared tbody th a").all_text_contents()
    assert {name.removeprefix("library/") for name in listed[: len(flipped)]} == flipped


def test_two_conversations_are_aligned_up_to_their_first_difference(visit, serve, pair):
    visited = visit(serve(pair).url)
    page = visited.open("/compare?run=a&run=b")
    expect(page.locator("table.compared tbody th a")).to_have_text(["retail/1", "retail/0"])

    page.get_by_role("link", name="retail/1").first.click()
    panel = visited.wait_for_simulation()

    expect(page).to_have_url(re.compile(r"#retail/1\?a=a\.0&b=b\.0$"))
    panel.get_by_text("3 messages the same").click()
    expect(panel.locator(".pair.equal ol").first.locator(".message")).to_have_count(3)
    expect(panel.locator("#difference")).to_contain_text("after 3 equal messages")
    differing = panel.locator(".message.differs")
    expect(differing.first).to_contain_text("cancel_order")
    expect(differing.last).to_contain_text("No.")
    link = differing.last.locator(".anchor")
    expect(link).to_have_attribute("href", "/run/b#retail/1/0/m4")
    ids = page.locator("#panel [id]").evaluate_all("(all) => all.map((each) => each.id)")
    assert ids == ["difference"]


def test_a_pair_has_an_address_and_is_closed_with_a_key(visit, serve, pair):
    visited = visit(serve(pair).url)
    page = visited.open("/compare?run=a&run=b#retail/0?a=a.0&b=b.0")
    panel = visited.wait_for_simulation()
    expect(panel.locator("#difference")).to_contain_text("are the same")

    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()


def test_keys_and_buttons_lead_through_the_tasks_that_the_filters_leave(visit, serve, tmp_path):
    for name, reward in (("a", 1.0), ("b", 0.0)):
        written_run(tmp_path / name, [simulated(task, reward=reward) for task in "012"])
    visited = visit(serve(tmp_path).url)
    page = visited.open("/compare?run=a&run=b")

    def go(task, key=None, button=None):
        page.get_by_role("button", name=button).click() if button else page.keyboard.press(key)
        visited.wait_for_simulation(f"retail/{task}")
        expect(page).to_have_url(re.compile(rf"#retail/{task}\?a=a\.0&b=b\.0$"))

    for task, key in (("0", "j"), ("1", "j"), ("2", "j"), ("2", "j"), ("1", "k")):
        go(task, key)
    go("0", button="Previous task (k)")
    go("0", "k")
    go("1", button="Next task (j)")
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).to_be_hidden()
    expect(page.locator("table.compared th a", has_text="retail/1")).to_be_focused()
    page.keyboard.press("k")
    visited.wait_for_simulation("retail/2")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("retail/1")
    page.keyboard.press("Escape")
    for _ in range(2):
        go("1", "j")


def test_runs_that_cannot_be_compared_are_refused_in_words(visit, serve, pair):
    visited = visit(serve(pair).url)
    page = visited.open("/compare?run=a&run=nothing")
    expect(page.locator("output.status")).to_contain_text("no run is called 'nothing'")
    visited.noise.clear()  # the browser says that the answer was a 404


def test_a_file_of_two_runs_shows_the_same_page(visit, pair, tmp_path):
    visited = visit(report(pair / "a", tmp_path / "both.html", against=pair / "b", explain=False))
    page = visited.open()
    expect(page.locator("table.compared tbody th a")).to_have_text(["retail/1", "retail/0"])
    expect(page.locator("table.results").last).to_contain_text("difference")

    page.get_by_role("link", name="retail/1").first.click()
    panel = visited.wait_for_simulation()

    expect(panel.locator("#difference")).to_contain_text("after 3 equal messages")
    panel.get_by_role("link", name="Open in its run").last.click()
    visited.wait_for_simulation("retail/1/b.0")
    expect(page).to_have_url(re.compile(r"both\.html\?all#retail/1/b\.0$"))
    panel = page.locator("#panel")
    expect(panel).to_contain_text("No.")
    panel.get_by_role("button", name="beside trial").click()
    expect(panel.locator("h2 .trial")).to_have_text(["trial b.0", "trial a.0"])


def test_many_runs_stand_close_together_and_their_settings_come_last(visit, tmp_path):
    names = [f"r{number:02}" for number in range(12)]
    for name in names:
        trials = [simulated("0", each) for each in range(3)]
        written_run(tmp_path / name, trials)

    folders = [tmp_path / name for name in names]
    page = visit(report(folders[0], tmp_path / "all.html", against=folders[1:])).open()

    widths = page.locator("table.compared tbody td").evaluate_all(
        "(all) => all.map((each) => each.getBoundingClientRect().width)"
    )
    assert len(widths) == len(names) and max(widths) < 150
    order = page.locator("section").evaluate_all(
        "(all) => all.map((each) => each.getAttribute('aria-label')).filter(Boolean)"
    )
    assert order[-1] == "Runs"

    page.set_viewport_size({"width": 390, "height": 820})
    scrolled = page.locator(".scroll:has(table)").evaluate_all(
        "(all) => all.filter((each) => each.scrollWidth > each.clientWidth).length"
    )
    assert scrolled == 0 == page.evaluate("document.documentElement.scrollWidth - innerWidth")
    first = page.locator("table.compared tbody td").first
    assert first.evaluate("(cell) => getComputedStyle(cell, '::before').content") == '"1 "'


def test_the_cells_of_a_grid_open_their_runs_and_each_other(visit, serve, tmp_path):
    for system, model, rewards in (
        *(("react", "small", "1100"), ("react", "large", "1110")),
        *(("plan", "small", "0100"), ("plan", "large", "0110")),
    ):
        reports = [simulated(str(at), reward=float(each)) for at, each in enumerate(rewards)]
        cell = {"system": system, "model": model}
        with RunFolder.open(
            tmp_path / f"{system}-{model}", {**planned(reports), "cell": cell}
        ) as run:
            for each in reports:
                run.append(each)
    expected = compare([tmp_path])
    page = visit(serve(tmp_path).url).open(
        "/compare?" + "&".join(f"run={each.run}" for each in expected.grid.cells)
    )

    expect(page.locator(".headline")).to_have_text(expected.headline)
    cells = page.locator("table.grid-cells tbody td")
    expect(cells).to_have_count(4)
    expect(cells.first).to_contain_text("50.0")
    expect(cells.first.get_by_role("link")).to_have_attribute("href", "/run/react-small")
    effects = page.get_by_role("region", name="Effects", exact=True)
    expect(effects).to_contain_text("plan \u2212 react")

    page.get_by_role("button", name="Compare react-small with another cell").click()
    page.get_by_role("button", name="Compare plan-small with another cell").click()
    expect(page).to_have_url(re.compile(r"/compare\?run=react-small&run=plan-small$"))
    expect(page.locator(".headline")).to_contain_text("plan-small is 25 points worse")
