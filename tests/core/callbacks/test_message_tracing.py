import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.core.agent import AgentAdapter
from maseval.core.callbacks import MessageTracingAgentCallback, MessageTracingCallback
from maseval.core.messages import MessageHistory, tool_call
from tests.runs.worlds import AWKWARD_IDS


class Parrot(AgentAdapter):
    """Answers with what it was asked, after looking it up with a tool."""

    def _run_agent(self, query: str) -> Any:
        self.messages = MessageHistory()
        self.messages.add_message("user", query)
        self.messages.add_tool_call([tool_call("echo", {"text": query})])
        self.messages.add_tool_response("call_echo", query, name="echo")
        self.messages.add_message("assistant", query, metadata={"mood": "fine"})
        return query


def parrot(name: str, *callbacks: MessageTracingAgentCallback) -> Parrot:
    return Parrot(object(), name, callbacks=callbacks)


@pytest.fixture
def spoken(rehearsal: Callable[..., Any]) -> Callable[..., Any]:
    def build(task_id, **parts):
        traces = {
            "agents": {
                "planner": {"messages": [{"role": "assistant", "content": "ok"}]},
                "broken": {"error": "Failed to gather traces: x", "error_type": "ValueError"},
            },
            "user": {"messages": [{"role": "user", "content": "hello"}]},
            "environment": {"simulation": {"messages": [{"role": "user", "content": "all"}]}},
        }
        return rehearsal(task_id).report(task_id, **{"traces": traces, **parts})

    return build


def test_the_messages_of_a_repetition_become_one_file(tmp_path, spoken):
    tracing = MessageTracingCallback(output_dir=tmp_path / "logs")
    assert not (tmp_path / "logs").exists()

    tracing.on_task_repeat_end(None, spoken("airline 1", repeat_idx=2))

    [path] = (tmp_path / "logs").iterdir()
    assert path.name.startswith("airline-1-r2-")
    assert json.loads(path.read_text()) == {
        "task_id": "airline 1",
        "repeat_idx": 2,
        "run_id": "run-1",
        "started_at": "2025-01-01T00:00:00",
        "status": "success",
        "agents": {"planner": [{"role": "assistant", "content": "ok"}]},
        "user": [{"role": "user", "content": "hello"}],
        "conversation": [{"role": "user", "content": "all"}],
    }


@pytest.mark.parametrize("traces", [{}, {"agents": {}, "user": None}, {"error": "none"}])
def test_a_repetition_that_said_nothing_has_a_file_too(tmp_path, spoken, traces):
    MessageTracingCallback(tmp_path).on_task_repeat_end(None, spoken("t", traces=traces))

    [path] = tmp_path.iterdir()
    said = json.loads(path.read_text())
    assert (said["agents"], said["user"]) == ({}, [])


def test_no_task_id_leaves_the_folder_or_meets_another(tmp_path, spoken):
    ids = [*AWKWARD_IDS, "", "a" * 5000, "a" * 5001, "Task", "task", "東京", "\ud800", "nul\0byte"]
    folder = tmp_path / "inside"
    tracing = MessageTracingCallback(folder)

    for task_id in ids:
        tracing.on_task_repeat_end(None, spoken(task_id))

    assert list(tmp_path.iterdir()) == [folder]
    assert len({path.name.lower() for path in folder.iterdir()}) == len(ids)
    found = {json.loads(path.read_text())["task_id"] for path in folder.iterdir()}
    assert found == set(ids)


@given(st.text())
def test_every_task_id_makes_a_plain_short_file_name(task_id):
    report = {"task_id": task_id, "repeat_idx": 0, "run_id": "r"}
    path = MessageTracingCallback("folder").path_of(report)

    assert path.parent.name == "folder"
    assert path.name[0].isalnum() or path.name[0] == "_"
    assert path.name.isascii() and len(path.name) < 100
    assert set('/\\:*?"<>|\0').isdisjoint(path.name)


def test_a_second_run_does_not_replace_the_files_of_the_first(tmp_path, spoken):
    tracing = MessageTracingCallback(tmp_path)

    for run_id in ("one", "two", "two"):
        tracing.on_task_repeat_end(None, spoken("t", run_id=run_id))

    runs = sorted(json.loads(path.read_text())["run_id"] for path in tmp_path.iterdir())
    assert runs == ["one", "two"]


def test_an_agents_conversation_is_kept_with_its_metadata():
    tracing = MessageTracingAgentCallback()
    agent = parrot("polly", tracing)

    agent.run("hello")

    [talk] = tracing.get_all_conversations()
    assert talk["agent_name"] == "polly"
    assert talk["agent_type"] == "object"
    assert talk["query"] == "hello"
    assert talk["message_count"] == 4 == len(talk["messages"])
    assert talk["metadata"] == {
        "timestamp": agent.messages[-1]["timestamp"],
        "has_tool_calls": True,
        "roles": ["user", "assistant", "tool"],
    }


def test_a_conversation_that_no_user_began_has_no_query():
    tracing = MessageTracingAgentCallback()
    agent = parrot("polly")
    tracing.on_run_end(agent, None)
    agent.messages = MessageHistory([{"role": "system", "content": "be kind"}])
    tracing.on_run_end(agent, None)

    assert [talk["query"] for talk in tracing.get_all_conversations()] == [None, None]
    assert tracing.get_all_conversations()[0]["metadata"]["timestamp"] is None


def test_one_instance_serves_many_threads():
    tracing = MessageTracingAgentCallback()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: parrot(f"a{n % 4}", tracing).run(str(n)), range(400)))

    queries = sorted(int(talk["query"]) for talk in tracing.get_all_conversations())
    assert queries == list(range(400))
    assert tracing.get_statistics()["agent_statistics"]["a0"]["conversations"] == 100
