"""Agents that speak ACP: the SDK's own agent as a real program, good and bad."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval import AgentError, TaskContext
from maseval.core.exceptions import ConfigurationError, EnvironmentError
from maseval.interface.agents import ACPAgentAdapter
from maseval.interface.agents.acp import AcpProgram
from maseval.interface.agents.framework import AgentGaveUpError
from maseval.interface.agents.program import AgentProgramError
from tests.interface.libraries import needing

PROGRAM = Path(__file__).with_name("acp_agent.py")

pytestmark = needing("acp")


def command(*options: str) -> list[str]:
    return [sys.executable, str(PROGRAM), ",".join(options)]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One program for all sessions that do it no harm."""
    program = AcpProgram(command(), {"AGENT_FOLDER": str(tmp_path_factory.mktemp("agent"))})
    yield program
    program.close()


@pytest.fixture
def weighed() -> list[Any]:
    return []


@pytest.fixture
def open_agent(weighed: list[Any], tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Make adapters that end with the test."""
    made = []

    def weigh(item: str) -> str:
        weighed.append(item)
        return "1 kg"

    def make(program, **options):
        given = {"tools": [weigh], "policy": "Be kind.", "env": {"AGENT_FOLDER": str(tmp_path)}}
        made.append(ACPAgentAdapter(program, **given | options))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def agent(open_agent: Callable[..., Any], shared: Any) -> Any:
    return open_agent(shared)


def is_running(pid: Any) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(done: Callable[..., Any], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        time.sleep(0.05)
    assert done()


def test_the_reply_is_what_was_said_after_the_last_call_and_the_rest_is_in_the_trace(
    agent, weighed
):
    assert agent.run("think") == "It weighs 1 kg"

    assert weighed == ["tea"]
    traces = agent.gather_traces()
    assert [(each["role"], each.get("content")) for each in traces["messages"]] == [
        ("user", "think"),
        ("assistant", None),
        ("tool", "1 kg"),
        ("assistant", "It weighs 1 kg"),
    ]
    kinds = [each["kind"] for each in traces["updates"]]
    assert kinds == ["agent_thought_chunk", "plan", "tool_call"]
    assert traces["asked_for_tools"] is True
    usage = agent.gather_usage()
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (10, 5, 15)
    assert (usage.cached_input_tokens, usage.reasoning_tokens) == (3, 4)
    about = agent.gather_config()["about"]
    assert about == {"protocol": "ACP 1", "agent_info": {"name": "clerk", "version": "1.2"}}


def test_words_before_a_call_are_the_reply_if_nothing_follows(agent):
    assert agent.run("trail_off") == "Let me see."


def test_the_policy_stands_in_the_first_prompt_and_is_a_prompt_of_the_tools(agent):
    first = agent.run("told_first")
    assert first.endswith("<policy>\nBe kind.\n</policy>")
    assert agent.run("told_first") == "told_first"
    assert agent.gather_traces()["asked_for_tools"] is False
    assert agent.run("read_policy") == "Be kind. / Be kind."
    assert agent.gather_config()["policy_in"] == ["first message", "MCP prompt"]


def test_an_agent_without_http_gets_its_tools_over_standard_streams(open_agent, weighed):
    agent = open_agent(command("stdio"))

    assert agent.run("think") == "It weighs 1 kg"
    assert agent.run("read_policy") == "Be kind. / Be kind."
    assert agent.run("weigh_all 20") == "20"
    assert len(weighed) == 21


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        ("other weigh", "allow_once it"),
        ("other mcp__maseval__weigh", "allow_once it"),
        ("other maseval/weigh (maseval MCP server)", "allow_once it"),
        ("other overweigh", "reject_once it"),
        ("other weigh_all", "reject_once it"),
        ("execute rm weigh", "reject_once it"),
        ("fetch https://example.com", "reject_once it"),
    ],
)
def test_permission_is_given_for_the_tools_alone(agent, asked, chosen):
    assert agent.run(f"ask {asked}") == chosen
    (noted,) = agent.gather_traces()["updates"]
    assert noted["allowed"] == ("allow" in chosen)


def test_calls_between_the_turns_have_no_effect(agent, weighed):
    agent.run("late")
    time.sleep(0.6)

    assert "not your turn" in agent.run("heard_late")
    assert weighed == []


def test_hundreds_of_calls_at_once_are_made_and_more_refused_and_disturb_nobody(
    open_agent, shared, agent, weighed
):
    other = open_agent(shared)

    assert agent.run("flood 300") == "300 made, 0 refused, 300 sent"
    assert len(weighed) == 300
    made, refused, _ = (int(each.split()[0]) for each in agent.run("flood 1000").split(", "))
    assert (made + refused, len(weighed)) == (1000, 300 + made)
    assert other.run("think") == "It weighs 1 kg"


def test_files_terminals_our_secrets_and_other_sessions_are_out_of_reach(open_agent, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-this-process")
    monkeypatch.setenv("WANTED", "1")
    agent = open_agent(command(), env={"TEA_KEY": "x"})

    codes, names = agent.run("pry").split("] ")

    assert codes == "[-32601, -32601, -32601, -32601"
    assert {"PATH", "HOME", "TEA_KEY"} <= set(names.split())
    assert not {"OPENAI_API_KEY", "WANTED"} & set(names.split())


def test_what_is_written_besides_the_protocol_does_no_harm(agent, caplog):
    assert agent.run("shout 200") == "Excuse me."
    assert not caplog.records


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        ("die", AgentProgramError, r"ended, .* \(exit code 3\); it wrote last: KeyError: 'tea'"),
        ("fail", AgentProgramError, "refused to answer: my model is out of tea.*500"),
        ("nonsense", AgentProgramError, "an answer that is not ACP's"),
        ("ramble", AgentProgramError, "wrote more than 64 MB in one turn"),
        ("unending", AgentProgramError, "wrote a line that is too long"),
        ("give_up", AgentGaveUpError, "max_turn_requests"),
    ],
)
def test_what_breaks_in_a_conversation_is_the_agents_failure(open_agent, shared, act, error, words):
    agent = open_agent(shared if act in ("fail", "give_up") else command())

    with pytest.raises(error, match=words) as raised:
        agent.run(act)

    assert isinstance(raised.value, AgentError)
    if act == "die":
        assert raised.value.details["exit_code"] == 3
        assert "KeyError: 'tea'" in raised.value.details["stderr"]
        assert "sk-abc" not in raised.value.details["stderr"]


def test_a_shared_program_that_died_is_started_again_for_the_next_session(open_agent):
    program = AcpProgram(command())
    with pytest.raises(AgentProgramError):
        open_agent(program).run("die")

    assert open_agent(program).run("think") == "It weighs 1 kg"
    program.close()


def test_a_turn_that_does_not_end_is_the_agents_failure_and_it_is_told(open_agent, tmp_path):
    agent = open_agent(command(), turn_timeout=0.5)
    with pytest.raises(AgentProgramError, match=r"did not end its turn in 0\.5 s"):
        agent.run("hang")
    agent.close()

    assert (tmp_path / "cancelled").exists()


def test_at_the_end_of_the_time_it_is_told_and_then_ended_with_its_children(open_agent, tmp_path):
    with TaskContext(deadline=60.0).active() as context:
        polite, stubborn = open_agent(command()), open_agent(command())
        polite.run("think")
        stubborn.run("think")
        for agent, act in ((polite, "hang"), (stubborn, "stay")):
            context.deadline = context.elapsed + 1.0
            with pytest.raises(Exception, match="exceeded"):
                agent.run(act)
    wait_until((tmp_path / "pids").exists)
    pids = [int(each) for each in (tmp_path / "pids").read_text().split()]
    assert all(map(is_running, pids))

    context.end()

    assert (tmp_path / "cancelled").exists()
    assert not any(map(is_running, pids))
    with pytest.raises(AgentError, match="over"):
        polite.run("think")


def test_the_end_of_a_session_in_a_shared_program_leaves_the_others(open_agent):
    program = AcpProgram(command())
    first, second = open_agent(program), open_agent(program)
    first.run("told_first"), second.run("told_first")
    first.close()

    assert second.run("think") == "It weighs 1 kg"
    program.close()


@pytest.mark.parametrize(
    ("program", "error", "words"),
    [
        (["no-such-program-anywhere"], ConfigurationError, "cannot be started"),
        ([str(PROGRAM.parent)], ConfigurationError, "cannot be started"),
        (["cat"], AgentProgramError, "refused to start"),
        (["true"], AgentProgramError, "exit code 0"),
        (command("newer"), AgentProgramError, "speaks version 7 of ACP"),
        (command("locked"), ConfigurationError, "log in"),
        ("python 'agent.py", ConfigurationError, "cannot be read"),
        ("", ConfigurationError, "no command is named"),
    ],
)
def test_a_program_that_cannot_be_talked_to_says_so(open_agent, program, error, words):
    with pytest.raises(error, match=words):
        open_agent(program).run("think")


def test_a_program_that_never_answers_is_given_up(open_agent, monkeypatch):
    monkeypatch.setattr("maseval.interface.agents.acp.START_SECONDS", 1.0)
    with pytest.raises(AgentProgramError, match="did not start within 1 s"):
        open_agent(command("mute")).run("think")


def test_a_tool_that_breaks_is_not_the_agents_failure(open_agent, shared):
    def weigh(item: str) -> str:
        raise EnvironmentError("the scales are broken")

    with pytest.raises(EnvironmentError, match="scales"):
        open_agent(shared, tools=[weigh]).run("think")


def test_nothing_is_left_when_this_process_is_killed(tmp_path):
    code = (
        "import sys; from maseval.interface.agents import ACPAgentAdapter as A\n"
        f"A({command()!r}, env={{'AGENT_FOLDER': {str(tmp_path)!r}}}).run('stay')"
    )
    import subprocess

    driver = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    wait_until((tmp_path / "pids").exists, 60)
    pids = [int(each) for each in (tmp_path / "pids").read_text().split()]
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()

    wait_until(lambda: not any(map(is_running, pids)))
