"""Agents that speak A2A: the SDK's own server as a real program, good and bad."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from maseval import AgentError, TaskContext
from maseval.core.exceptions import ConfigurationError, EnvironmentError, TaskTimeoutError
from maseval.interface.agents import A2AAgentAdapter
from maseval.interface.agents.framework import AgentGaveUpError
from maseval.interface.agents.program import AgentProgramError
from tests.interface.libraries import needing

PROGRAM = Path(__file__).with_name("a2a_agent.py")
KINDS = ["1.0", "1.0,whole", "old", "old,whole"]

pytestmark = needing("a2a")


@contextmanager
def serving(options: str = "1.0", program: Any = PROGRAM, **env: Any) -> Iterator[str]:
    """Start the agent; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    running = subprocess.Popen(
        [sys.executable, str(program), str(port), options],
        env={**os.environ, "PYTHONPATH": "", **env},
    )
    try:
        wait_for(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        running.kill()
        running.wait()


def wait_for(port: int, seconds: int = 60) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(port)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """One server for each kind of agent."""
    from contextlib import ExitStack

    with ExitStack() as opened:
        known = {}

        def url(options):
            if options not in known:
                folder = str(tmp_path_factory.mktemp("agent"))
                known[options] = opened.enter_context(serving(options, AGENT_FOLDER=folder))
            return known[options]

        yield url


@pytest.fixture
def weighed() -> list[Any]:
    return []


@pytest.fixture
def open_agent(weighed: list[Any]) -> Iterator[Callable[..., Any]]:
    made = []

    def weigh(item: str) -> str:
        weighed.append(item)
        return "1 kg"

    def make(url, **options):
        made.append(A2AAgentAdapter(url, **{"tools": [weigh], "policy": "Be kind."} | options))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("kind", KINDS)
def test_messages_tasks_and_questions_are_replies_in_every_version(
    kind, servers, open_agent, weighed
):
    agent = open_agent(servers(kind))

    assert agent.run("weigh") == "It weighs 1 kg"
    assert weighed == ["tea"]
    told = agent.run("told_first")
    assert "<policy>\nBe kind.\n</policy>" in told and "/mcp/" in told and "weigh" in told
    asked = agent.run("ask_back")
    assert agent.run("which_task").split()[0] in asked
    assert agent.run("which_task").split()[0] not in asked
    config = agent.gather_config()
    version = "0.3" if "old" in kind else "1.0"
    assert config["about"] == {
        "protocol": f"A2A {version}",
        "agent_info": {"name": "clerk", "version": "1.2"},
    }
    roles = [each["role"] for each in agent.gather_traces()["messages"]]
    assert roles[:4] == ["user", "assistant", "tool", "assistant"]


def test_each_simulation_is_a_context_of_its_own(servers, open_agent):
    agents = [open_agent(servers("1.0")) for _ in range(2)]
    first, second = (agent.run("which_task").split()[1] for agent in agents)

    assert first != second == agents[1].run("which_task").split()[1]


def test_tools_may_be_told_of_as_text_and_malformed_replies_are_answered(
    open_agent, weighed, tmp_path
):
    replies = [
        "I think I will weigh it.",
        '{"name": "weigh"}',
        '{"name": "fly", "arguments": {}}',
        'Then: ```json\n{"name": "weigh", "arguments": {"item": "tea"}}\n```',
        '{"name": "weigh", "arguments": {"size": 100000000000000001}}',
        '<json>{"name": "respond", "arguments": {"content": "Done."}}</json>',
    ]
    with serving(AGENT_TYPED=json.dumps(replies), AGENT_FOLDER=str(tmp_path)) as url:
        assert open_agent(url, tools_as="text").run("typed") == "Done."

    first, *heard = json.loads((tmp_path / "heard.json").read_text())
    assert '"name": "weigh"' in first and "respond" in first
    assert heard[:4] == [
        *["Error: this is not one JSON object with a name and arguments"] * 2,
        "Error: Tool 'fly' not found.",
        "1 kg",
    ]
    assert "unexpected keyword argument 'size'" in heard[4]
    assert weighed == ["tea"]


@pytest.mark.parametrize(
    ("act", "words"),
    [
        ("picture", "answered with raw alone, which the customer cannot read"),
        ("refuse", "left its task failed: no tea"),
        ("crash", "failed"),
    ],
)
def test_what_breaks_in_a_conversation_is_the_agents_failure(act, words, servers, open_agent):
    with pytest.raises(AgentError, match=words):
        open_agent(servers("1.0")).run(act)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ("gateway", EnvironmentError, "cannot be reached.*503"),
        ("redirect", AgentProgramError, "307"),
        ("endless", AgentProgramError, "above 64 MB"),
        ("nonsense", AgentProgramError, "does not speak A2A"),
        ("elsewhere", ConfigurationError, "names another address"),
        ("named", None, ""),
    ],
)
def test_transports_and_addresses_that_break_are_told_apart(options, error, words, open_agent):
    with serving(options) as url:
        if error is None:
            assert open_agent(url).run("told_first")
            return
        with pytest.raises(error, match=words):
            open_agent(url).run("weigh")


def test_nobody_at_the_address_is_no_failure_of_the_agent(open_agent):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(EnvironmentError, match="cannot be reached"):
        open_agent(f"http://127.0.0.1:{port}").run("weigh")


def test_a_turn_that_does_not_end_is_the_agents_failure(servers, open_agent):
    with pytest.raises(AgentProgramError, match=r"did not answer within 0\.5 s"):
        open_agent(servers("1.0"), turn_timeout=0.5).run("hang")


def test_a_task_is_cancelled_at_the_end_of_the_time(open_agent, tmp_path):
    with serving(AGENT_FOLDER=str(tmp_path)) as url:
        with TaskContext(deadline=60.0).active() as context:
            agent = open_agent(url)
            agent.run("told_first")
            context.deadline = context.elapsed + 1.0
            with pytest.raises(TaskTimeoutError):
                agent.run("hang")
        context.end()
        assert (tmp_path / "cancelled").exists()


def test_an_agent_that_never_answers_by_a_call_gives_up(open_agent, tmp_path):
    nonsense = json.dumps(["Hello."] * 10)
    with (
        serving(AGENT_TYPED=nonsense, AGENT_FOLDER=str(tmp_path)) as url,
        pytest.raises(AgentGaveUpError, match="malformed"),
    ):
        open_agent(url, tools_as="text").run("typed")
