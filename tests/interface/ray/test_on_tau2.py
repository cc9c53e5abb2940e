"""tau2 with scripted agents: equal on every engine, with agents of one's own as well."""

import json
from pathlib import Path
from typing import Any

import pytest

from maseval.commands import tau2
from tests.benchmark.tau2.app.test_own_domains import SHOP, task
from tests.damage import results_in

pytestmark = pytest.mark.data

OWN = """
import neighbour


def agent(brief):
    model = brief.chat_model()
    return neighbour.talking(model, brief)
"""
NEIGHBOUR = """
from maseval.core.tool import tool_definition


def talking(model, brief):
    said = [{"role": "system", "content": brief.policy}]
    tools = [tool_definition(tool) for tool in brief.tools.values()]

    def answer(query):
        said.append({"role": "user", "content": query})
        while True:
            reply = model.chat(said, tools=tools)
            if not reply.tool_calls:
                said.append({"role": "assistant", "content": reply.content})
                return reply.content
            raise AssertionError("the customer alone is served here")

    return answer
"""


@pytest.mark.usefixtures("tau2_data")
def test_one_thread_sixteen_threads_and_three_nodes_judge_alike(
    engine: Any, tmp_path: Path
) -> None:
    def run(name, concurrency, where):
        tau2.run(
            domain=["airline", "telecom"],
            num_tasks=4,
            trials=2,
            agent="noisy",
            concurrency=concurrency,
            engine=where,
            output=tmp_path / name,
        )
        return results_in(tmp_path / name)

    alone = run("one", 1, "threads")

    assert len(alone) == 16
    assert run("sixteen", 16, "threads") == alone
    assert run("cluster", 6, engine) == alone


@pytest.mark.usefixtures("tau2_data")
def test_a_rehearsed_agent_of_ones_own_is_served_in_the_workers(
    engine: Any, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "neighbour.py").write_text(NEIGHBOUR)

    def run(name, where):
        result = tau2.run(
            domain="airline",
            num_tasks=3,
            agent=f"{tmp_path / 'own.py'}:agent",
            rehearse="noop",
            concurrency=3,
            engine=where,
            output=tmp_path / name,
        )
        return results_in(tmp_path / name), result.notes

    here, there = run("here", "threads"), run("there", engine)

    assert there == here
    assert "the rehearsal model was asked in 3 of 3 simulations" in there[1][0]


def test_a_domain_of_ones_own_goes_to_the_workers(engine, tmp_path):
    (tmp_path / "shop.py").write_text(SHOP.replace("NAME", "kites-on-ray"))
    (tmp_path / "db.json").write_text(json.dumps({"kites": {"K1": {"kite_id": "K1"}}}))
    (tmp_path / "policy.md").write_text("# Sell kites\n")
    (tmp_path / "tasks.json").write_text(json.dumps([task("a"), task("b")]))

    def run(name, where):
        domain = f"{tmp_path / 'shop.py'}:SHOP"
        tau2.run(domain=domain, agent="gold", engine=where, output=tmp_path / name)
        return results_in(tmp_path / name)

    assert run("there", engine) == run("here", "threads") != []
