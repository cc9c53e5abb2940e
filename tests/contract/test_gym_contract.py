"""The Gymnasium environments answer as the original's do: every recorded episode is replayed."""

import json
from typing import Any

import pytest

from tests.contract.replay import assert_same, records
from tests.interface.libraries import needing

pytestmark = [pytest.mark.contract, pytest.mark.data, *needing("gymnasium")]

VERSION = "1.0.1"
DECIDING = (
    *("reward", "db_check", "env_assertions", "action_checks", "nl_assertions"),
    *("communicate_checks", "reward_basis", "reward_breakdown"),
)


class Script:
    """The recording's partner: the next entry of a list, and then a goodbye."""

    def __init__(self, entries: list[Any]) -> None:
        self.entries = entries
        self.turn = 0

    def __call__(self, messages: Any, tools: Any) -> Any:
        self.turn += 1
        return self.entries[self.turn - 1] if self.turn <= len(self.entries) else "###STOP###"


def played(episode: dict[str, Any], domain: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What our environment answers to the actions of a recording."""
    from maseval.benchmark.tau2 import gym

    partner = {"AgentGymEnv": "user", "UserGymEnv": "agent"}[episode["env"]]
    kwargs = {**episode["kwargs"], "domain": domain, partner: Script(episode["partner"])}
    env = getattr(gym, episode["env"])(**kwargs)
    observation, info = env.reset()
    tools = info.get("tools") or info["agent_tools"]
    begun = {
        "observation": observation,
        "info_keys": sorted(info),
        "tools": [tool.name for tool in tools],
    }
    steps = []
    for step in episode["steps"]:
        was_over = env.episode.is_over
        observation, reward, terminated, truncated, info = env.step(step["action"])
        found = {
            "action": step["action"],
            "observation": observation,
            "reward": reward,
            "terminated": terminated,
            "truncated": truncated,
            "info_keys": sorted(info),
        }
        if terminated and not was_over:
            simulation = json.loads(info["simulation_run"])
            verdict = json.loads(info["reward_info"])
            found |= {
                "reward_info": {key: verdict.get(key) for key in DECIDING},
                "termination_reason": simulation["termination_reason"],
                "roles": [message["role"] for message in simulation["messages"]],
                "n_messages": len(simulation["messages"]),
            }
        steps.append(found)
    return begun, steps


@pytest.mark.parametrize("recorded", [VERSION], indirect=True)
def test_every_recorded_episode_comes_out_the_same(recorded, contract_dir):
    vectors = records(contract_dir / "gym" / "episodes.jsonl.gz")
    found = []
    for number, episode in enumerate(vectors):
        begun, steps = played(episode, recorded.domain(episode["kwargs"]["domain"]))
        pairs = [(episode["reset"], begun), *zip(episode["steps"], steps, strict=True)]
        for place, (theirs, ours) in enumerate(pairs):
            if theirs != ours:
                keys = [key for key in {*theirs, *ours} if theirs.get(key) != ours.get(key)]
                shown = {key: (ours.get(key), theirs.get(key)) for key in keys}
                found.append(f"episode {number}, step {place}: {shown}")

    assert_same(found)
    assert len(vectors) >= 42


def as_json(value: Any) -> Any:
    """A value as the recording writes it."""
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    if isinstance(value, dict):
        return {key: as_json(each) for key, each in value.items()}
    return value if value is None or isinstance(value, str | int | float) else str(value)


def test_every_recorded_action_is_read_and_written_the_same(contract_dir):
    from maseval.benchmark.tau2 import gym

    vectors = json.loads((contract_dir / "gym" / "actions.json").read_text())
    found = []
    for each in vectors["parsed"]:
        try:
            message = gym.parse_action(each["action"], each["requestor"])
            ours = {"content": message["content"], "tool_calls": as_json(message["tool_calls"])}
        except ValueError as error:
            ours = {"raises": f"ValueError: {error}"}
        theirs = {key: each[key] for key in ("content", "tool_calls", "raises") if key in each}
        if ours != theirs:
            found.append(f"{each['action']!r}: {ours} != {theirs}")
    for each in vectors["formatted"]:
        if gym.format_call(each["name"], each["arguments"]) != each["text"]:
            found.append(f"{each}")

    assert_same(found)
