"""Breaches in styles that the rules were not written from are found, and nothing in their twins."""

import re
from pathlib import Path

import pytest

from tests.benchmark.tau2.compliance.scenes import scenes, tasks_of

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("tau2_data", "banking_data", "tau2_texts")]
PAGE = Path(__file__).parents[4] / "docs" / "compliance.md"
SETS = [(domain, part) for domain in ("telecom", "banking_knowledge") for part in (1, 2, 3, 4)]


@pytest.mark.parametrize(("domain", "part"), SETS)
def test_as_many_breaches_in_other_styles_are_found_as_the_page_says(
    domain: str, part: int
) -> None:
    tasks, pairs = tasks_of(domain), scenes(domain, part)
    found = flagged = 0
    for scene in pairs:
        broken, clean = (scene.check(tasks, breach=each) for each in (True, False))
        assert not broken.failed_rules and not clean.failed_rules, scene
        found += scene.rule in {each.rule for each in broken.findings if each.counts}
        flagged += any(each.counts for each in clean.findings)
    row = rf"\| {domain} {part} \| {len(pairs)} \| \d+ \| \d+ \| {found} \| {flagged} \|"
    assert re.search(row, PAGE.read_text(encoding="utf-8")), (found, flagged)
    assert not flagged
