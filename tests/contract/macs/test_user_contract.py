"""The simulated user: its answers, its turns and what its model is asked."""

from typing import Any

import pytest

from maseval.benchmark.macs import MACSUser
from maseval.core.exceptions import MASEvalError
from maseval.core.scripted import ScriptedModelAdapter
from tests.contract.macs.vectors import cases_in
from tests.contract.replay import sha256

pytestmark = pytest.mark.contract

TEMPLATE = "SCENARIO {{scenario}}\nHISTORY {{conversation_history}}\n"


def observed(user: MACSUser, step: dict[str, Any]) -> dict[str, Any]:
    """What a step gives: the user is reset, or answers what the assistant says."""
    found = {}
    if step.get("reset"):
        user.reset()
        found["reset"] = True
    else:
        found["says"] = step["says"]
        try:
            found["answer"] = user.respond(step["says"])
        except MASEvalError as error:
            found["error_type"] = type(error).__name__
        found["reason"] = user.termination_reason.value
    return {**found, "done": user.is_done(), "turns": user._turn_count}


def test_every_recorded_conversation_goes_as_recorded(macs_vectors):
    for case in cases_in(macs_vectors, "user"):
        outputs = case["model_outputs"]
        model = ScriptedModelAdapter([*outputs, *outputs[-1:] * 9])
        user = MACSUser(
            model, case["scenario"], case["initial_query"], template=TEMPLATE, **case["settings"]
        )
        for step in case["steps"]:
            expected = {key: step[key] for key in step if not key.startswith("maseval")}
            assert observed(user, step) == expected, case["name"]
        prompts = [request["messages"][0]["content"] for request in model.requests]
        assert [sha256(prompt) for prompt in prompts] == case["prompt_sha256"], case["name"]
        assert len(prompts) == case["model_calls"]
        traces, config = user.gather_traces(), user.gather_config()
        assert {key: traces[key] for key in case["traces"]} == case["traces"], case["name"]
        assert {key: config[key] for key in case["config"]} == case["config"], case["name"]
        said = [{key: each[key] for key in ("role", "content")} for each in traces["messages"]]
        assert said == case["messages"], case["name"]
