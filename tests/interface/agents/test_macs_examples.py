"""MACS with an agent of a framework, its tools and a user to ask, as in MASEval's examples."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from maseval.benchmark.macs import MACSBenchmark, MACSUser
from maseval.core.scripted import ScriptedModelAdapter
from tests.benchmark.macs.team import SCRIPT, TEAM, a_task
from tests.interface.agents.framework import Framework
from tests.interface.agents.frameworks import LangGraph, Smolagents, each
from tests.interface.agents.served import served

pytestmark = [
    pytest.mark.data,
    pytest.mark.parametrize(
        "kind", each(lambda kind: kind in (LangGraph, Smolagents)), indirect=True
    ),
]


@pytest.fixture(autouse=True)
def templates_at_hand(macs_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MASEVAL_MACS_DATA", str(macs_data))


def benchmark_of(framework: Framework, url: str, script: dict[str, Any]) -> MACSBenchmark:
    """The benchmark of the example: its user is a tool as well, its models come from a task."""

    class User(framework.user, MACSUser):
        def __init__(self, *args, **kwargs):
            MACSUser.__init__(self, *args, **kwargs)

    class Example(MACSBenchmark):
        models: ClassVar[dict[str, ScriptedModelAdapter]] = {}

        def get_model_adapter(self, model_id, *, register_name, **options):
            model = ScriptedModelAdapter(script.get(register_name, []), model_id=model_id)
            self.models[register_name] = model
            return self.register("models", register_name, model)

        def setup_user(self, agent_data, environment, task):
            model_id = self._get_user_model_id(task)
            model = self.get_model_adapter(model_id, register_name="user_simulator")
            return User(model, task.metadata["scenario"], task.query)

        def setup_agents(self, agent_data, environment, task, user):
            specs = {spec["agent_id"]: spec for spec in agent_data["agents"]}
            tools = environment.get_tools_for_agent(specs["hotel"])
            offered = [*type(framework).as_tools(tools), user.get_tool()]
            agent = framework.agent(
                framework.model_at(url), offered, specs["hotel"]["agent_instruction"]
            )
            adapter = framework.adapter(agent, "hotel")
            return [adapter], {"hotel": adapter}

    return Example(progress_bar=False)


def test_an_agent_uses_a_tool_asks_the_user_and_is_judged(framework, say):
    script = {
        **SCRIPT,
        "user_simulator": ['{"text": "Two nights."}', '{"text": "Thanks </stop>"}'],
    }
    calls = [
        {"id": "c1", "name": framework.asking_tool, "arguments": {"question": "How long?"}},
        {"id": "c2", "name": "book", "arguments": {"nights": 2}},
    ]
    with served(*calls, say("Booked number 7.")) as (model, url):
        benchmark = benchmark_of(framework, url, script)
        (report,) = benchmark.run([a_task()], agent_data=TEAM)

    assert report["status"] == "success", report["error"]
    assert report["final_answer"] == "Booked number 7."
    assert report["eval"][0]["overall_gsr"] == 1.0
    (invocation,) = report["traces"]["tools"]["book"]["invocations"]
    assert (invocation["inputs"], invocation["outputs"]) == ({"nights": 2}, "number 7")
    sent = json.dumps(model.requests[-1]["messages"])
    assert "Two nights." in sent and "number 7" in sent
    usage = report["usage"]["agents"]["hotel"]["total_tokens"]
    assert usage == model.gather_usage().total_tokens
    judged = benchmark.models["evaluator_system_gsr"].requests[0]["messages"][0]["content"]
    assert "number 7" in judged


def test_a_model_that_nobody_named_is_said_to_be_missing(framework):
    with pytest.raises(ValueError, match=r"configure_model_ids\(tasks, user_model_id="):
        benchmark_of(framework, "", {})._get_user_model_id(SimpleNamespace(user_data={}))
