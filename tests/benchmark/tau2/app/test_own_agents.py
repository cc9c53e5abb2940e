"""An agent of one's own: found, briefed, run, recorded."""

import asyncio
import json
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval import AgentAdapter, ScriptedModelAdapter, commands
from maseval.app.running.own_agents import load_agent
from maseval.app.running.own_code import qualified_name
from maseval.benchmark.tau2 import DefaultTau2Agent, DefaultTau2AgentAdapter
from maseval.commands import tau2
from maseval.commands.tau2 import AgentBrief, AgentModel
from maseval.core.agent_brief import FunctionAgentAdapter
from maseval.core.exceptions import ConfigurationError, HookResultError
from maseval.runs import RunFolder
from maseval.runs.exceptions import RunConfigError


@pytest.fixture(autouse=True)
def importing_is_undone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("maseval_agent_", "package_with", "neighbour_of")):
            del sys.modules[name]


FEW = dict(domain="library", num_tasks=2, concurrency=2)


def reference_agent(brief: AgentBrief) -> DefaultTau2AgentAdapter:
    return DefaultTau2AgentAdapter(DefaultTau2Agent(brief.tools, brief.policy, brief.chat_model()))


def polite(brief: AgentBrief) -> Callable[..., Any]:
    return lambda query: f"You said: {query}"


def brief_with(**given: Any) -> AgentBrief:
    return AgentBrief(**{"tools": {}, "policy": "Be kind.", "domain": "library", **given})


def file_with(folder: Path, text: str, name: str = "my_agent.py") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


def test_an_agent_is_rehearsed_to_the_full_reward_and_every_report_says_so(tmp_path):
    result = tau2.run(**FEW, agent=reference_agent, rehearse="gold", output=tmp_path / "r")

    assert result.complete and result.summary.overall.passed == 2
    assert result.summary.tokens > 0
    (report, _) = RunFolder.read(result.folder).reports()
    assert set(report["config"]["models"]) == {"agent_model"}
    told = report["config"]["benchmark"]["agent"]
    assert told == {"function": "test_own_agents.py:reference_agent", "rehearsed with": "gold"}
    page = commands.report(result.folder, tmp_path / "report.html")
    assert "rehearsed with" in Path(page).read_text(encoding="utf-8")


async def polite_and_async(brief: AgentBrief) -> Callable[..., Any]:
    async def answer(query):
        await asyncio.sleep(0)
        return f"You said: {query}"

    return answer


@pytest.mark.parametrize("agent", [polite, polite_and_async])
def test_a_function_from_query_to_answer_is_an_agent(agent, tmp_path):
    result = tau2.run(**FEW, agent=agent, user="scripted", max_steps=20, output=tmp_path / "r")

    assert result.complete
    (report, _) = RunFolder.read(result.folder).reports()
    said = [m["content"] for m in report["traces"]["environment"]["simulation"]["messages"]]
    assert any(str(text).startswith("You said: Hello") for text in said)


def test_a_full_disk_in_an_agent_is_nobodys_failure_and_resuming_runs_it_again(tmp_path):
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    places = [full]

    def forgetful(brief):
        def answer(query):
            with places[-1].open("a") as file:
                file.write(query)
            return "Noted."

        return answer

    given = dict(agent=forgetful, user="scripted", max_steps=20, output=tmp_path / "r")
    first = tau2.run(**FEW, **given)

    assert set(RunFolder.read(first.folder).recorded.values()) == {"machine_error"}
    assert first.summary.overall.verdicts == 0 and not first.complete
    assert "No space left" in str(first.errors[0].error)
    places.append(tmp_path / "notes")
    again = tau2.run(**FEW, **given)
    assert again.complete and again.summary.overall.verdicts == 2


@pytest.mark.parametrize("answer", [42, {"content": "Hi"}, iter(["Hi"])])
def test_what_is_no_text_is_no_answer(answer):
    with pytest.raises(HookResultError, match="not with a text"):
        FunctionAgentAdapter(lambda query: answer, "curt").run("Hello")


def test_an_agent_that_was_in_another_simulation_is_refused(tmp_path):
    adapter = FunctionAgentAdapter(lambda query: "Hello again", "shared")

    result = tau2.run(
        **FEW, agent=lambda brief: adapter, user="scripted", max_steps=20, output=tmp_path / "r"
    )

    assert result.summary.overall.failed == 1
    errors = [report["error"] for report in RunFolder.read(result.folder).reports()]
    assert "has already been in another simulation" in str(errors)


def test_a_file_is_loaded_with_its_neighbours_and_told_what_it_may_know(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file_with(tmp_path, "GREETING = 'Welcome'", "neighbour_of_the_agent.py")
    file_with(
        tmp_path,
        """
        import json
        from neighbour_of_the_agent import GREETING

        def make(brief):
            told = [brief.domain, brief.model.name, brief.model.base_url, dict(brief.args)]
            told.append(sorted(brief.tools)[:1])
            return lambda query: GREETING + json.dumps(told)
        """,
        "greeter.py",
    )

    result = tau2.run(
        **FEW,
        agent="greeter.py:make",
        agent_model="openai/some-model",
        agent_args={"temperature": 0.5, "base_url": "http://here/v1"},
        user="scripted",
        max_steps=10,
        output=tmp_path / "r",
    )

    (report, _) = RunFolder.read(result.folder).reports()
    messages = report["traces"]["environment"]["simulation"]["messages"]
    answer = next(m["content"] for m in messages if str(m["content"]).startswith("Welcome"))
    assert json.loads(answer.removeprefix("Welcome"))[:4] == [
        "library",
        "some-model",
        "http://here/v1",
        {"temperature": 0.5},
    ]
    config = RunFolder.read(result.folder).config.values["agent"]
    assert config["function"] == "greeter.py:make" and config["model"] == "openai/some-model"


def test_a_run_is_not_mixed_of_two_versions_of_an_agent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = dict(FEW, user="scripted", max_steps=10, output=tmp_path / "r")
    agent = "def make(brief):\n    from neighbour_of_it import answer\n    return answer\n"
    file_with(tmp_path, agent, "versioned.py")
    file_with(tmp_path, "def answer(query): return 'Yes.'\n", "neighbour_of_it.py")
    tau2.run(**run, agent="versioned.py:make")
    file_with(tmp_path, "def answer(query): return 'No.'\n", "neighbour_of_it.py")

    with pytest.raises(RunConfigError, match=r"other code:\n  neighbour_of_it.py: changed\n"):
        tau2.run(**run, agent="versioned.py:make")

    tau2.run(**{**run, "num_tasks": 3}, agent="versioned.py:make", resume_changed=True)
    certificate = tau2.certify(tmp_path / "r", partial=True)
    assert "Two versions of the code: 2 and 1 simulation." in certificate.text()


def test_all_agents_of_a_cast_are_traced(tmp_path):
    class Relay(AgentAdapter):
        def _run_agent(self, query):
            return self.agent.run(query)

    def make(brief):
        inner = FunctionAgentAdapter(lambda query: "Fine.", "inner")
        return [Relay(inner, "outer")], {"inner": inner}

    result = tau2.run(**FEW, agent=make, user="scripted", max_steps=10, output=tmp_path / "r")

    (report, _) = RunFolder.read(result.folder).reports()
    assert {"inner"} <= set(report["traces"]["agents"])


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("missing.py:agent", "no file 'missing.py'"),
        ("agents.py:agnet", "did you mean 'agent'"),
        ("agents.py:NUMBER", "must be a function"),
        ("broken.py:agent", "ZeroDivisionError"),
        ("leaving.py:agent", "SystemExit"),
        ("no.such.module:agent", "ModuleNotFoundError"),
        ("framework.py:agent", r"pip install '\.\[llamaindex\]'"),
        ("relative.py:agent", "like package.module:function"),
        ("agents.py:", "write it like"),
        (":agent", "write it like"),
        ("http://localhost:9000/v1", "--agent-args base_url=URL"),
    ],
)
def test_what_cannot_be_loaded_is_told(reference, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file_with(tmp_path, "NUMBER = 1\ndef agent(brief): ...\n", "agents.py")
    file_with(tmp_path, "1 / 0", "broken.py")
    file_with(tmp_path, "raise SystemExit(3)", "leaving.py")
    file_with(tmp_path, "from .agents import agent", "relative.py")
    file_with(tmp_path, "import llama_index.no_such_part", "framework.py")

    with pytest.raises(ConfigurationError, match=told):
        load_agent(reference)


def test_a_module_is_found_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "package_with_agent").mkdir()
    file_with(tmp_path / "package_with_agent", "def agent(brief): return len", "inside.py")

    make = load_agent("package_with_agent.inside:agent")

    assert make(brief_with()) is len
    assert qualified_name(make) == "inside.py:agent"


def test_asking_for_a_model_that_nobody_named_tells_how_to_name_one():
    with pytest.raises(ConfigurationError, match="--agent-model"):
        _ = brief_with().model.name


def test_the_model_of_a_brief_is_made_by_its_id_and_address():
    asked = {}

    def resolve(model_id, **options):
        asked.update(options, model_id=model_id)
        return ScriptedModelAdapter(["ok"])

    brief_with(model=AgentModel("m", "http://here", "k"), seed=3, resolve=resolve).chat_model("r")
    assert asked == {
        **{"model_id": "openai/m", "register_name": "r", "seed": 3},
        **{"base_url": "http://here", "api_key": "k"},
    }
    brief_with(model=AgentModel("anthropic/m"), resolve=resolve).chat_model()
    assert asked["model_id"] == "anthropic/m"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"agent": "gold", "rehearse": "gold"}, "name your agent like"),
        ({"agent": polite, "rehearse": "perfect"}, "choose one of: gold, noop, noisy"),
        ({"agent": polite, "mode": "solo"}, "use mode 'normal'"),
        ({"agent": polite, "mode": "oracle-plan"}, "use agent 'llm'"),
        ({"agent": polite}, "user_model is not set"),
        ({"agent": "polite"}, "like my_agent.py:function"),
        ({"agent": lambda: polite, "user": "scripted"}, "cannot be called with a brief"),
        ({"agent": lambda brief, more: polite, "user": "scripted"}, "required argument: 'more'"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_run(given, told, tmp_path):
    with pytest.raises(ConfigurationError, match=told):
        tau2.run(**FEW, **given, output=tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_a_comparison_says_which_run_is_a_rehearsal(tmp_path):
    tau2.run(**FEW, agent=reference_agent, rehearse="noop", output=tmp_path / "rehearsed")
    tau2.run(**FEW, agent="gold", output=tmp_path / "played")

    found = commands.compare([tmp_path / "rehearsed", tmp_path / "played"])

    assert found.cautions[0] == "rehearsed: a rehearsal, in which noop played the agent's model"
    assert not any(caution.startswith("played") for caution in found.cautions)
