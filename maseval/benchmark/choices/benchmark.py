"""The benchmark: a sheet with a question, somebody who chooses, and the key to it."""

from collections.abc import Sequence
from random import Random
from typing import Any

from maseval.benchmark.choices.agents import ChatChooser, ScoringChooser, letters
from maseval.core.agent import AgentAdapter
from maseval.core.benchmark import Benchmark
from maseval.core.engine.participants import Agents
from maseval.core.environment import Environment
from maseval.core.evaluator import Evaluator
from maseval.core.exceptions import ConfigurationError
from maseval.core.scorer import ModelScorer, resolve_scorer
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.user import User

_OWN_KEYS = ("scorer_id", "model_id", "by")


class Sheet(Environment):
    """The question and its choices, in the order in which they are shown."""

    def setup_state(self, task_data: dict[str, Any]) -> list[str]:
        choices = list(task_data["choices"])
        Random(f"{task_data['question']}|{task_data.get('seed')}").shuffle(choices)
        return choices

    def create_tools(self) -> dict[str, Any]:
        return {}

    def gather_traces(self) -> dict[str, Any]:
        shown = dict(zip(letters(self.state), self.state, strict=True))
        return {**super().gather_traces(), "choices": shown}


class ChoicesEvaluator(Evaluator):
    """Passed if the letter stands before the right answer."""

    def __call__(self, traces: dict[str, Any], final_answer: object = None) -> dict[str, Any]:
        shown, expected = traces["environment"]["choices"], self.task.evaluation_data["answer"]
        chosen = shown.get(final_answer)
        return {"passed": chosen == expected, "chosen": chosen, "expected": expected}


class ChoicesBenchmark(Benchmark):
    """Agent data: ``scorer_id``, such as ``hf/gpt2``, or ``model_id`` of a chat model.

    ``by`` is what a scorer compares: ``letter`` or ``text``. Other keys are options of the scorer
    or model, such as ``device``. With a seed, each repetition shows the choices in another order.
    """

    def setup_environment(
        self, agent_data: dict[str, Any], task: Task, seed_generator: SeedGenerator
    ) -> Sheet:
        return Sheet({**task.environment_data, "seed": seed_generator.derive_seed("order")})

    def setup_agents(
        self,
        agent_data: dict[str, Any],
        environment: Sheet,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> Agents:
        agent = self._chooser(agent_data, environment.state)
        return [agent], {agent.name: agent}

    def _chooser(self, agent_data: dict[str, Any], choices: list[str]) -> AgentAdapter:
        options = {key: value for key, value in agent_data.items() if key not in _OWN_KEYS}
        scorer_id, model_id = agent_data.get("scorer_id"), agent_data.get("model_id")
        if (scorer_id is None) == (model_id is None):
            raise ConfigurationError(
                "agent_data needs either scorer_id, such as 'hf/gpt2', or model_id, such as "
                "'openai/gpt-4.1'"
            )
        if model_id is not None:
            return ChatChooser(self.get_model_adapter(model_id, **options), choices)
        scorer = self.get_scorer(str(scorer_id), **options)
        return ScoringChooser(scorer, choices, agent_data.get("by", "letter"))

    def get_scorer(self, scorer_id: str, **options: Any) -> ModelScorer:
        """The scorer of that id, registered for tracing; override to bring your own."""
        return self.register("models", scorer_id, resolve_scorer(scorer_id, **options))

    def setup_evaluators(
        self,
        environment: Sheet,
        task: Task,
        agents: Sequence[AgentAdapter],
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> Sequence[Evaluator]:
        return [ChoicesEvaluator(task, environment, user)]
