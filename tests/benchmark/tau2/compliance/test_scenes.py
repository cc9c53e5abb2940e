"""Breaches in styles that the rules were not written from are found, and nothing in their twins."""

from collections import Counter
from functools import cache

import pytest

from tests.benchmark.tau2.compliance.scenes import scenes, tasks_of

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("tau2_data", "banking_data", "tau2_texts")]
# Of so many pairs: breaches found by the rule that is broken, and twins with a breach.
FOUND = {("telecom", 1): (42, 37, 0), ("banking_knowledge", 1): (22, 16, 0)}


@cache
def count(domain: str, part: int) -> Counter[tuple[str, str]]:
    """Count the pairs by style, and what was found in them."""
    tasks, counts = tasks_of(domain), Counter()
    for scene in scenes(domain, part):
        broken, clean = (scene.check(tasks, breach=each) for each in (True, False))
        assert not broken.failed_rules and not clean.failed_rules, scene
        counts[scene.style, "pairs"] += 1
        counts[scene.style, "found"] += scene.rule in {e.rule for e in broken.findings if e.counts}
        counts[scene.style, "flagged"] += any(each.counts for each in clean.findings)
    return counts


@pytest.mark.parametrize(("domain", "part"), FOUND)
def test_breaches_in_other_styles_are_found_and_their_twins_are_not_flagged(
    domain: str, part: int
) -> None:
    counts = count(domain, part)
    sums = [sum(counts[each] for each in counts if each[1] == name) for name in ("pairs", "found")]
    flagged = sum(counts[each] for each in counts if each[1] == "flagged")
    assert (*sums, flagged) == FOUND[domain, part]
