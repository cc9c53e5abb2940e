"""A trace shows the agents of all frameworks alike."""

from itertools import pairwise
from typing import Any

from maseval.benchmark.tau2 import load_tasks
from maseval.interface.telemetry.simulation import simulation_span
from tests.interface.agents.solving import solve


def tree(span: Any) -> list[list[list[Any]] | str]:
    return [span.name, [tree(child) for child in span.children]]


def every(span: Any) -> list[Any]:
    return [span, *(found for child in span.children for found in every(child))]


def test_a_solved_task_has_the_same_spans_whatever_the_framework(tau2_agent):
    root = simulation_span(solve(tau2_agent).reports[0])
    gold = [action["name"] for action in load_tasks("retail")[0].evaluation_data["actions"]]
    asked = [["chat gold-0", []]]
    called = [each for name in gold for each in (*asked, [f"execute_tool {name}", []])]

    assert tree(root) == [
        "simulation retail 0 trial 0",
        [
            ["invoke_agent user", []],
            ["invoke_agent clerk", asked],  # a rehearsal asks a question first
            ["invoke_agent user", []],
            ["invoke_agent clerk", [*called, *asked]],
            ["invoke_agent user", []],
        ],
    ]
    clerk = root.children[3]

    assert root.attributes["maseval.passed"] is True and root.attributes["maseval.tokens"] > 0
    # The times are those that the environment recorded.
    assert all(one.end <= other.start for one, other in pairwise(clerk.children))
    assert all(span.start <= span.end <= root.end for span in every(root))
