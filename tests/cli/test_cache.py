"""``--cache``: fewer requests, and a record that says where the answers came from."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval import commands
from maseval.runs import RunFolder
from maseval.testing.provider_server import OpenAIProtocol, ProviderServer, Reply, Request, serving
from tests.cli.commandline import last_json, maseval

WORDS = "came from a cache: trials are not independent, and the interval is too narrow"


class SameAnswer(ProviderServer):
    def reply_to(self, request: Request) -> Reply:
        return Reply(OpenAIProtocol.text("One moment, please."))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SameAnswer]:
    pytest.importorskip("openai")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    with serving(SameAnswer()) as server:
        yield server


def run(server: SameAnswer, name: str, *more: str) -> Any:
    return maseval(
        *("tau2", "run", "--domain", "library", "-n", "2", "--max-steps", "6"),
        *("--user", "scripted", "--agent-model", "mine", "--base-url", f"{server.url}/v1"),
        *("--texts", "ours", "--output", name, *more),
    )


def words_of(result: Any) -> str:
    return " ".join(result.stdout.split())


def test_without_the_option_nothing_is_kept(server, tmp_path):
    run(server, "plain")
    asked = len(server.requests)
    run(server, "again")

    assert len(server.requests) == 2 * asked
    assert not (tmp_path / "cache" / "answers").exists()
    assert "cache" not in RunFolder.read("plain").config.values


def test_a_second_run_asks_nobody_and_every_number_of_it_says_so(server, tmp_path):
    first = run(server, "first", "--cache")
    asked = len(server.requests)
    second = run(server, "second", "--cache")

    assert first.exit_code == second.exit_code == 0 and len(server.requests) == asked > 0
    assert RunFolder.read("first").config.values["cache"] is True
    assert WORDS not in words_of(first)
    for printed in (words_of(second), words_of(maseval("show", "second"))):
        assert f"{asked} of {asked} answers {WORDS}" in printed

    lines = commands.show("second").lines
    assert sum(line.cached_answers for line in lines) == asked
    assert all(line.cached_answers == line.answers > 0 for line in lines)
    one = words_of(maseval("show", "second", lines[0].task_id))
    assert f"{lines[0].answers} of {lines[0].answers} answers from a cache" in one
    told = last_json(run(server, "second", "--cache", "--json").stdout)
    assert (told["answers"], told["cached_answers"], told["tokens"]) == (asked, asked, 0)
    assert told["cost"] == 0.0

    maseval("report", "second", "--output", "page.html")
    assert WORDS in (tmp_path / "page.html").read_text(encoding="utf-8")

    reports = [list(RunFolder.read(name).reports()) for name in ("first", "second")]
    spoken = [
        [
            message["content"]
            for report in each
            for message in report["traces"]["environment"]["simulation"]["messages"]
        ]
        for each in reports
    ]
    assert spoken[0] == spoken[1]


def test_a_comparison_and_a_gate_name_it(server):
    run(server, "first", "--cache")
    run(server, "second", "--cache")
    run(server, "plain")

    for words in (
        words_of(maseval("compare", "plain", "second")),
        " ".join(json.loads(maseval("compare", "plain", "second", "--json").stdout)["cautions"]),
        words_of(maseval("gate", "second", "--baseline", "plain", "--markdown", "-")),
    ):
        assert "second: " in words and WORDS in words
    assert WORDS not in words_of(maseval("compare", "plain", "first"))


def test_a_run_is_resumed_with_or_without_it(server):
    assert run(server, "r", "--cache", "-k", "1").exit_code == 0
    assert run(server, "r", "-k", "2").exit_code == 0


OWN = """\
from maseval import AgentAdapter, Benchmark, Environment, Evaluator, Task, TaskQueue, resolve_model

class Empty(Environment):
    def setup_state(self, task_data):
        return {{}}
    def create_tools(self):
        return {{}}

class Asker(AgentAdapter):
    def _run_agent(self, query):
        return self.agent.generate(query)

class Passes(Evaluator):
    def filter_traces(self, traces):
        return traces
    def __call__(self, traces, final_answer=None):
        return {{"passed": final_answer == "One moment, please."}}

class Mine(Benchmark):
    def setup_environment(self, agent_data, task, seed_generator):
        return Empty({{}})
    def setup_user(self, agent_data, environment, task, seed_generator):
        return None
    def setup_agents(self, agent_data, environment, task, user, seed_generator):
        model = resolve_model("openai/mine", base_url="{url}/v1", api_key="none")
        agent = Asker(self.register("models", "mine", model), "asker")
        return [agent], {{"asker": agent}}
    def setup_evaluators(self, environment, task, agents, user, seed_generator):
        return [Passes(task, environment)]
    def get_model_adapter(self, model_id, **kwargs):
        raise NotImplementedError
    def run_agents(self, agents, task, environment, query):
        return agents[0].run(query)

TASKS = [Task(query="Now?", id="now"), Task(query="Later?", id="later")]
"""


def test_registered_models_of_any_benchmark_are_served(server, tmp_path):
    (tmp_path / "mine.py").write_text(OWN.format(url=server.url))
    options = {"benchmark": "mine.py:Mine", "tasks": "mine.py:TASKS", "cache": True}
    commands.run(**options, output="first")
    result = commands.run(**options, trials=2, output="second")

    assert len(server.requests) == 2 and result.complete
    told = result.summary.to_dict()
    assert (told["answers"], told["cached_answers"]) == (4, 4)
