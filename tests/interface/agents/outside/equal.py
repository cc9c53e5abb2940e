"""The same decisions in this process and in another program must make the same simulations."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2 import Tau2Benchmark, load_tasks
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.players.scripted import make_agent, make_user
from maseval.core.engine.participants import Agents
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.tracing import JsonObject
from maseval.core.user import User

IN_FLIGHT = 50


class Played(Tau2Benchmark):
    """Simulations by an agent that ``make`` makes for a key, which says which task it is."""

    def __init__(self, make: Callable[..., Any]) -> None:
        super().__init__(progress_bar=False, seed=7, num_workers=IN_FLIGHT)
        self.make, self.worlds = make, {}

    def setup_user(
        self,
        agent_data: dict[str, object],
        environment: Tau2Environment,
        task: Task,
        seed_generator: SeedGenerator,
    ) -> User | None:
        return make_user(task, environment)

    def setup_agents(
        self,
        agent_data: JsonObject,
        environment: Any,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> Agents:
        key = f"{environment.domain}/{task.id}"
        self.worlds[key] = environment
        agent = self.make(task, environment, key)
        return [agent], {agent.name: agent}

    def outcomes(self, tasks: Any) -> Any:
        """Return by key all that was said and done, the verdict and the state at the end."""
        reports = self.run(tasks)
        failed = [(each["task_id"], each["error"]) for each in reports if each["error"]]
        assert not failed, failed[:3]
        domain = tasks[0].environment_data["domain"]
        found = {}
        for report in reports:
            key = f"{domain}/{report['task_id']}"
            world = self.worlds[key]
            found[key] = {
                "said": [
                    (
                        each["role"],
                        each["content"],
                        [(call["name"], call["arguments"]) for call in each["tool_calls"] or ()]
                        if each["role"] != "tool"
                        else each["requestor"],
                    )
                    for each in world.trajectory.messages
                ],
                "verdict": report["eval"],
                "state": (world.get_db_hash(), world.get_user_db_hash()),
            }
        return found


def scripts_of(outcomes: Any) -> Any:
    """Return by key the agent's turns: its calls, each with its arguments, and then its words."""
    scripts = {}
    for key, outcome in outcomes.items():
        turns, calls, mine = [], [], None
        for role, text, made in outcome["said"][1:]:  # the greeting is nobody's decision
            mine = role if role in ("user", "assistant") else mine
            if role == "assistant":
                calls += made
                if text:
                    turns.append([*calls, text])
                    calls = []
        scripts[key] = turns
    return scripts


def compare(
    domain: str, player: str, folder: Path, make: Callable[..., Any], limit: int | None = None
) -> int:
    """Play all tasks of a domain twice; ``make(key, environment)`` makes the agent outside."""
    tasks = list(load_tasks(domain, split="base", limit=limit))

    def inside(task, environment, key):
        return make_agent(player, task, environment, seed=len(key))

    expected = Played(inside).outcomes(tasks)
    (folder / "scripts.json").write_text(json.dumps(scripts_of(expected)))
    found = Played(lambda task, environment, key: make(key, environment)).outcomes(tasks)
    assert found.keys() == expected.keys()
    different = [key for key in found if found[key] != expected[key]]
    assert different == [], (found[different[0]], expected[different[0]])
    return len(found)
