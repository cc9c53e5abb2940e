"""What each model would be sent first, heard from one simulation with scripted models."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from maseval.benchmark.tau2.app.running.cast import CastBenchmark
from maseval.benchmark.tau2.app.running.own_agents import FunctionAgentAdapter
from maseval.benchmark.tau2.app.running.participants import OwnAgent
from maseval.benchmark.tau2.app.running.setup import RunSetup
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.core.agent import AgentAdapter
from maseval.core.messages import text_of
from maseval.core.model import ModelAdapter
from maseval.core.scripted import ScriptedModelAdapter
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.user import User

# The agent greets, the user answers, the agent is asked.
_STEPS = 3
_WORDS = "Hello."


@dataclass(frozen=True)
class Prompt:
    """What a model is sent with every request: its system prompt and its tools."""

    system: str
    tools: Sequence[str]
    characters: int


def overheard(setup: RunSetup, task: Task) -> dict[str, Prompt]:
    """The prompts of a task by the role of the model: ``agent_model``, ``user_simulator``."""
    benchmark = _Overhearing(setup)
    benchmark.run([task], benchmark.agent_data)
    return {role: _prompt(model) for role, model in benchmark.heard.items() if model.requests}


class _Overhearing(CastBenchmark):
    """The run's benchmark, in which every model is scripted and remembers what it was asked."""

    def __init__(self, setup: RunSetup) -> None:
        brief = replace(setup.options, max_steps=_STEPS, concurrency=1)
        super().__init__(replace(setup, options=brief))
        self.heard: dict[str, ScriptedModelAdapter] = {}

    def get_model_adapter(self, model_id: str, **kwargs: Any) -> ModelAdapter:
        model = ScriptedModelAdapter(lambda messages, tools: _WORDS, model_id=model_id)
        self.heard[kwargs["register_name"]] = model
        return model

    def setup_agents(
        self,
        agent_data: dict[str, Any],
        environment: Tau2Environment,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]:
        if not isinstance(self.setup.agent, OwnAgent):
            return super().setup_agents(agent_data, environment, task, user, seed_generator)
        # The code of an own agent may do anything; its prompts are its own.
        stand_in = FunctionAgentAdapter(lambda query: _WORDS, "own")
        return [stand_in], {stand_in.name: stand_in}


def _prompt(model: ScriptedModelAdapter) -> Prompt:
    request = model.requests[0]
    spoken = (text_of(each) for each in request["messages"] if each["role"] == "system")
    system, tools = "\n".join(spoken), list(request["tools"] or ())
    names = [str(tool["function"]["name"]) for tool in tools]
    return Prompt(system, names, len(system) + (len(json.dumps(tools)) if tools else 0))
