"""Simulated tools: what they take, what their model is asked, and which agent has which."""

import json
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.macs import VALID_DOMAINS, load_agent_config, load_tasks
from maseval.benchmark.macs.environment import MACSEnvironment, MACSGenericTool
from maseval.core import exceptions, simulator
from maseval.core.scripted import ScriptedModelAdapter
from tests.contract.macs.vectors import canonical, cases_in
from tests.contract.replay import sha256

pytestmark = [pytest.mark.contract, pytest.mark.data]

TEMPLATE = (
    "NAME {{name}}\nDESCRIPTION {{description}}\nINPUTS {{inputs}}\nCALL {{input_value_dict}}\n"
)
ANSWER = '{"text": "done", "details": {"k": 1}}'


def actions_of(macs_data: Path) -> dict[tuple[str, str, str], Any]:
    return {
        (domain, group["tool_name"], action["name"]): action
        for domain in VALID_DOMAINS
        for group in load_tasks(domain, macs_data)[0].environment_data["tools"]
        for action in group["actions"]
    }


def test_every_action_becomes_the_recorded_tool(macs_vectors, macs_data):
    actions = actions_of(macs_data)
    for case in cases_in(macs_vectors, "tools"):
        model = ScriptedModelAdapter([ANSWER])
        spec = actions[case["domain"], case["group"], case["action"]]
        tool = MACSGenericTool(spec, model)
        tool.simulator.template = TEMPLATE
        assert tool(**case["arguments"]) == case["result"]
        (invocation,) = tool.history.to_list()
        (request,) = model.requests
        assert {
            "required": tool.definition["function"]["parameters"].get("required", []),
            "inputs_sha256": sha256(canonical(tool.inputs)),
            "inputs_order": list(tool.inputs),
            "types": {name: each["type"] for name, each in tool.inputs.items()},
            "repr": repr(tool),
            "invocation": {key: invocation[key] for key in case["invocation"]},
        } == {
            key: case[key]
            for key in ("required", "inputs_sha256", "inputs_order", "types", "repr", "invocation")
        }, case["name"]
        asked = sha256(request["messages"][0]["content"])
        assert asked in (case["prompt_sha256"], case["prompt_plain_sha256"]), case["name"]


def scripted(outputs: list[dict[str, str] | str]) -> ScriptedModelAdapter:
    """The recorded answers, the last one again and again."""
    replies = [RuntimeError("broken") if isinstance(each, dict) else each for each in outputs]
    return ScriptedModelAdapter([*replies, *replies[-1:] * 9])


def test_every_recorded_call_has_the_recorded_outcome(macs_vectors):
    for case in cases_in(macs_vectors, "tool_calls"):
        if "init_error" in case:
            with pytest.raises(ValueError, match="items"):
                MACSGenericTool(case["spec"], scripted(["{}"]))
            continue
        model = scripted(case["model_outputs"])
        tool = MACSGenericTool(case["spec"], model)
        assert tool.inputs == case["inputs"], case["name"]
        if "error_type" in case:
            with pytest.raises(exceptions.MASEvalError) as failure:
                tool(**case["arguments"])
            assert type(failure.value).__name__ == case["error_type"], case["name"]
            for base in case["error_bases"]:
                parent = getattr(exceptions, base, None) or getattr(simulator, base)
                assert isinstance(failure.value, parent), case["name"]
        else:
            assert tool(**case["arguments"]) == case["result"], case["name"]
        done = [each for each in tool.history.to_list() if each["status"] == "success"]
        assert (len(model.requests), len(done)) == (
            case["model_calls"],
            case["invocations"],
        ), case["name"]


def test_every_agent_of_every_domain_has_the_recorded_tools(macs_vectors, macs_data):
    recorded = json.loads((macs_vectors / "environments.json").read_text())
    assert [case["domain"] for case in recorded] == list(VALID_DOMAINS)
    for case in recorded:
        task = load_tasks(case["domain"], macs_data, limit=1)[0]
        made = []
        environment = MACSEnvironment(
            task.environment_data, lambda name, made=made: made.append(name) or scripted(["{}"])
        )
        assert list(environment.tools) == case["tools"]
        assert made == [f"tool_{key}" for key in case["tools"]]
        keys = {id(tool): key for key, tool in environment.tools.items()}
        agents = load_agent_config(case["domain"], macs_data)["agents"]
        assert {
            agent["agent_id"]: {
                "groups": agent["tools"],
                "tools": {
                    name: keys[id(tool)]
                    for name, tool in environment.get_tools_for_agent(agent).items()
                },
            }
            for agent in agents
        } == case["agents"]
