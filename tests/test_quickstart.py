"""The examples of the documents about tau2 run as written; only the models are scripted.

What the documents leave undefined (``MyModelAdapter``, bodies of ``...``) is supplied here. The
examples of the core that do not depend on the benchmark are in ``test_seed_examples``.
"""

# ruff: noqa: I001  (the documents' own imports stand as they are written there)

from typing import Any
import json
import os
from pathlib import Path

import pytest

from maseval import AgentAdapter, ScriptedModelAdapter, register_model
from maseval.benchmark.tau2.data_loader import DataUnavailableError
from maseval.benchmark.tau2.data_loader import ensure_data_exists as fetch
from maseval.core import model as model_module

pytestmark = pytest.mark.data


@pytest.fixture(autouse=True)
def data() -> Path:
    try:
        return fetch(verbose=0)
    except DataUnavailableError as error:
        if os.environ.get("MASEVAL_REQUIRE_DATA") == "1":
            pytest.fail(f"MASEVAL_REQUIRE_DATA=1, but: {error}", pytrace=False)
        pytest.skip(str(error).partition(" Tried:")[0])


@pytest.fixture(autouse=True)
def gpt_4o(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is asked of ``gpt-4o``, as agent, user or judge, a scripted model answers."""
    monkeypatch.setattr(model_module.MODELS, "registered", {})
    register_model("openai", lambda name, **options: scripted(f"openai/{name}", **options))


def scripted(model_id: str, **options: Any) -> ScriptedModelAdapter:
    return ScriptedModelAdapter(speak, model_id=model_id, seed=options.get("seed"))


def speak(messages: list[dict[str, str]], tools: list[dict[str, Any]] | None) -> str:
    system = messages[0]["content"]
    if "<policy>" in system:
        return "Is there anything else?"
    if "<scenario>" in system:
        return "###STOP###" if len(messages) > 3 else "I need help."
    return json.dumps({"results": []})


class MyModelAdapter(ScriptedModelAdapter):
    """The name that the documents leave undefined."""

    def __init__(self, model_id: str, seed: int | None = None) -> None:
        super().__init__(speak, model_id=model_id, seed=seed)


class MyAgentAdapter(AgentAdapter):
    """Somebody's agent; it uses the tools that it was given."""

    def _run_agent(self, query: str) -> Any:
        tools = self.agent
        return f"I looked: {tools['list_all_product_types']()[:20]}"


def adapter_of(tools: dict[str, Any]) -> tuple[list[MyAgentAdapter], dict[str, Any]]:
    adapter = MyAgentAdapter(tools, "my_agent")
    return [adapter], {"my_agent": adapter}


def test_quick_start():
    from maseval.benchmark.tau2 import (
        Tau2Benchmark, Tau2Environment, Tau2Evaluator, Tau2User,
        load_tasks, configure_model_ids, ensure_data_exists,
        compute_benchmark_metrics, compute_pass_at_k,
    )  # fmt: skip

    # Ensure domain data is downloaded
    ensure_data_exists(domain="retail")

    # Load tasks and configure model IDs
    tasks = load_tasks("retail", split="base", limit=5)
    configure_model_ids(
        tasks,
        user_model_id="gpt-4o",
        evaluator_model_id="gpt-4o",
    )

    # Create your framework-specific benchmark subclass
    class MyTau2Benchmark(Tau2Benchmark):
        def setup_agents(self, agent_data, environment, task, user):
            tools = environment.tools
            # Create your agent with these tools
            return adapter_of(tools)

        def get_model_adapter(self, model_id, **kwargs):
            adapter = MyModelAdapter(model_id)
            if "register_name" in kwargs:
                self.register("models", kwargs["register_name"], adapter)
            return adapter

    # Run benchmark
    benchmark = MyTau2Benchmark(agent_data={}, n_task_repeats=4)
    results = benchmark.run(tasks)

    # Compute metrics
    metrics = compute_benchmark_metrics(results)
    pass_k = compute_pass_at_k(results, k_values=[1, 2, 3, 4])

    assert [report["status"] for report in results] == ["success"] * 20
    assert metrics["status_counts"] == {"success": 20}
    assert 0.0 <= metrics["success_rate"] <= 1.0
    assert list(pass_k) == ["pass@1", "pass@2", "pass@3", "pass@4"]
    report = results[0]
    assert report["config"]["models"]["user_simulator"]["model_id"] == "gpt-4o"
    assert "list_all_product_types" in json.dumps(report["traces"]["environment"]["simulation"])
    for name in (Tau2Environment, Tau2Evaluator, Tau2User):
        assert isinstance(name, type)


def test_baseline():
    from maseval.benchmark.tau2 import load_tasks, configure_model_ids

    tasks = load_tasks("retail", split="base", limit=2)
    configure_model_ids(tasks, user_model_id="gpt-4o")

    from maseval.benchmark.tau2 import DefaultAgentTau2Benchmark

    benchmark = DefaultAgentTau2Benchmark(
        agent_data={"model_id": "gpt-4o"},
        n_task_repeats=4,
    )
    results = benchmark.run(tasks)

    assert [report["status"] for report in results] == ["success"] * 8
    assert results[0]["config"]["models"]["agent_model"]["model_id"] == "openai/gpt-4o"


def test_the_example_of_tau2_benchmark():
    from maseval.benchmark.tau2 import Tau2Benchmark, load_tasks, configure_model_ids

    seeds = []

    class MyTau2Benchmark(Tau2Benchmark):
        def setup_agents(self, agent_data, environment, task, user, seed_generator):
            # Setup your agents here
            return adapter_of(environment.tools)

        def get_model_adapter(self, model_id, **kwargs):
            seed = kwargs.get("seed")  # Extract seed for reproducibility
            seeds.append(seed)
            return MyModelAdapter(model_id, seed=seed)

    tasks = load_tasks("retail", limit=3)
    configure_model_ids(tasks, user_model_id="gpt-4o")

    benchmark = MyTau2Benchmark()
    reports = benchmark.run(tasks)

    assert [report["status"] for report in reports] == ["success"] * 3
    assert seeds == [None] * 3
    MyTau2Benchmark(seed=1).run(tasks)
    assert len(set(seeds[3:])) == 3


def test_the_example_of_default_agent_tau2_benchmark():
    from maseval.benchmark.tau2 import DefaultAgentTau2Benchmark, load_tasks, configure_model_ids

    tasks = load_tasks("retail", split="base", limit=5)
    configure_model_ids(tasks, user_model_id="gpt-4o")

    benchmark = DefaultAgentTau2Benchmark(
        agent_data={"model_id": "gpt-4o", "verbose": 1},
    )
    results = benchmark.run(tasks)

    assert [report["status"] for report in results] == ["success"] * 5


def test_the_examples_of_the_loaders():
    from maseval.benchmark.tau2 import load_tasks, configure_model_ids, ensure_data_exists

    tasks = load_tasks("retail", split="base", limit=5)
    assert len(tasks) == 5

    # Custom timeout and retries
    tasks = load_tasks("retail", timeout_seconds=300, max_retries=2)
    assert (tasks[0].protocol.timeout_seconds, tasks[0].protocol.max_retries) == (300, 2)

    tasks = load_tasks("retail", limit=5)
    same = configure_model_ids(
        tasks,
        user_model_id="gpt-4o",
        evaluator_model_id="gpt-4o",
    )
    assert same is tasks

    folder = ensure_data_exists(domain="retail")
    assert isinstance(folder, Path)


def test_the_example_of_register():
    from maseval.benchmark.tau2 import Tau2Benchmark, configure_model_ids, load_tasks

    class MyTau2Benchmark(Tau2Benchmark):
        def setup_agents(self, agent_data, environment, task, user):
            # Create model (needs manual registration)
            model = MyModelAdapter("main")
            self.register("models", "main_model", model)

            # Create agent (auto-registered when returned)
            agent_adapter = MyAgentAdapter(environment.tools, "agent1")

            # Environment and user are also auto-registered
            return [agent_adapter], {"agent1": agent_adapter}

    tasks = configure_model_ids(load_tasks("retail", limit=1), user_model_id="gpt-4o")
    benchmark = MyTau2Benchmark()
    (report,) = benchmark.run(tasks)

    assert report["traces"]["models"]["main_model"]["total_calls"] == 0
    assert "agent1" in report["traces"]["agents"]
    assert "models:user_simulator" in benchmark.usage_by_component
    assert benchmark.usage.to_dict()
