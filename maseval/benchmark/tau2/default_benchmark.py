"""DefaultAgentTau2Benchmark: tau2 with the reference agent, in every mode the original has.

After tau2-bench v0.2.0, src/tau2/agent/llm_agent.py (MIT, Sierra Research).
"""

from collections.abc import Sequence
from typing import Any

from maseval.benchmark.tau2.agent import DONE, DefaultTau2Agent, DefaultTau2AgentAdapter, SoloAgent
from maseval.benchmark.tau2.benchmark import Mode, Tau2Benchmark, model_id_of
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.overrides import overrides
from maseval.benchmark.tau2.texts.original import SOLO
from maseval.core.agent import AgentAdapter
from maseval.core.engine.participants import hook
from maseval.core.exceptions import ConfigurationError
from maseval.core.reasoning import ReasoningPolicy
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.user import User


class DefaultAgentTau2Benchmark(Tau2Benchmark):
    """tau2 with the reference agent, ready to run.

    ``agent_data`` needs ``model_id`` and may have ``llm_args``, ``max_tool_calls``, ``verbose`` and
    ``reasoning_policy``, which of its thoughts the model is sent again. With
    ``mode="oracle-plan"`` the agent is shown the reference solution.
    """

    @hook
    def setup_agents(
        self,
        agent_data: dict[str, Any],
        environment: Tau2Environment,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]:
        """Return one reference agent, named ``default_agent``."""
        model_id = model_id_of(agent_data, "agent", 'agent_data={"model_id": ...}')
        # An override that does not count must not go unnoticed.
        for name in ("get_tools", "get_tool"):
            if overrides(type(environment), name):
                raise ConfigurationError(
                    f"{type(environment).__name__} overrides {name}, which the reference agent "
                    "does not call; override create_tools instead"
                )
        wording = self.wording(environment.release)
        model = self._model("agent", model_id, environment, seed_generator)
        if agent_data.get("reasoning_policy") is not None:
            model.reasoning_policy = ReasoningPolicy.of(agent_data["reasoning_policy"])
        agent_class = SoloAgent if self.mode is Mode.SOLO else DefaultTau2Agent
        agent = agent_class(
            environment.tools,
            environment.policy,
            model,
            llm_args=wording.params(model_id, agent_data.get("llm_args")),
            max_tool_calls=agent_data.get("max_tool_calls"),
            verbose=agent_data.get("verbose", 0),
            tool_definitions=self._tool_definitions(environment),
            system_prompt=self._system_prompt(environment, task),
            wording=wording,
        )
        adapter = DefaultTau2AgentAdapter(agent)
        return [adapter], {adapter.name: adapter}

    def _tool_definitions(self, environment: Tau2Environment) -> list[dict[str, Any]]:
        tools = self.wording(environment.release).tools
        domain = environment.world.domain.folder_name
        definitions = tools(environment.toolkit.definitions(), domain)
        if self.mode is not Mode.SOLO:
            return environment.offered_definitions(definitions)
        # Alone, the agent does on the customer's side what the customer would do.
        if environment.user_toolkit:
            definitions += tools(environment.user_toolkit.definitions(), domain, "user")
        return environment.offered_definitions(definitions) + tools([DONE], SOLO)

    def _system_prompt(self, environment: Tau2Environment, task: Task) -> str:
        wording = self.wording(environment.release)
        match self.mode:
            case Mode.SOLO:
                ticket = task.metadata.get("ticket")
                if not ticket:
                    raise ConfigurationError(
                        f"task {task.id!r} has no ticket, so it cannot be run in solo mode; "
                        "telecom's tasks have one"
                    )
                return wording.solo_prompt(environment.policy, ticket)
            case Mode.ORACLE_PLAN:
                actions = task.evaluation_data.get("actions") or ()
                return wording.oracle_prompt(environment.policy, actions)
            case _:
                return wording.agent_prompt(environment.policy)
