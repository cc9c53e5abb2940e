"""Prompts, messages and user tools of v1.0.1 against what the original was recorded to do."""

from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2 import DefaultAgentTau2Benchmark, configure_model_ids, load_tasks
from maseval.benchmark.tau2.agent import DefaultTau2Agent
from maseval.benchmark.tau2.conversation.orchestrator import follows_protocol, is_empty
from maseval.benchmark.tau2.data_loader import load_guidelines, load_raw_task
from maseval.benchmark.tau2.domains.releases import V1_0_1
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import (
    INITIAL_GREETING,
    assistant_message,
    has_text,
    is_tool_call,
    is_user_stop,
    message_text_of_1_0_1,
)
from maseval.benchmark.tau2.texts.loading import load_texts
from maseval.benchmark.tau2.texts.original import OriginalWording, scenario_text, user_prompt
from maseval.benchmark.tau2.user import Tau2User
from maseval.core.scripted import ScriptedModelAdapter
from tests.contract.replay import records, request_body, sha256

pytestmark = [pytest.mark.contract, pytest.mark.data]


@pytest.fixture(scope="module")
def user_sim(vectors: Path) -> dict[str, Any]:
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


@pytest.mark.parametrize("recorded", ["1.0.1"], indirect=True)
def test_user_prompts_have_the_recorded_hashes_whatever_the_persona(user_sim, recorded):
    assert user_sim["user_prompt"]
    for case in user_sim["user_prompt"]:
        domain = recorded.domain(case["domain"])
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
        raw = load_raw_task("telecom", str(task.id), version="1.0.1")
        assert sha256(prompt_of(raw, bool(tools))) == case["prompt_sha256"]


def test_a_persona_has_no_place_in_the_guidelines_so_it_has_no_effect(user_sim, data):
    assert user_sim["persona_guidelines"]["minimal"]
    for with_tools in (True, False):
        assert "<PERSONA_GUIDELINES>" not in load_guidelines(with_tools, version="1.0.1")


@pytest.fixture(scope="module")
def wording(shared_data: Path) -> OriginalWording:
    texts = load_texts("1.0.1", shared_data / "tau2-texts")
    return OriginalWording(texts, V1_0_1.rules.participants)


TWO_ANSWERS = [
    {"role": "tool", "id": "a", "content": "1", "requestor": "assistant"},
    {"role": "tool", "id": "b", "content": "2", "requestor": "assistant"},
]


def spoke(turns: list[dict[str, Any]], side: Any, model: ScriptedModelAdapter) -> None:
    for turn in turns:
        incoming = turn["incoming"]
        said = side.reply(TWO_ANSWERS if incoming == "two tool messages" else [incoming])
        assert model.requests[-1]["messages"][1:] == turn["sent"]
        for key in ("role", "content", "tool_calls"):
            assert said[key] == turn["result"][key]


def test_the_agent_is_sent_the_greeting_and_all_that_followed(user_sim, wording):
    turns = [turn for turn in user_sim["llm_turns"] if turn["who"] == "agent"]
    assert len(turns) == 3
    model = ScriptedModelAdapter([scripted(turn["reply"]) for turn in turns])
    agent = DefaultTau2Agent({}, "policy", model, wording=wording)
    agent.begin([assistant_message(INITIAL_GREETING)])
    spoke(turns, agent, model)


def test_the_user_does_not_hear_a_blank_message(user_sim, wording):
    turns = [turn for turn in user_sim["llm_turns"] if turn["who"] == "user"]
    assert len(turns) == 3
    model = ScriptedModelAdapter([scripted(turn["reply"]) for turn in turns])
    user = Tau2User(
        model, "scenario", guidelines="guidelines", skips_blank_messages=True, wording=wording
    )
    user.begin([])
    spoke(turns, user, model)


def test_requests_have_the_recorded_parameters_in_the_recorded_order(user_sim, wording):
    assert len(user_sim["generate_kwargs"]) >= 5
    for case in user_sim["generate_kwargs"]:
        params = wording.params(case["model"], case["args"])
        seed = params.pop("seed", None)  # which is the model's own here
        tools = [{"type": "function"}] * 4 if case["tools"] else None
        body = request_body(
            case["model"],
            [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}],
            params,
            tools,
            "auto" if tools else None,
            seed,
        )
        shown = {key: f"<{len(v)}>" if isinstance(v, list) else v for key, v in body.items()}
        assert list(shown.items()) == list(case["kwargs"].items())


def test_requests_with_a_message_that_says_nothing_are_refused_as_recorded(user_sim, wording):
    assert len(user_sim["generate_validation"]) >= 5
    for case in user_sim["generate_validation"]:
        messages = [{"timestamp": "<TS>", **message} for message in case["messages"]]
        if case["exception"] is None:
            assert wording.chat(messages) == case["sent"]
            continue
        with pytest.raises(AssertionError) as refused:
            wording.chat(messages)
        assert f"AssertionError: {refused.value}" == case["exception"]


def test_without_a_user_the_agent_has_the_recorded_prompt_and_tools(user_sim, wording, data):
    expected = user_sim["solo_agent"]
    task = load_tasks("telecom", limit=1, version="1.0.1")[0]
    asked = []

    class Alone(DefaultAgentTau2Benchmark):
        def get_model_adapter(self, model_id: str, **options: Any) -> ScriptedModelAdapter:
            done = {"name": "done", "arguments": {}}
            asked.append(ScriptedModelAdapter([{"tool_calls": [done]}], model_id=model_id))
            return asked[-1]

    benchmark = Alone(progress_bar=False, mode="solo", texts=wording, max_invocations=1)
    benchmark.run([task], agent_data={"model_id": "agent"})

    (request,) = asked[0].requests
    assert len(request["tools"]) == expected["num_tools"]
    assert request["tools"][-1]["function"]["name"] == expected["last_tool"]
    assert sha256(request["messages"][0]["content"]) == expected["system_prompt_sha256"]


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
