"""DefaultMACSBenchmark: the team of agents that the benchmark's files describe, ready to run."""

from collections.abc import Sequence
from typing import cast

from maseval.benchmark.macs.agent import MAX_STEPS, MACSAgent
from maseval.benchmark.macs.benchmark import MACSBenchmark
from maseval.benchmark.macs.data.forms import AgentConfig, AgentSpec
from maseval.benchmark.macs.data_loader import load_agent_config
from maseval.benchmark.macs.environment import MACSEnvironment
from maseval.core.agent import AgentAdapter
from maseval.core.exceptions import ConfigurationError
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.tracing import JsonObject
from maseval.core.user import User


class DefaultMACSBenchmark(MACSBenchmark):
    """MACS with the team of the original's files, every agent played by one model.

    ``agent_data`` needs ``model_id`` and may have ``max_steps`` and what ``load_agent_config``
    returns; without that, the team of the task's domain is loaded. Conversations are recorded in
    the original's form.
    """

    def setup_agents(
        self,
        agent_data: JsonObject,
        environment: MACSEnvironment,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]:
        """The primary agent is invoked; it calls the others."""
        config = _config(agent_data, task)
        environment.log.human_id = config.get("human_id") or "User"
        specs = team_of(config)
        team = {
            spec["agent_id"]: self._agent(spec, agent_data, environment, seed_generator)
            for spec in specs
        }
        for spec in specs:
            for other in spec.get("reachable_agents") or ():
                if other["agent_id"] in team:
                    colleague = team[other["agent_id"]]
                    team[spec["agent_id"]].add_colleague(colleague, other.get("scenario") or "")
        return [team[config["primary_agent_id"]]], dict[str, AgentAdapter](team)

    def _agent(
        self,
        spec: AgentSpec,
        agent_data: JsonObject,
        environment: MACSEnvironment,
        seed_generator: SeedGenerator,
    ) -> MACSAgent:
        model_id, agent_id = agent_data.get("model_id"), spec["agent_id"]
        if not model_id:
            raise ConfigurationError('no agent model is named: pass agent_data={"model_id": ...}')
        model = self.get_model_adapter(
            str(model_id),
            register_name=f"agent_{agent_id}",
            seed=seed_generator.derive_seed(f"agents/{agent_id}"),
        )
        tools = environment.get_tools_for_agent(spec)
        names = {
            key: f"{environment.group_of(tool, spec)}::{tool.name}" for key, tool in tools.items()
        }
        max_steps = agent_data.get("max_steps", MAX_STEPS)
        return MACSAgent(spec, model, environment.log, tools, names, max_steps=max_steps)


def team_of(config: AgentConfig) -> list[AgentSpec]:
    """The primary agent and all that can be reached from it, each once."""
    specs = {spec["agent_id"]: spec for spec in config.get("agents", [])}
    primary = config.get("primary_agent_id", "")
    if primary not in specs:
        raise ConfigurationError(
            f"primary_agent_id is {primary!r}, which is none of the agents: {', '.join(specs)}"
        )
    found = {primary: specs[primary]}
    ahead = [primary]
    while ahead:
        for other in specs[ahead.pop(0)].get("reachable_agents") or ():
            agent_id = other["agent_id"]
            if agent_id in specs and agent_id not in found:
                found[agent_id] = specs[agent_id]
                ahead.append(agent_id)
    return list(found.values())


def _config(agent_data: JsonObject, task: Task) -> AgentConfig:
    """The team of the agent data, or else of the task's domain."""
    config = cast(AgentConfig, agent_data)
    if not agent_data.get("agents"):
        domain = task.metadata.get("domain")
        if not domain:
            raise ConfigurationError(
                f"task {task.id!r} names no domain; pass agent_data={{**load_agent_config(domain), "
                '"model_id": ...}'
            )
        config = load_agent_config(str(domain))
    named, primary = task.environment_data.get("primary_agent_id"), config.get("primary_agent_id")
    if named not in (None, primary):
        raise ConfigurationError(
            f"in task {task.id!r}, {named!r} talks to the user, but {primary!r} does in the agent "
            "data; give the team of the task's own domain"
        )
    return config
