"""The stylesheets in a real browser: a rule styles its own component, on every page."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

# The first class of an element says which component it is, further ones how it differs. A rule for
# a class alone is meant for the component of this name: where it meets the class of another one, it
# draws a card as a pill.
CLASHES = """() => {
  const names = new Set();
  const gather = (rules) => {
    for (const rule of rules) {
      if (rule.selectorText === undefined) gather(rule.cssRules ?? []);
      else for (const each of rule.selectorText.split(",")) {
        const alone = /^\\s*\\.([\\w-]+)(::?[\\w-]+)*\\s*$/.exec(each);
        if (alone) names.add(alone[1]);
      }
    }
  };
  for (const sheet of document.styleSheets) gather(sheet.cssRules);
  const found = new Set();
  for (const { classList: [component, ...more] } of document.querySelectorAll("[class]"))
    for (const name of more) if (names.has(name)) found.add(`${component} ${name}`);
  return [[...found].sort(), names.size];
}"""


def clashes(page: Page) -> Any:
    found, known = page.evaluate(CLASHES)
    assert known > 50  # it did look
    return found


@pytest.fixture
def page(
    visit: Callable[..., Any], serve: Callable[..., Any], compared: Path
) -> Callable[..., Any]:
    visited = visit(serve(compared).url)

    def show(link, ready="#panel[data-ready]"):
        shown = visited.open(link)
        expect(shown.locator(ready).first).to_be_attached()
        shown.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
        return shown

    return show


@pytest.mark.parametrize(
    ("link", "ready"),
    [
        ("/", "table.runs tr[data-run]"),
        ("/run/hurried", "table.tasks .cell"),
        ("/run/hurried#library/second_waiver/0", "#panel[data-ready]"),
        ("/compare?run=careful&run=hurried", "table.compared"),
        ("/search?q=book", ".hits li"),
    ],
)
def test_no_rule_meets_the_class_of_another_component(page, link, ready):
    assert clashes(page(link, ready)) == []


def test_a_rule_that_meets_the_class_of_another_component_is_found(page):
    shown = page("/run/hurried#library/second_waiver/0")
    shown.evaluate("document.styleSheets[1].insertRule('.verdict { border-radius: 99px }')")
    assert clashes(shown) == ["part verdict"]
