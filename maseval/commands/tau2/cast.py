"""The benchmark of a run: models, players and the scripted user in any combination."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any
from weakref import WeakSet

from maseval.benchmark.tau2.benchmark import DefaultAgentTau2Benchmark, Mode
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.players.players import make_agent, make_user
from maseval.benchmark.tau2.players.rehearsal import make_model
from maseval.commands.tau2.options import Model, OwnAgent, RunOptions
from maseval.commands.tau2.own_agents import AgentBrief, AgentModel, cast_of
from maseval.core.agent import AgentAdapter
from maseval.core.exceptions import HookResultError
from maseval.core.model import ModelAdapter
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.user import User
from maseval.server import ModelServer

TrialKey = tuple[str, int]
"""A task's id and the number of the trial."""


class CastBenchmark(DefaultAgentTau2Benchmark):
    """tau2 with whoever the options name on each side.

    ``worlds`` has the environment of each running simulation, which tells what it waits for.
    """

    def __init__(
        self, options: RunOptions, num_workers: int, rehearsals: ModelServer | None = None
    ) -> None:
        super().__init__(
            max_invocations=options.max_steps,
            num_workers=num_workers,
            progress_bar=False,
            seed=options.seed,
            mode=options.mode,
        )
        self.options = options
        self.rehearsals = rehearsals
        self.worlds: dict[TrialKey, Tau2Environment] = {}
        self._rehearsed: dict[TrialKey, str] = {}
        self._seen: WeakSet[AgentAdapter] = WeakSet()

    @cached_property
    def benchmark_level_config(self) -> dict[str, Any]:
        """With whose agent it is, and whether it was only rehearsed, for every report."""
        config, agent = super().benchmark_level_config, self.options.agent
        return {**config, "agent": agent.to_facts()} if isinstance(agent, OwnAgent) else config

    @property
    def agent_data(self) -> dict[str, Any]:
        """What ``run`` needs to know of the agent."""
        agent = self.options.agent
        if isinstance(agent, Model):
            return {"model_id": agent.model_id, "llm_args": dict(agent.args)}
        if isinstance(agent, OwnAgent):
            return {"agent": agent.name}
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
        self.worlds[_trial(task, seed_generator)] = environment
        return environment

    def forget(self, trial: TrialKey) -> None:
        """Keep nothing of a simulation that is over."""
        self.worlds.pop(trial, None)
        self._forget_rehearsal(trial)

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
        """The reference agent, somebody's own, or the player."""
        agent = self.options.agent
        if isinstance(agent, Model):
            return super().setup_agents(agent_data, environment, task, user, seed_generator)
        if isinstance(agent, OwnAgent):
            cast = cast_of(agent.make, self._brief(agent, environment, task, seed_generator))
            self._check_new(cast[0])
            return cast
        adapter = make_agent(
            agent,
            task,
            environment,
            seed=seed_generator.derive_seed("agents/player"),
            error_rate=self.options.error_rate,
        )
        return [adapter], {adapter.name: adapter}

    def _check_new(self, agents: Sequence[AgentAdapter]) -> None:
        """An agent with the tools and the memory of another simulation would spoil both."""
        for agent in agents:
            if agent in self._seen:
                raise HookResultError(
                    f"the agent {agent.name!r} has already been in another simulation; "
                    "make a new one whenever the function is called"
                )
            self._seen.add(agent)

    def _brief(
        self,
        agent: OwnAgent,
        environment: Tau2Environment,
        task: Task,
        seed_generator: SeedGenerator,
    ) -> AgentBrief:
        seed = seed_generator.derive_seed("agents/own")
        model = agent.client
        if agent.rehearse and self.rehearsals:
            trial = _trial(task, seed_generator)
            self._forget_rehearsal(trial)
            played = make_model(agent.rehearse, task, environment, seed=seed)
            name = self.rehearsals.add(played, f"{played.model_id}-{trial[1]}")
            self._rehearsed[trial] = name
            model = AgentModel(name, self.rehearsals.url, "no-key-needed")
        return AgentBrief(
            environment.tools,
            environment.policy,
            environment.domain,
            model,
            seed,
            agent.args,
            super().get_model_adapter,
        )

    def _forget_rehearsal(self, trial: TrialKey) -> None:
        name = self._rehearsed.pop(trial, None)
        if self.rehearsals and name:
            self.rehearsals.remove(name)


def _trial(task: Task, seed_generator: SeedGenerator) -> TrialKey:
    return str(task.id), seed_generator.gather_config().get("rep_index") or 0
