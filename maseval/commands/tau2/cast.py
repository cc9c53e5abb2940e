"""The benchmark of a run: models, players and the scripted user in any combination."""

from collections.abc import Sequence
from typing import Any

from maseval.benchmark.tau2.benchmark import DefaultAgentTau2Benchmark, Mode
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.players import make_agent, make_user
from maseval.commands.tau2.options import Model, RunOptions
from maseval.core.agent import AgentAdapter
from maseval.core.model import ModelAdapter
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.user import User

TrialKey = tuple[str, int]
"""A task's id and the number of the trial."""


class CastBenchmark(DefaultAgentTau2Benchmark):
    """tau2 with whoever the options name on each side.

    ``worlds`` has the environment of each running simulation, which tells what it waits for.
    """

    def __init__(self, options: RunOptions, num_workers: int) -> None:
        super().__init__(
            max_invocations=options.max_steps,
            num_workers=num_workers,
            progress_bar=False,
            seed=options.seed,
            mode=options.mode,
        )
        self.options = options
        self.worlds: dict[TrialKey, Tau2Environment] = {}

    @property
    def agent_data(self) -> dict[str, Any]:
        """What ``run`` needs to know of the agent."""
        agent = self.options.agent
        if isinstance(agent, Model):
            return {"model_id": agent.model_id, "llm_args": dict(agent.args)}
        return {"player": agent, "error_rate": self.options.error_rate}

    def get_model_adapter(self, model_id: str, **kwargs: Any) -> ModelAdapter:
        """A model with the connection that was given for its role."""
        model = self.options.models.get(kwargs.get("register_name", ""))
        return super().get_model_adapter(model_id, **(model.options if model else {}), **kwargs)

    def setup_environment(
        self, agent_data: dict[str, Any], task: Task, seed_generator: SeedGenerator
    ) -> Tau2Environment:
        """The task's world, which is remembered while the simulation runs."""
        environment = super().setup_environment(agent_data, task, seed_generator)
        trial = seed_generator.gather_config().get("rep_index")
        self.worlds[str(task.id), trial or 0] = environment
        return environment

    def setup_user(
        self,
        agent_data: dict[str, Any],
        environment: Tau2Environment,
        task: Task,
        seed_generator: SeedGenerator,
    ) -> User | None:
        """The model or the script that plays the customer; in solo mode nobody."""
        if self.options.user == "scripted" and self.mode is not Mode.SOLO:
            return make_user(task, environment)
        return super().setup_user(agent_data, environment, task, seed_generator)

    def setup_agents(
        self,
        agent_data: dict[str, Any],
        environment: Tau2Environment,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]:
        """The reference agent, or the player."""
        if isinstance(self.options.agent, Model):
            return super().setup_agents(agent_data, environment, task, user, seed_generator)
        adapter = make_agent(
            self.options.agent,
            task,
            environment,
            seed=seed_generator.derive_seed("agents/player"),
            error_rate=self.options.error_rate,
        )
        return [adapter], {adapter.name: adapter}
