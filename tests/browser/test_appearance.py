"""The main pages look as their references do, and a fault of old would be seen.

``make pictures`` takes the references anew.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from maseval.commands import export_site
from tests.browser.appearance import find_changes, keep, write_changes

RENEW = bool(os.environ.get("MASEVAL_RENEW_PICTURES"))

WIDE = {"viewport": {"width": 1440, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 820}}
SIMULATION = ("run.html?run=hurried#library/second_waiver/0", "#panel[data-ready]")
PAGES = {
    "runs": ("index.html", "table.runs tr[data-run]", WIDE),
    "run": ("run.html?run=hurried", "table.tasks .cell", WIDE),
    "simulation": (*SIMULATION, WIDE),
    "comparison": ("compare.html?run=careful&run=hurried", "table.compared .cell", WIDE),
    "simulation-dark": (*SIMULATION, {**WIDE, "color_scheme": "dark"}),
    "runs-phone": ("index.html", "table.runs tr[data-run]", PHONE),
}


@pytest.fixture(scope="module")
def site(compared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The viewer of two runs as files: nothing is still found out while a picture is taken."""
    return export_site(tmp_path_factory.mktemp("site") / "pages", compared).folder


@pytest.fixture
def show(visit: Callable[..., Any], site: Path) -> Callable[..., Any]:
    def opened(name):
        link, ready, look = PAGES[name]
        page = visit(site, **look).open(link)
        expect(page.locator(ready).first).to_be_visible()
        # The name of a temporary folder says nothing, and each machine takes its own time.
        page.locator("header .totals").evaluate_all("(all) => all.forEach((each) => each.remove())")
        return page

    return opened


def restyle(page: Page, rules: str) -> None:
    page.evaluate(
        """(rules) => {
          const sheet = new CSSStyleSheet();
          sheet.replaceSync(rules);
          document.adoptedStyleSheets = [sheet];
        }""",
        rules,
    )


@pytest.mark.parametrize("name", PAGES)
def test_a_page_looks_as_before(show, name):
    page = show(name)
    if RENEW:
        return keep(name, page)
    if changes := find_changes(name, page):
        where = write_changes(name, page)
        found = "\n  ".join(changes)
        pytest.fail(f"{name} looks different; see {where}\n  {found}", pytrace=False)


@pytest.mark.parametrize(
    ("name", "style", "expected"),
    [
        ("simulation", ".part.verdict { border-radius: 999px; display: inline }", ".part"),
        ("simulation", "#panel { width: 30vw }", "#panel"),
        ("simulation-dark", ":root { color-scheme: light }", "ground"),
        ("runs", ".of-models { display: none }", ".runs thead th"),
        ("runs-phone", ".runs tr[data-run] { display: table-row }", ".runs tr"),
        ("comparison", ".card { max-width: 40rem }", ".card"),
    ],
)
def test_a_fault_in_the_styles_is_seen(show, tmp_path, name, style, expected):
    page = show(name)
    restyle(page, style)
    assert any(expected in change for change in find_changes(name, page))
    written = sorted(path.name for path in write_changes(name, page, tmp_path).iterdir())
    assert written == [f"{name}-difference.png", f"{name}.png"]
