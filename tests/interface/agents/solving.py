"""tau2 tasks for the agent of any framework: its model, over HTTP, knows what to do.

So a reward of 1.0 says that every call, every result and every text went through the framework and
the adapter unharmed.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from maseval import AgentAdapter, Report, ScriptedModelAdapter, Task
from maseval.benchmark.tau2 import Tau2Benchmark, Tau2Environment, load_tasks
from maseval.benchmark.tau2.players.rehearsal import make_model
from maseval.benchmark.tau2.players.scripted import make_user
from maseval.core.engine.participants import Agents
from maseval.core.seeding import SeedGenerator
from maseval.core.tracing import JsonObject
from maseval.core.user import User
from maseval.server import ModelServer

MakeAgent = Callable[[Tau2Environment, str, str], AgentAdapter]
"""Makes an agent, given the environment, the base URL of its model and the model's name."""


@dataclass
class Solved:
    """What came of it."""

    reports: list[Report] = field(default_factory=list)
    models: dict[str, ScriptedModelAdapter] = field(default_factory=dict)
    agents: list[AgentAdapter] = field(default_factory=list)
    environments: list[Tau2Environment] = field(default_factory=list)

    @property
    def rewards(self) -> list[float]:
        failed = [report["error"] for report in self.reports if not report["eval"]]
        assert not failed, failed
        return [report["eval"][0]["reward"] for report in self.reports]

    def last_request(self, number: int = 0) -> list[dict]:
        """The messages that a model was sent last."""
        return list(self.models.values())[number].requests[-1]["messages"]


class Rehearsed(Tau2Benchmark):
    def __init__(self, make: MakeAgent, server: ModelServer, player: str, **options: int) -> None:
        super().__init__(progress_bar=False, seed=7, **options)
        self.make, self.server, self.player = make, server, player
        self.solved = Solved()
        self.numbers = itertools.count()

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
        name = f"{self.player}-{next(self.numbers)}"
        model = make_model(self.player, task, environment, model_id=name)
        self.solved.models[self.server.add(model)] = model
        agent = self.make(environment, self.server.url, name)
        self.solved.agents.append(agent)
        self.solved.environments.append(environment)
        return [agent], {agent.name: agent}


def tasks_of(domain: str, ids: Sequence[str]) -> list[Task]:
    found = {str(task.id): task for task in load_tasks(domain)}
    return [found[name] for name in ids]


def solve(
    make: MakeAgent,
    domain: str = "retail",
    ids: Sequence[str] = ("0",),
    *,
    player: str = "gold",
    **options: int,
) -> Solved:
    """Run the tasks with agents made by ``make``; ``options`` are the benchmark's."""
    with ModelServer() as server:
        benchmark = Rehearsed(make, server, player, **options)
        benchmark.solved.reports = benchmark.run(tasks_of(domain, ids), agent_data={})
    return benchmark.solved
