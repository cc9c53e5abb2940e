"""The Gymnasium environments beside their vectors: what they add, and what they leave behind."""

import asyncio
import gc
import json
import threading
import weakref
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from maseval import ScriptedModelAdapter
from maseval.benchmark.tau2.data_loader import load_raw_task, load_raw_tasks
from maseval.benchmark.tau2.gym import AgentGymEnv, UserGymEnv
from maseval.core.exceptions import ConfigurationError
from tests.benchmark.tau2.rooms import action, room_domain, room_task
from tests.interface.libraries import needing

pytestmark = needing("gymnasium")

TASK = "renew_own_not_husbands"


def gym() -> ModuleType:
    from maseval.benchmark.tau2 import gym  # which needs an extra

    return gym


def new_env(**given: Any) -> AgentGymEnv:
    return gym().AgentGymEnv("library", TASK, **{"user": "scripted", **given})


def gold_actions() -> list[str]:
    actions = load_raw_task("library", TASK)["evaluation_criteria"]["actions"]
    calls = ({"name": one["name"], "arguments": one["arguments"]} for one in actions)
    return [*map(json.dumps, calls), "done()"]


def play(
    env: AgentGymEnv | UserGymEnv, actions: list[str]
) -> list[tuple[str, float, bool, bool, str, str]]:
    """Return all that the environment answers, without what differs between equal episodes."""
    answers = []
    for each in actions:
        *answer, info = env.step(each)
        answers.append((*answer, info.get("reward_info"), env.episode.environment.get_db_hash()))
    return answers


def test_the_reference_solution_earns_the_reward_and_nothing_after_it():
    env = new_env()
    observation, info = env.reset()
    *before, last = play(env, gold_actions())

    assert observation.startswith("user: Hello, this is why I am calling")
    assert info["simulation_run"] == "{}" and info["task"].id == TASK
    assert info["task"].evaluation_criteria.actions[0].name == "get_member"
    assert [step[1:4] for step in before] == [(0.0, False, False)] * 3
    assert last[:4] == ("", 1.0, True, False)
    assert env.step("Hello?")[:4] == ("", 0.0, True, False)


def test_an_environment_is_made_by_its_id():
    import gymnasium

    gym().register_gym_agent()
    gym().register_gym_agent()
    env = gymnasium.make("tau-bench-v0", domain="library", task_id=TASK, user="scripted")
    user = gymnasium.make("tau-bench-user-v0", domain="library", task_id=TASK, agent="gold")
    user.reset()

    assert env.reset()[1]["tools"][-1].name == "done"
    assert user.step("Please renew my novel.")[2] is False
    assert user.step("Thank you ###STOP###")[1:3] == (1.0, True)


def test_gymnasium_finds_no_fault_that_texts_do_not_explain():
    from gymnasium.utils.env_checker import check_env

    env = new_env()

    assert "any text" in env.action_space and 5 not in env.action_space
    with pytest.raises(NotImplementedError, match="cannot be sampled"):
        env.action_space.sample()
    env.action_space.sample = lambda: "Hello"  # which it then needs no more
    check_env(env, skip_render_check=True)


@pytest.mark.parametrize("how", ["sync", "async"])
def test_vector_environments_step_several_episodes(how):
    from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

    made = [new_env, new_env]
    envs = (
        SyncVectorEnv(made)
        if how == "sync"
        else AsyncVectorEnv(made, shared_memory=False, context="spawn")
    )
    try:
        envs.reset(seed=1)
        observations, rewards, terminated, _, _ = envs.step((gold_actions()[0], "done()"))
    finally:
        envs.close()

    assert len(observations) == 2 and list(rewards) == [0.0, 0.0]
    assert list(terminated) == [False, True]


def test_what_is_called_too_early_or_wrongly_is_refused_by_name():
    env = new_env()
    with pytest.raises(RuntimeError, match=r"call reset\(\) first"):
        env.step("Hello")
    with pytest.raises(ValueError, match="has no task 'none'"):
        gym().AgentGymEnv("library", "none", user="scripted").reset()
    with pytest.raises(ConfigurationError, match="the other side is 'gold'; give scripted"):
        new_env(user="gold")
    with pytest.raises(ConfigurationError, match="'LUCK'; choose among: DB"):
        new_env(shaped_by=["LUCK"])
    env.reset()
    with pytest.raises(TypeError, match="an action is a text, not 5"):
        env.step(5)


def test_one_event_loop_drives_many_episodes_at_a_time():
    waiting, most = 0, 0

    async def user(messages, tools):
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        await asyncio.sleep(0.01)
        waiting -= 1
        return "Please renew my novel."

    async def episode():
        env = new_env(user=user)
        await env.reset_async()
        steps = [await env.step_async(action) for action in ["Hello", *gold_actions()]]
        return [step[:4] for step in steps]

    async def every():
        return await asyncio.gather(*(episode() for _ in range(200)))

    threads = threading.active_count()
    found = asyncio.run(every())
    env = new_env(user=lambda messages, tools: "Please renew my novel.")
    env.reset()

    assert most == 200 and threading.active_count() == threads
    assert found == [[env.step(action)[:4] for action in ["Hello", *gold_actions()]]] * 200


def test_a_model_that_cannot_be_awaited_answers_in_a_thread():
    async def talk():
        env = new_env(user=ScriptedModelAdapter(["Hello", "Bye ###STOP###"]))
        return await env.reset_async(), await env.step_async("Yes?")

    (first, _), (last, _, over, *_) = asyncio.run(talk())

    assert (first, last, over) == ("user: Hello", "user: Bye ###STOP###", True)


@pytest.mark.parametrize(
    "user", ["scripted", ScriptedModelAdapter(["Hello", "One", "Two", "Three", "Four"])]
)
def test_a_snapshot_continues_in_the_same_way_as_often_as_it_is_restored(user):
    env, other = new_env(user=user), new_env(user=user)
    env.reset(seed=3)
    actions = gold_actions()
    env.step("What is your card number?")
    env.step(actions[0])
    snapshot = env.snapshot()
    tail = ["And?", *actions[1:-1], "Anything else?", "done()"]

    first = play(env, tail)
    env.restore(snapshot)
    assert play(env, ["done()"])[-1][1] == 0.0  # another branch, which renews nothing
    other.restore(snapshot)
    env.restore(snapshot)

    assert play(env, tail) == play(other, tail) == first
    assert first[-1][1] == 1.0


def test_a_snapshot_belongs_to_its_task():
    env = new_env()
    env.reset()
    with pytest.raises(ConfigurationError, match="played as 'assistant'"):
        gym().UserGymEnv("library", TASK, agent="gold").restore(env.snapshot())


def test_equal_seeds_give_equal_episodes_and_reach_the_models():
    def noisy(seed):
        env = gym().UserGymEnv("library", TASK, agent="noisy")
        env.reset(seed=seed)
        return play(env, ["Hello", "Go on", "Thank you ###STOP###"])

    found = [noisy(seed) for seed in range(40)]

    assert found == [noisy(seed) for seed in range(40)]
    assert len({str(each) for each in found}) > 1


def test_a_dropped_environment_leaves_nothing_behind():
    threads = threading.enumerate()
    env = new_env()
    env.reset()
    env.step("Hello")
    world = weakref.ref(env.episode.environment)
    del env
    gc.collect()

    assert world() is None
    assert threading.enumerate() == threads


@pytest.mark.parametrize(("standard", "flags"), [(False, (True, False)), (True, (False, True))])
def test_the_limit_terminates_unless_standard_truncation_is_asked_for(standard, flags):
    env = new_env(max_steps=3, standard_truncation=standard)
    env.reset()

    assert env.step("Hello")[1:4] == (0.0, *flags)
    assert env.step("Hello?")[2:4] == flags


def test_a_shaped_reward_is_named_and_stands_beside_the_official_one():
    env = new_env(shaped_by=["DB", "ACTION", "ENV_ASSERTION"])
    env.reset()
    env.step(gold_actions()[0])
    _, reward, _, _, info = env.step("done()")

    assert info["shaped_by"] == {"DB": 0.0, "ACTION": 1 / 3, "ENV_ASSERTION": 0.5}
    assert reward == pytest.approx((1 / 3 + 0.5) / 3)
    assert info["official_reward"] == json.loads(info["reward_info"])["reward"] == 0.0


def test_a_conversation_that_nobody_ended_is_shaped_by_nothing():
    env = new_env(shaped_by=["COMMUNICATE"], max_steps=3)
    env.reset()

    assert env.step("Hello")[1] == 0.0


def test_findings_are_told_at_the_end_if_they_are_asked_for():
    env = new_env(findings=True)
    env.reset()
    assert "findings" not in env.step("Hello")[-1]
    env.step('waive_fine(member_id="M-2011", amount=1)')
    info = env.step("done()")[-1]

    assert {each["source"] for each in info["findings"]} >= {"cause"}
    assert all(each in info["findings"] for each in info["breaches"])


def test_an_episode_whose_other_side_failed_wants_to_be_reset():
    def user(messages, tools):
        if len(messages) > 2:
            raise ConnectionError("gone")
        return "Hello"

    env = new_env(user=user)
    env.reset()
    with pytest.raises(ConnectionError, match="gone"):
        env.step("Hello")
    with pytest.raises(RuntimeError, match="the other side has not answered; reset"):
        env.step("Hello")
    env.reset()

    assert env.step("done()")[2]


def judged_env(tmp_path: Path, **given: Any) -> AgentGymEnv:
    room = room_domain(tmp_path)
    wanted = {"reward_basis": ["DB", "NL_ASSERTION"], "nl_assertions": ["The agent is kind."]}
    room_task(room, action("paint", colour="red"), task_id="kind", **wanted)
    env = gym().AgentGymEnv(room, "kind", user=lambda messages, tools: "Red!", **given)
    env.reset()
    return env


def test_a_judge_is_asked_where_the_reward_depends_on_it_and_nowhere_else(tmp_path):
    reply = {"expectedOutcome": "kind", "reasoning": "Yes.", "metExpectation": True}
    judge = ScriptedModelAdapter(lambda messages, tools: json.dumps({"results": [reply]}))
    env = judged_env(tmp_path, judge=judge)
    env.step("paint(colour='red')")
    assert env.step("done()")[1] == 1.0 and len(judge.requests) == 1

    env = judged_env(tmp_path)
    assert env.step("done()")[1] == 0.0  # the wall is white, whatever a judge says
    env.reset()
    env.step("paint(colour='red')")
    with pytest.raises(ConfigurationError, match="give judge=MODEL"):
        env.step("done()")


@pytest.mark.data
@pytest.mark.usefixtures("tau2_data_of_1_0_1")
@pytest.mark.parametrize("domain", ["airline", "telecom"])
def test_a_snapshot_is_independent_in_every_world(domain: str) -> None:
    for task in load_raw_tasks(domain, version="1.0.1")[:30]:
        keys = ("name", "arguments", "requestor")
        gold = task["evaluation_criteria"]["actions"]
        actions = [json.dumps({key: one[key] for key in keys if key in one}) for one in gold]
        env = gym().AgentGymEnv(domain, task["id"], user="scripted")
        env.reset()
        half = len(actions) // 2
        play(env, actions[:half])
        snapshot, tail = env.snapshot(), [*actions[half:], "done()"]
        first = play(env, tail)
        env.restore(snapshot)
        assert play(env, tail) == first, task["id"]
