"""The benchmark: a sheet with a question, an agent that chooses, and the right answer.

The agent is a scorer, which chooses by likelihood, or a chat model, which is asked for a letter.
"""

import re
from collections.abc import Sequence
from random import Random
from string import ascii_uppercase
from typing import Any

from maseval.core.agent import AgentAdapter
from maseval.core.benchmark import Benchmark
from maseval.core.engine.participants import Agents
from maseval.core.environment import Environment
from maseval.core.evaluator import Evaluator
from maseval.core.exceptions import AgentError, ConfigurationError
from maseval.core.model import ModelAdapter
from maseval.core.scorer import ModelScorer, resolve_scorer
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.user import User

WAYS = ("letter", "text")


def letters(choices: Sequence[str]) -> str:
    """Return a letter for each choice, in order."""
    return ascii_uppercase[: len(choices)]


def sheet_text(question: str, choices: Sequence[str]) -> str:
    """Return the question with its lettered choices, up to where the answer begins."""
    listed = [
        f"{letter}. {choice}" for letter, choice in zip(letters(choices), choices, strict=True)
    ]
    return "\n".join([f"Question: {question}", *listed, "Answer:"])


class ScoringChooser(AgentAdapter):
    """Takes the likeliest choice: of the letters below the question, or of the texts themselves.

    Texts differ in length, so theirs is the likelihood per character.
    """

    agent: ModelScorer

    def __init__(self, scorer: ModelScorer, choices: Sequence[str], by: str = "letter") -> None:
        super().__init__(scorer, "chooser")
        if by not in WAYS:
            raise ConfigurationError(f"by is {by!r}; choose one of: {', '.join(WAYS)}")
        self.choices = list(choices)
        self.by = by
        self.likelihoods: dict[str, float] = {}

    def _run_agent(self, query: str) -> str:
        marks = letters(self.choices)
        if self.by == "letter":
            found = self.agent.loglikelihood_choices(sheet_text(query, self.choices), list(marks))
        else:
            context = f"Question: {query}\nAnswer:"
            scores = self.agent.loglikelihood_choices(context, self.choices)
            found = [score / len(text) for score, text in zip(scores, self.choices, strict=True)]
        self.likelihoods = dict(zip(marks, found, strict=True))
        return max(self.likelihoods, key=self.likelihoods.__getitem__)

    def gather_traces(self) -> dict[str, Any]:
        return {**super().gather_traces(), "by": self.by, "likelihoods": dict(self.likelihoods)}


class ChatChooser(AgentAdapter):
    """Asks a chat model for the letter; an answer without one is the model's error."""

    agent: ModelAdapter

    def __init__(self, model: ModelAdapter, choices: Sequence[str]) -> None:
        super().__init__(model, "chooser")
        self.choices = list(choices)

    def _run_agent(self, query: str) -> str:
        marks = letters(self.choices)
        asked = f"{sheet_text(query, self.choices)}\n\nReply with the letter alone."
        answer = self.agent.generate(asked)
        found = re.findall(rf"\b[{marks}]\b", answer)
        if not found:
            raise AgentError(
                f"the model answered {answer[:200]!r}, which names none of {', '.join(marks)}",
                component="chooser",
            )
        return str(found[-1])


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

    evaluators_need_environment = False

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
        """Return the scorer of that id, registered for tracing; override to bring your own."""
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
