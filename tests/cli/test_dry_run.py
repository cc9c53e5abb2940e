"""``maseval tau2 run --dry-run``: what would run, and what it would cost."""

import json
from pathlib import Path
from typing import Any

import pytest

from maseval import ScriptedModelAdapter, register_model
from maseval.benchmark.tau2.app.running.plan import TYPICAL
from tests.cli.commandline import maseval, slow_agent

LIBRARY = ("tau2", "run", "--domain", "library")
MODELS = ("--agent-model", "scripted/echo", "--user-model", "scripted/echo")
pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")


def planned(*options: Path | int | str) -> dict[str, Any]:
    result = maseval(*LIBRARY, *options, "--dry-run", "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def prompt_of_the_agent() -> int:
    """The characters of system prompt and tools that a model is sent."""
    requests = []

    def answer(messages, tools):
        requests.append(sum(len(m["content"]) for m in messages if m["role"] == "system"))
        requests[-1] += len(json.dumps(tools))
        return "Good-bye. ###STOP###"

    register_model("noting", lambda name, **options: ScriptedModelAdapter(answer))
    maseval(*LIBRARY, "-n", 1, "--agent-model", "noting/x", "--user", "scripted", "--output", "r")
    return requests[0]


def plain(text: str) -> str:
    return " ".join(text.split())


def test_it_names_tasks_trials_models_and_folder_and_writes_nothing(tmp_path):
    shown = maseval(*LIBRARY, *MODELS, "-n", 3, "-k", 2, "--output", "runs/r", "--dry-run")

    assert shown.exit_code == 0
    told = plain(shown.stdout)
    assert "6 simulations, into runs/r" in told
    assert "library: 3 tasks x 2 trials" in told
    assert "scripted/echo" in told and "Nothing was run" in told
    assert list(tmp_path.iterdir()) == []


def test_the_estimate_follows_from_prompts_typical_conversations_and_prices(tmp_path):
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"scripted/echo": {"input": 2, "output": 8}}))

    plan = planned(*MODELS, "-k", 2, "--prices", prices)

    agent, user = plan["models"]
    usual, simulations = TYPICAL["retail"], 24
    assert agent["calls"] == round(simulations * usual.agent)
    assert user["calls"] == round(simulations * usual.user)
    shortest = agent["calls"] * prompt_of_the_agent() / 4
    assert shortest < agent["input_tokens"] < 2 * shortest
    expected = (agent["input_tokens"] * 2 + agent["output_tokens"] * 8) / 1e6
    assert agent["cost"] == pytest.approx(expected, rel=0.01)
    assert plan["cost"] == agent["cost"] + user["cost"]
    assert "639 recorded conversations" in plan["basis"]
    half = planned(*MODELS, "-k", 1, "--prices", prices)
    assert half["cost"] == pytest.approx(plan["cost"] / 2, rel=0.01)


def test_without_a_price_no_cost_is_made_up():
    shown = maseval(*LIBRARY, *MODELS, "--dry-run")

    assert "The cost is not known." in plain(shown.stdout) and "$" not in shown.stdout


def test_what_would_be_refused_is_said():
    plan = planned("--agent-model", "no-such/x", "--user", "scripted", "--budget", "$5")

    unknown, budget = plan["problems"]
    assert "no-such/x" in unknown and "cannot be enforced" in budget


def test_a_resumed_run_plans_what_is_left(tmp_path):
    run = [*slow_agent(tmp_path, 0), "--output", "r", "--concurrency", 1]
    maseval(*LIBRARY, *run, "--budget", "100 tokens")

    assert planned(*run)["left"] == 11


def test_an_agent_of_ones_own_is_not_run(tmp_path):
    own = tmp_path / "own.py"
    own.write_text("def agent(brief):\n    raise SystemExit('must not be called')\n")

    plan = planned("--agent", f"{own}:agent", *MODELS)

    assert [model["role"] for model in plan["models"]] == ["agent", "user"]


def test_a_scripted_agent_costs_nothing_and_asks_nobody():
    plan = planned("--agent", "gold")

    assert plan["models"] == [] and plan["cost"] == 0
