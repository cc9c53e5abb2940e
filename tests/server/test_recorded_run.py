"""A whole tau2 run, recorded once: played again it is the same run, and costs nothing."""

import pytest

from maseval import ScriptedModelAdapter
from maseval.benchmark.tau2 import DefaultAgentTau2Benchmark, load_tasks
from maseval.benchmark.tau2.formats.message import assistant_message
from maseval.benchmark.tau2.players.scripted import make_model, make_user
from maseval.core import call_policy
from maseval.server import ModelServer, ReplayServer
from maseval.server.replaying import PLACEHOLDER
from tests.interface.libraries import needing

pytestmark = [pytest.mark.data, pytest.mark.slow, *needing("openai")]


@pytest.fixture(autouse=True)
def one_attempt(monkeypatch):
    monkeypatch.setattr(call_policy, "_default", call_policy.CallPolicy(max_attempts=1))


class Asked(DefaultAgentTau2Benchmark):
    """The reference agent and the simulated user, whose models are behind a base URL."""

    def __init__(self, url, prompt="", **options):
        super().__init__(progress_bar=False, seed=7, **options)
        self.url, self.prompt = url, prompt

    def get_model_adapter(self, model_id, **options):
        name, where = f"openai/{model_id}", {"base_url": self.url, "api_key": PLACEHOLDER}
        return super().get_model_adapter(name, **where, **options)

    def setup_user(self, agent_data, environment, task, seed_generator):
        task.user_data["model_id"] = f"user-{environment.domain}-{task.id}"
        return super().setup_user(agent_data, environment, task, seed_generator)

    def setup_agents(self, agent_data, environment, task, user, seed_generator):
        named = {"model_id": f"agent-{environment.domain}-{task.id}"}
        return super().setup_agents(named, environment, task, user, seed_generator)

    def _system_prompt(self, environment, task):
        return super()._system_prompt(environment, task) + self.prompt


class Provided(Asked):
    """The same, with a provider that has a scripted model for every part."""

    def __init__(self, url, provider, **options):
        super().__init__(url, **options)
        self.provider = provider

    def setup_agents(self, agent_data, environment, task, user, seed_generator):
        part = f"{environment.domain}-{task.id}"
        self.provider.add(make_model("gold", task, environment, model_id=f"agent-{part}"))
        self.provider.add(scripted_user(task, environment, f"user-{part}"))
        return super().setup_agents(agent_data, environment, task, user, seed_generator)


def scripted_user(task, environment, name):
    """A model that plays the scripted user of a task."""
    user = make_user(task, environment)

    def reply(messages, tools):
        last = messages[-1]
        if last["role"] == "tool":
            heard = [{"role": "tool", "id": last["tool_call_id"], "content": last["content"]}]
        else:
            heard = [assistant_message(last["content"])]
        answer = user.reply(heard)
        return answer["tool_calls"] or answer["content"]

    return ScriptedModelAdapter(reply, model_id=name)


def tasks():
    retail = [task for task in load_tasks("retail") if str(task.id) in ("0", "3")]
    return [*retail, load_tasks("telecom")[0]]


def essence(reports):
    """What must be the same: rewards, and every message without the time it was sent."""
    told = []
    for report in reports:
        messages = report["traces"]["environment"]["simulation"]["messages"]
        said = [{k: v for k, v in m.items() if k != "timestamp"} for m in messages]
        told.append((report["task_id"], report["status"], report["eval"][0]["reward"], said))
    return told


def test_a_run_is_recorded_and_played_and_a_changed_prompt_is_refused(tau2_data, tmp_path):
    path = tmp_path / "answers"
    with (
        ModelServer() as provider,
        ReplayServer(path, record=True, upstream=provider.url) as server,
    ):
        recorded = Provided(server.url, provider).run(tasks(), agent_data={})
    assert [report["eval"][0]["reward"] for report in recorded] == [1.0, 1.0, 1.0]
    assert server.recorded == len(server.cache.entries()) >= 20 and server.played == 0

    with ReplayServer(path) as server:
        played = Asked(server.url).run(tasks(), agent_data={})
        assert essence(played) == essence(recorded)
        assert (server.played, server.misses, server.unused) == (len(server.cache.entries()), 0, [])

        at_once = Asked(server.url, num_workers=3).run(tasks(), agent_data={})
        assert sorted(essence(at_once), key=str) == sorted(essence(recorded), key=str)
        assert server.misses == 0

    with ReplayServer(path) as server:
        changed = Asked(server.url, prompt="\nBe brief.").run(tasks()[:1], agent_data={})
    error = changed[0]["error"]
    assert (server.misses, error["error_type"]) == (1, "MalformedRequestError")
    assert "not_recorded" in error["error_message"]
    assert "maseval replay-server answers --record --upstream URL" in error["error_message"]
