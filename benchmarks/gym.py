"""The Gymnasium environments: ``python -m benchmarks.gym [CHECKOUT]``.

The reference solution is played through ``step``, with a user that says one sentence. A step is
timed without the tool that it calls and without the verdict at the end; an episode is timed with
both. Memory is that of the whole process, before and after a thousand environments are opened and
reset. Times are the processor's.

``CHECKOUT`` is a folder with tau2-bench v1.0.1 whose requirements are installed here; its
environments then play the same episodes, and their user is a model server of this process.
"""

import argparse
import importlib
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.table import best, note, seconds, show
from maseval.benchmark.tau2.data_loader import DataUnavailableError, load_raw_tasks
from maseval.benchmark.tau2.gym import AgentGymEnv
from maseval.benchmark.tau2.world.world import World
from maseval.core.scripted import ScriptedModelAdapter
from maseval.server import ModelServer

VERSION = "1.0.1"
DOMAINS = ("airline", "retail", "telecom")
TASKS, OPEN = 20, 1000
EPISODES, RESET_MS, STEP_MS, OPEN_MB = 200, 0.5, 0.2, 200
MakeEnv = Callable[[str, str], Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit status is 1 if what is to be measured is not there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gym")
    parser.add_argument("checkout", nargs="?", type=Path, help="a folder with tau2-bench v1.0.1")
    checkout = parser.parse_args(arguments).checkout
    logging.disable(logging.WARNING)  # the texts are ours, if the original's are not here
    try:
        rows = [measure(domain) for domain in DOMAINS]
    except DataUnavailableError as error:
        print(f"no tau2 data: {error}")
        return 1
    columns = ("domain", "episodes/s", "reset, ms", "step, ms", "1,000 open, MB", "KB each")
    show("Gymnasium environments", columns, rows)
    return compare(checkout) if checkout else 0


def measure(domain: str) -> tuple[object, ...]:
    """Return the row of a domain, and note its figures."""
    episodes = [(task["id"], actions_of(task)) for task in _tasks(domain)]
    envs = [(ours(domain, task_id), actions) for task_id, actions in episodes]
    for env, actions in envs:
        play(env, actions)
    whole = best(lambda: [play(*each) for each in envs], clock=time.process_time)
    reset = best(lambda: [env.reset() for env, _ in envs], clock=time.process_time)
    step = min(_seconds_of_steps(envs) for _ in range(5))
    opened, before = [], _memory()
    for number in range(OPEN):
        opened.append(ours(domain, episodes[number % len(episodes)][0]))
        opened[-1].reset()
    megabytes = _memory() - before
    per_second, reset_ms = len(envs) / whole, reset / len(envs) * 1e3
    note(f"gym episodes a second, {domain}", per_second, at_least=EPISODES)
    note(f"gym reset, {domain}, ms", reset_ms, at_most=RESET_MS)
    note(f"gym step without its tool, {domain}, ms", step * 1e3, at_most=STEP_MS)
    note(f"gym, 1,000 open, {domain}, MB", megabytes, at_most=OPEN_MB)
    figures = (f"{per_second:,.0f}", f"{reset_ms:.3f}", f"{step * 1e3:.3f}", f"{megabytes:.0f}")
    return domain, *figures, f"{megabytes / OPEN * 1e3:.0f}"


def _tasks(domain: str) -> list[Any]:
    """Return tasks that need no judge."""
    every = load_raw_tasks(domain, version=VERSION)
    return [
        task
        for task in every
        if "NL_ASSERTION" not in (task["evaluation_criteria"] or {}).get("reward_basis", ())
    ][:TASKS]


def actions_of(task: Any) -> list[str]:
    """Return the reference solution as the agent plays it: its own calls, and the end."""
    actions = (task["evaluation_criteria"] or {}).get("actions") or ()
    calls = [
        json.dumps({"name": one["name"], "arguments": one["arguments"]})
        for one in actions
        if one.get("requestor", "assistant") == "assistant"
    ]
    return [*calls, "done()"]


def ours(domain: str, task_id: str) -> AgentGymEnv:
    return AgentGymEnv(domain, task_id, user=lambda messages, tools: "Please go on.")


def play(env: Any, actions: Sequence[str]) -> float:
    """Play an episode; return its reward."""
    env.reset()
    for action in actions:
        reward: float = env.step(action)[1]
    return reward


def _seconds_of_steps(envs: Sequence[tuple[Any, Sequence[str]]]) -> float:
    """Return the time of one step that is not the last, without its tool."""
    in_tools, steps, taken, respond = 0.0, 0, 0.0, World.respond

    def timed(world: World, call: Any) -> Any:
        nonlocal in_tools
        began = time.process_time()
        answer = respond(world, call)
        in_tools += time.process_time() - began
        return answer

    for env, actions in envs:
        env.reset()
        began = time.process_time()
        with patch.object(World, "respond", timed):
            for action in actions[:-1]:
                env.step(action)
        taken += time.process_time() - began
        steps += len(actions) - 1
    return (taken - in_tools) / max(steps, 1)


def _memory() -> float:
    """Return the megabytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def compare(checkout: Path) -> int:
    """Play episodes in the original's environments and in ours; the rewards must be equal."""
    sys.path[:0] = [str(checkout / "src"), str(checkout)]
    os.environ.setdefault("TAU2_DATA_DIR", str(checkout / "data"))
    try:
        theirs = importlib.import_module("tau2.gym").AgentGymEnv
    except ImportError as error:
        print(f"{checkout} cannot be imported ({error}); install what it requires")
        return 1
    rows = []
    with ModelServer() as server:
        name = server.add(ScriptedModelAdapter(lambda messages, tools: "Please go on."), "user")
        args = {"api_base": server.url, "api_key": "none"}
        for domain in DOMAINS:
            task = _tasks(domain)[0]
            actions, task_id = actions_of(task), task["id"]
            env = theirs(domain, task_id, user_llm=f"openai/{name}", user_llm_args=args)
            slow, fast = _times(env, actions), _times(ours(domain, task_id), actions)
            if slow[-1] != fast[-1]:
                raise SystemExit(f"{domain} {task_id}: rewards differ: {slow[-1]}, {fast[-1]}")
            rows.append((domain, *(f"{each * 1e3:,.2f}" for each in (*slow[:2], *fast[:2]))))
    show("Here and there", ("domain", "theirs: reset, ms", "step", "ours: reset", "step"), rows)
    return 0


def _times(env: Any, actions: Sequence[str]) -> tuple[float, float, float]:
    """Return the seconds of a reset, of a step, and the reward."""
    env.reset()
    reset = seconds(env.reset, time.process_time)
    began = time.process_time()
    rewards = [env.step(action)[1] for action in actions]
    return reset, (time.process_time() - began) / len(actions), rewards[-1]


if __name__ == "__main__":
    sys.exit(main())
