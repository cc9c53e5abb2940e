"""Prompts made of the original's data have the original's hashes; conversions are the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.data_loader import load_guidelines, load_raw_task
from maseval.benchmark.tau2.formats.message import (
    has_text,
    is_tool_call,
    is_user_stop,
    messages_seen_by,
    to_chat,
)
from maseval.benchmark.tau2.texts.original import resolution_steps, scenario_text, user_prompt
from maseval.benchmark.tau2.user import flip_roles
from maseval.benchmark.tau2.world.world import to_json_str
from tests.contract.replay import assert_same, records, sha256

pytestmark = [pytest.mark.contract, pytest.mark.data]


@pytest.fixture(scope="module")
def user_sim(contract_dir: Path) -> dict[str, Any]:
    return json.loads((contract_dir / "user_sim.json").read_text())


def test_the_plans_of_the_oracle_have_the_recorded_hashes(contract_dir, tau2_data):
    vectors = [r for r in records(contract_dir / "tasks.json") if r["domain"] != "mock"]
    wrong, plans = [], 0
    for record in vectors:
        task = load_raw_task(record["domain"], record["task_id"])
        if actions := (task.get("evaluation_criteria") or {}).get("actions"):
            plans += 1
            if sha256(resolution_steps(actions)) != record["gt_resolution_steps_sha256"]:
                wrong.append(record["task_id"])
    assert_same(wrong)
    assert plans > 300


def test_user_prompts_outside_any_task(user_sim, tau2_data):
    prompt = user_sim["user_prompt"]
    without, with_tools = load_guidelines(False), load_guidelines(True)

    assert sha256(user_prompt(without, prompt["instructions"])) == prompt["sha_no_tools"]
    assert sha256(user_prompt(with_tools, prompt["instructions"])) == prompt["sha_tools"]
    assert sha256(user_prompt(without, None)) == prompt["sha_none_instructions"]


def test_scenario_texts(user_sim):
    for case in user_sim["str"]:
        assert scenario_text(**case["user_scenario"]) == case["str"]


def plain(chat: dict[str, Any]) -> dict[str, Any]:
    """A chat message without what only one client library of the original wanted."""
    kept = {key: value for key, value in chat.items() if value is not None or key == "content"}
    if "tool_calls" in kept:
        kept["tool_calls"] = [
            {key: value for key, value in call.items() if key != "name"}
            for call in kept["tool_calls"]
        ]
    return kept


def test_messages_as_sent_to_a_model(user_sim):
    for case in user_sim["to_litellm"]:
        assert to_chat(case["messages"]) == [plain(chat) for chat in case["litellm"]]


def test_roles_are_exchanged_for_the_user(user_sim):
    for case in user_sim["flip_roles"]:
        if case["exception"]:
            with pytest.raises(ValueError) as raised:
                flip_roles(case["messages"])
            start = case["exception"]["message"].split(":")[0]
            assert str(raised.value).startswith(start)
        else:
            ours = to_chat(flip_roles(case["messages"]))
            assert ours == [plain(chat) for chat in case["litellm_of_flipped"]]


def test_what_ends_a_conversation(user_sim):
    for case in user_sim["is_stop"]:
        if "is_tool_call" in case:
            message = {"role": "user", **case}
            assert is_tool_call(message) == case["is_tool_call"]
            assert has_text(message) == case["has_text_content"]
            assert is_user_stop(message) == case["user_is_stop"], case


def test_what_each_side_has_seen(user_sim):
    for case in user_sim["history_validity"]:
        for side, key in (("assistant", "agent"), ("user", "user")):
            seen = [m for m, valid in zip(case["messages"], case[key], strict=True) if valid]
            assert messages_seen_by(case["messages"], side) == seen


def test_results_that_no_model_can_read(user_sim):
    for value in (b"bytes", object()):
        with pytest.raises(ValueError, match="Unsupported type"):
            to_json_str(value)
