"""A trace shows the agents of all frameworks alike."""

from itertools import pairwise

from maseval.benchmark.tau2 import load_tasks
from maseval.interface.telemetry.simulation import simulation_span
from tests.interface.agents.solving import solve


def tree(span):
    return [span.name, [tree(child) for child in span.children]]


def every(span):
    return [span, *(found for child in span.children for found in every(child))]


def test_a_solved_task_has_the_same_spans_whatever_the_framework(tau2_agent):
    root = simulation_span(solve(tau2_agent).reports[0])
    gold = [action["name"] for action in load_tasks("retail")[0].evaluation_data["actions"]]
    asked = [["chat gold-0", []]]
    called = [each for name in gold for each in (*asked, [f"execute_tool {name}", []])]

    assert tree(root) == [
        "simulation retail 0 trial 0",
        [
            ["turn 1", [["invoke_agent user", []], ["invoke_agent clerk", [*called, *asked]]]],
            ["turn 2", [["invoke_agent user", []]]],
        ],
    ]
    clerk = root.children[0].children[1]
    chat, tool = clerk.children[:2]

    assert root.attributes["maseval.passed"] is True and root.attributes["maseval.tokens"] > 0
    assert set(clerk.attributes) == {
        *("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.agent.name"),
        *("gen_ai.request.model", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
    }
    assert clerk.attributes["gen_ai.usage.input_tokens"] > 0
    assert set(chat.attributes) == {
        *("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"),
    }
    assert set(tool.attributes) == {
        *("gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.type", "gen_ai.tool.call.id"),
    }
    # The times are those that the environment recorded.
    assert all(one.end <= other.start for one, other in pairwise(clerk.children))
    assert all(span.start <= span.end <= root.end for span in every(root))
