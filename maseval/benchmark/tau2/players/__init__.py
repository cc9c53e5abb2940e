"""Scripted agents, a scripted user, and people: participants that need no model."""

from collections.abc import Sequence
from typing import Any

from maseval.benchmark.tau2.benchmark import Mode, Tau2Benchmark
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.players.scripted import DEFAULT_ERROR_RATE, make_agent, make_user
from maseval.core.agent import AgentAdapter
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.user import User

__all__ = ["PlayerTau2Benchmark"]


class PlayerTau2Benchmark(Tau2Benchmark):
    """tau2 without any model: a scripted agent on one side, a scripted user on the other.

    ``agent_data`` names the ``player`` (``gold``, ``noop`` or ``noisy``) and may have the
    ``error_rate`` of ``noisy``.
    """

    def setup_user(
        self,
        agent_data: dict[str, Any],
        environment: Tau2Environment,
        task: Task,
        seed_generator: SeedGenerator,
    ) -> User | None:
        """Return the scripted user; None in solo mode."""
        return None if self.mode is Mode.SOLO else make_user(task, environment)

    def setup_agents(
        self,
        agent_data: dict[str, Any],
        environment: Tau2Environment,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]:
        """Return the one scripted agent that ``agent_data`` names."""
        adapter = make_agent(
            agent_data.get("player", ""),
            task,
            environment,
            seed=seed_generator.derive_seed("agents/player"),
            error_rate=agent_data.get("error_rate", DEFAULT_ERROR_RATE),
        )
        return [adapter], {adapter.name: adapter}
