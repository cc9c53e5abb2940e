"""Numbers as tables."""

import io
import re
from typing import Any

import pytest
from rich.console import Console

from maseval.app.comparing.compare import headline
from maseval.app.results.measured import SOUND, WITHOUT_BREACHES, measured_scores
from maseval.app.results.run_summary import RunSummary
from maseval.cli.console import print_parts
from maseval.cli.results import consumption, measure_parts, scores
from maseval.core.finding import LEFT_OUT, Finding
from maseval.core.outcome import Outcome
from maseval.core.words import in_percent, percent
from maseval.runs import Simulation
from maseval.stats import Difference, Estimate, FlipTest, GroupSummary, Interval, Pair


def summary(*names: str, failed: int = 0, trials: int = 4) -> RunSummary:
    measured = [
        Estimate(k, 0.8 / k, Interval(0.5 / k, 0.9 / k, 0.95, "made up"))
        for k in range(1, trials + 1)
    ]
    missing = {"provider_error": failed}
    groups = [GroupSummary(n, 114, 0, 456, 456, 300, missing, None, measured) for n in names]
    if len(names) > 1:
        groups.append(GroupSummary(None, 228, 0, 912, 912, 600, missing, None, measured))
    return RunSummary(groups, 0.95, [], "method")


def drawn(table: Any, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_parts([table], console)
    return console.file.getvalue()


def test_several_domains_are_summed_up_and_one_is_not():
    assert drawn(scores(summary("airline", "retail")), 150).count("│ all") == 1
    assert "│ all" not in drawn(scores(summary("retail")), 150)


@pytest.mark.parametrize("width", [40, 60, 80, 120, 400])
@pytest.mark.parametrize("trials", [5, 8, 40])
def test_no_number_is_ever_cut(trials, width):
    told = summary("airline", "retail", "telecom", failed=3, trials=trials)
    shown = drawn(scores(told), width)

    assert "…" not in shown and max(map(len, shown.splitlines())) <= width
    for k in {1, 2, 4, min(8, trials), trials}:
        assert shown.count(percent(0.8 / k)) >= 4
        assert shown.count(f"[{in_percent(0.5 / k)}, {in_percent(0.9 / k)}]") >= 4
    assert shown.count("456/456") == 3 and shown.count("(3 unfinished)") == 4


def test_failed_simulations_are_shown_apart():
    assert "(3 unfinished)" in drawn(scores(summary("retail", failed=3)), 150)


def test_a_price_that_is_not_known_is_not_zero():
    assert consumption(0.0, 0) == ""
    assert consumption(None, 1500) == "1.5k tokens, cost not known"
    assert consumption(0.25, 1500) == "1.5k tokens, $0.25"


def test_numbers_beside_the_official_one_come_after_it_with_intervals():
    lines = [Outcome("retail", task, trial, trial == 0) for task in "12" for trial in (0, 1)]
    policy, task = (Finding(s, "agent", LEFT_OUT, "", "") for s in ("policy", "erratum"))
    findings = {Simulation("retail", "1", 0): [policy], Simulation("retail", "2", 0): [task]}
    found = measured_scores(lines, findings, [WITHOUT_BREACHES, SOUND])

    for width in (100, 60):
        console = Console(file=io.StringIO(), width=width)
        print_parts(measure_parts(found), console)
        shown = console.file.getvalue()

        order = ["the official number", "without breaches found", "over sound tasks"]
        assert sorted(order, key=shown.index) == order
        assert re.search(r"without breaches found( +│|\n  k = 1)? +25\.0% \[", shown)
        words = " ".join(shown.split())
        assert "without breaches found: 1 verdict differs" in words
        assert "over sound tasks: 1 task left out, 0 verdicts differ" in words


@pytest.mark.parametrize(
    ("difference", "span", "p", "words"),
    [
        (-0.09, (-0.14, -0.04), 0.01, "b is 9 points worse than a (4 to 14): sure"),
        (0.09, (0.04, 0.14), 0.01, "b is 9 points better than a (4 to 14): sure"),
        (
            *(-0.09, (-0.2, 0.05), 0.3),
            "b is 9 points worse than a (20 worse to 5 better): this may be chance",
        ),
        (
            *(-0.09, (-0.2, 0.05), 0.03),
            "b is 9 points worse than a on these tasks: sure; on tasks like these, 20 worse to 5 "
            "better",
        ),
        (
            *(0.0, (-0.1, 0.12), 1.0),
            "no difference seen between b and a (pass^1 50.0%); it could be 12 points either way",
        ),
    ],
)
def test_a_comparison_begins_with_a_sentence(difference, span, p, words):
    interval = Interval(span[0], span[1], 0.95, "over tasks")
    found = Difference(
        *(None, 12, 1, 0.5, 0.5 + difference, difference, interval),
        FlipTest(p, "exact", 3),
    )

    assert headline(Pair(("a", "b"), found, p), found.name) == words
