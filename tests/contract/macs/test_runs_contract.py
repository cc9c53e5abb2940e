"""Whole repetitions: how often the agent is invoked, which models are made, what is reported."""

from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.macs import MACSBenchmark, configure_model_ids
from maseval.benchmark.macs.benchmark import MACSUser
from maseval.core.agent import AgentAdapter
from maseval.core.engine.participants import Agents
from maseval.core.model import ModelAdapter
from maseval.core.scripted import ScriptedModelAdapter
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.tracing import JsonObject
from maseval.core.user import User
from tests.contract.macs.vectors import cases_in

pytestmark = [pytest.mark.contract, pytest.mark.data]

JUDGED = {
    "evaluator_user_gsr": '[{"assertion": "a", "answer": "TRUE", "evidence": "e"}]',
    "evaluator_system_gsr": '[{"assertion": "b", "answer": "FALSE", "evidence": "e"}]',
}
UNREADABLE = {
    "judge_unreadable": {"evaluator_user_gsr": "no json"},
    "judge_keyerror": dict.fromkeys(JUDGED, '["TRUE"]'),
}


class Asking(AgentAdapter):
    """Asks the user some questions, then answers."""

    def __init__(self, user: MACSUser, asks: int) -> None:
        super().__init__(None, "asking")
        self.user, self.asks = user, asks
        self.queries = []

    def _run_agent(self, query: str) -> Any:
        self.queries.append(query)
        for _ in range(self.asks):
            self.user.respond("a question")
        return f"answer {len(self.queries)}"


class Recorded(MACSBenchmark):
    """One asking agent, and models that answer as recorded."""

    def __init__(self, case: dict[str, Any], **options: Any) -> None:
        super().__init__(seed=7, progress_bar=False, **options)
        self.case = case
        self.models = []

    def setup_agents(
        self,
        agent_data: JsonObject,
        environment: Any,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> Agents:
        self.agent = Asking(user, self.case["asks_per_run"])
        return [self.agent], {"asking": self.agent}

    def get_model_adapter(self, model_id: str, **options: Any) -> ModelAdapter:
        name, seed = options["register_name"], options["seed"]
        self.models.append([name, seed])
        if name == "user_simulator":
            outputs = self.case["user_outputs"]
            replies = [*outputs, *outputs[-1:] * 9]
        else:
            answers = {**JUDGED, **UNREADABLE.get(self.case["name"], {})}
            replies = [answers.get(name, "{}")] * 3
        return self.register("models", name, ScriptedModelAdapter(replies, seed=seed))


def task() -> list[Task]:
    made = Task(
        "start",
        id="t-1",
        environment_data={"tools": [{"tool_name": "G", "actions": [{"name": "act"}]}]},
        evaluation_data={"assertions": ["user: a", "agent: b"]},
        metadata={"scenario": "s"},
    )
    ids = {"tool_model_id": "m", "user_model_id": "m", "evaluator_model_id": "m"}
    return configure_model_ids([made], **ids)


@pytest.fixture(autouse=True)
def templates_at_hand(macs_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("MASEVAL_MACS_DATA", str(macs_data))


def test_every_recorded_run_goes_as_recorded(macs_vectors):
    for case in cases_in(macs_vectors, "runs"):
        benchmark = Recorded(case)
        (report,) = benchmark.run(task())
        assert {
            "status": report["status"],
            "agent_runs": len(benchmark.agent.queries),
            "queries": benchmark.agent.queries,
            "models": benchmark.models,
            "user_turns": report["traces"]["user"]["turns_used"],
            "trace_keys": sorted(report["traces"]),
        } == {
            key: case[key]
            for key in ("status", "agent_runs", "queries", "models", "user_turns", "trace_keys")
        }, case["name"]
        assert list(report["traces"]["tools"]) == ["act"]
        (found,) = report["eval"]
        for expected in case.get("eval") or [case.get("eval_contains", {})]:
            assert {key: found[key] for key in expected} == expected, case["name"]
