"""Replies to a proposal, written by somebody who had not read the rules: is each a yes, or none?

A line of ``replies_*.txt`` is a style, ``Y`` or ``N``, and the reply before the write.
"""

from pathlib import Path

import pytest

from tests.benchmark.tau2.compliance.scenes import Scene, tasks_of

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("tau2_data", "tau2_texts")]
PAGE = Path(__file__).parents[4] / "docs" / "compliance.md"
OFFER = (
    *("U My data is slow, number 555-123-2002", "@data"),
    "A Your plan's data is used up. I can add 2 GB for $4.00. Shall I?",
)


@pytest.mark.parametrize("name", ["first", "second"])
def test_as_many_replies_are_read_rightly_as_the_page_says(name: str) -> None:
    lines = Path(__file__).with_name(f"replies_{name}.txt").read_text(encoding="utf-8").splitlines()
    tasks, flagged = tasks_of("telecom"), {"Y": 0, "N": 0}
    for line in lines:
        style, meant, reply = line.split(" | ", 2)
        steps = (*OFFER, f"U {reply}", "> refuel 2", "A Added.")
        result = Scene("telecom", style, "data", "telecom.refuel.yes", steps).check(
            tasks, breach=True
        )
        flagged[meant] += any(
            each.counts and each.rule == "telecom.refuel.yes" for each in result.findings
        )
    row = f"{flagged['N']} of {len(lines) // 2} | {flagged['Y']} of {len(lines) // 2} |"
    assert f"| {name} replies" in (page := PAGE.read_text(encoding="utf-8")) and row in page, row
