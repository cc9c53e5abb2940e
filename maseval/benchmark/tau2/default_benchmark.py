"""DefaultAgentTau2Benchmark: tau2 with the reference agent, in every mode the original has.

After tau2-bench v0.2.0, src/tau2/agent/llm_agent.py (MIT, Sierra Research).
"""

from collections.abc import Sequence
from typing import Any

from maseval.benchmark.tau2.agent import DONE, DefaultTau2Agent, DefaultTau2AgentAdapter, SoloAgent
from maseval.benchmark.tau2.benchmark import Mode, Tau2Benchmark, llm_args_for, model_id_of
from maseval.benchmark.tau2.conversation.prompts import agent_prompt, resolution_steps, template
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.core.agent import AgentAdapter
from maseval.core.exceptions import ConfigurationError
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.user import User


class DefaultAgentTau2Benchmark(Tau2Benchmark):
    """tau2 with the reference agent, ready to run.

    ``agent_data`` needs ``model_id`` and may have ``llm_args``, ``max_tool_calls`` and
    ``verbose``. With ``mode="oracle-plan"`` the agent is shown the reference solution.
    """

    def setup_agents(
        self,
        agent_data: dict[str, Any],
        environment: Tau2Environment,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]:
        """One reference agent, named ``default_agent``."""
        model_id = model_id_of(agent_data, "agent", 'agent_data={"model_id": ...}')
        model = self.get_model_adapter(
            model_id,
            register_name="agent_model",
            seed=seed_generator.derive_seed("agents/default_agent"),
        )
        definitions = list(environment.toolkit.definitions())
        agent_class = DefaultTau2Agent
        if self.mode is Mode.SOLO:
            agent_class = SoloAgent
            if environment.user_toolkit:
                definitions += environment.user_toolkit.definitions()
            definitions.append(DONE)
        agent = agent_class(
            environment.tools,
            environment.policy,
            model,
            llm_args=llm_args_for(model_id, agent_data, environment),
            max_tool_calls=agent_data.get("max_tool_calls"),
            verbose=agent_data.get("verbose", 0),
            tool_definitions=definitions,
            system_prompt=self._system_prompt(environment, task),
        )
        adapter = DefaultTau2AgentAdapter(agent)
        return [adapter], {adapter.name: adapter}

    def _system_prompt(self, environment: Tau2Environment, task: Task) -> str:
        match self.mode:
            case Mode.SOLO:
                ticket = task.metadata.get("ticket")
                if not ticket:
                    raise ConfigurationError(
                        f"task {task.id!r} has no ticket, so it cannot be run in solo mode; "
                        "telecom's tasks have one"
                    )
                instruction = template("solo_instruction")
                return agent_prompt(environment.policy, instruction=instruction, ticket=ticket)
            case Mode.ORACLE_PLAN:
                steps = resolution_steps(task.evaluation_data.get("actions") or ())
                instruction = template("oracle_instruction")
                return agent_prompt(
                    environment.policy, instruction=instruction, resolution_steps=steps
                )
            case _:
                return agent_prompt(environment.policy)
