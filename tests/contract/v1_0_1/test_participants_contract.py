"""Prompts, messages and user tools of v1.0.1 against what the original was recorded to do."""

import hashlib
from typing import Any

import pytest

from maseval.benchmark.tau2 import DefaultAgentTau2Benchmark, configure_model_ids, load_tasks
from maseval.benchmark.tau2.conversation.messages import (
    has_text,
    is_tool_call,
    is_user_stop,
    message_text_of_1_0_1,
)
from maseval.benchmark.tau2.conversation.orchestrator import follows_protocol, is_empty
from maseval.benchmark.tau2.conversation.prompts import scenario_text, user_prompt
from maseval.benchmark.tau2.data_loader import load_guidelines, load_raw_task
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.user import Tau2User
from maseval.benchmark.tau2.versions import V1_0_1
from maseval.core.scripted import ScriptedModelAdapter
from tests.contract.replay import records

pytestmark = [pytest.mark.contract, pytest.mark.data]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture(scope="module")
def user_sim(vectors) -> dict[str, Any]:
    return records(vectors / "user_sim.json")[0]


def calls(count: int | None) -> list[dict[str, Any]] | None:
    call = {"id": "1", "name": "f", "arguments": {}, "requestor": "user"}
    return None if count is None else [call] * count


def test_what_ends_a_conversation(user_sim):
    assert user_sim["is_stop"]
    for case in user_sim["is_stop"]:
        message = {
            "role": "user",
            "content": case["content"],
            "tool_calls": calls(case["tool_calls"]),
        }
        assert is_user_stop(message) == case["is_stop"], case


def test_messages_are_printed_as_recorded(user_sim):
    assert user_sim["message_str"]
    for case in user_sim["message_str"]:
        assert message_text_of_1_0_1(case["message"]) == case["str"]


def test_empty_messages_are_refused_in_the_recorded_words(user_sim):
    assert user_sim["validate"]
    for case in user_sim["validate"]:
        assert has_text(case) == case["has_text_content"]
        assert is_tool_call(case) == case["is_tool_call"]
        assert is_empty(case) == (case["exception"] is not None)
        if case["exception"]:
            text = V1_0_1.rules.loop.describe_empty(case)
            assert f"ValueError: {text}" == case["exception"]


def test_which_messages_follow_the_communication_protocol(user_sim):
    assert user_sim["protocol_messages"]
    for case in user_sim["protocol_messages"]:
        message = {
            "role": "assistant",
            "content": case["content"],
            "tool_calls": calls(case["tool_calls"]),
        }
        assert follows_protocol(message, solo=case["solo"]) == case["valid"], case


def prompt_of(task: dict[str, Any], with_tools: bool) -> str:
    scenario = scenario_text(**{"persona": None, **task["user_scenario"]})
    return user_prompt(load_guidelines(with_tools, version="1.0.1"), scenario)


def test_user_prompts_have_the_recorded_hashes_whatever_the_persona(user_sim, domain_called):
    assert user_sim["user_prompt"]
    for case in user_sim["user_prompt"]:
        domain = domain_called(case["domain"])
        # The original asks whether there is a list of tools, though it may be an empty one.
        prompt = prompt_of(load_raw_task(domain, case["task_id"]), case["tools"] is not None)
        assert sha256(prompt) == case["system_prompt_sha256"], case


def test_a_task_may_name_the_users_tools(user_sim, data):
    task = load_tasks("telecom", limit=1, version="1.0.1")[0]
    environment = Tau2Environment(task.environment_data)
    assert user_sim["task_user_tools_filter"]
    for case in user_sim["task_user_tools_filter"]:
        tools = environment.create_user_tools(case["user_tools"])
        assert (list(tools) or None) == case["tools"]
        shown = environment.user_definitions(tools)
        names = [each["function"]["name"] for each in shown] if shown else None
        assert names == case["tools"]


def test_the_user_does_not_hear_a_blank_message(user_sim):
    turns = [turn for turn in user_sim["llm_turns"] if turn["who"] == "user"]
    replies = [turn["reply"] for turn in turns]
    model = ScriptedModelAdapter([scripted(reply) for reply in replies])
    user = Tau2User(model, "scenario", guidelines="guidelines", skips_blank_messages=True)
    user.begin([])
    for turn in turns:
        user.reply([turn["incoming"]])
        sent = model.requests[-1]["messages"][1:]
        assert [plain(message) for message in sent] == [plain(each) for each in turn["sent"]]


def scripted(reply: dict[str, Any]) -> Any:
    if not reply.get("tool_calls"):
        return reply["content"]
    return {
        "content": reply["content"],
        "tool_calls": [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": "{}"},
            }
            for call in reply["tool_calls"]
        ],
    }


def plain(chat: dict[str, Any]) -> dict[str, Any]:
    """A message as sent, without what only one client library of the original wanted."""
    kept = {key: value for key, value in chat.items() if value is not None or key == "content"}
    if "tool_calls" in kept:
        kept["tool_calls"] = [
            {key: value for key, value in call.items() if key != "name"}
            for call in kept["tool_calls"]
        ]
    return kept


def test_a_run_by_the_rules_of_1_0_1_begins_with_the_greeting_and_names_its_release(data):
    asked = []

    class Run(DefaultAgentTau2Benchmark):
        def get_model_adapter(self, model_id: str, **options: Any) -> ScriptedModelAdapter:
            lines = {"agent": ["Which order?"] * 5, "user": ["Hello", "###STOP###"]}
            model = ScriptedModelAdapter(lines[model_id], model_id=model_id)
            asked.append(model)
            return model

    tasks = load_tasks("airline", limit=1, version="1.0.1")
    configure_model_ids(tasks, user_model_id="user")
    benchmark = Run(progress_bar=False)
    (report,) = benchmark.run(tasks, agent_data={"model_id": "agent"})

    assert report["status"] == "success"
    agent = next(model for model in asked if model.model_id == "agent")
    assert [each["role"] for each in agent.requests[0]["messages"]] == [
        "system",
        "assistant",
        "user",
    ]
    assert report["config"]["benchmark"]["tau2"]["rules"] == "tau2-bench v1.0.1"
    assert report["config"]["environment"]["version"] == "1.0.1"
