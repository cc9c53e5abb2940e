"""A whole tau2 run, recorded once: played again it is the same run, and costs nothing."""

from typing import Any

import pytest

from maseval import ScriptedModelAdapter
from maseval.benchmark.tau2.players.scripted import GOODBYE
from maseval.commands import tau2
from maseval.runs import RunFolder
from maseval.server import ModelServer, ReplayServer
from tests.damage import results_in
from tests.interface.libraries import needing

pytestmark = needing("openai")


def reply(messages: list[dict[str, Any]], tools: Any) -> Any:
    """Call every tool once, without arguments, and say goodbye."""
    called = sum(message["role"] == "tool" for message in messages)
    if called == 0:
        return [{"name": tool["function"]["name"], "arguments": {}} for tool in tools]
    return GOODBYE


@pytest.mark.slow
def test_a_run_is_recorded_and_played_and_a_changed_request_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "no-key-needed")

    def run(server, name, **options):
        agent = {"agent_model": "openai/m", "base_url": server.url, "user": "scripted"}
        given = {"num_tasks": 3, "seed": 7, **agent, **options}
        result = tau2.run(domain="library", output=tmp_path / name, **given)
        return results_in(result.folder)

    path = tmp_path / "answers"
    with (
        ModelServer(ScriptedModelAdapter(reply, model_id="m")) as provider,
        ReplayServer(path, record=True, upstream=provider.url) as server,
    ):
        recorded = run(server, "recorded")
    assert server.recorded == len(server.cache.entries()) >= 6 and server.played == 0

    with ReplayServer(path) as server:
        assert run(server, "played") == recorded != []
        assert (server.played, server.misses, server.unused) == (len(server.cache.entries()), 0, [])
        assert run(server, "at-once", concurrency=3) == recorded
        assert server.misses == 0
        run(server, "changed", num_tasks=1, agent_args={"temperature": 0.5})
    [report] = RunFolder.read(tmp_path / "changed").reports()
    assert server.misses and report["error"]["error_type"] == "MalformedRequestError"
    assert "--record --upstream URL" in report["error"]["error_message"]
