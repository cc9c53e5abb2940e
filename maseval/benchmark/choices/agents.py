"""Who chooses: a scorer by likelihood, or a chat model by what it answers."""

import re
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

from maseval.core.agent import AgentAdapter
from maseval.core.exceptions import AgentError, ConfigurationError
from maseval.core.model import ModelAdapter
from maseval.core.scorer import ModelScorer

WAYS = ("letter", "text")


def letters(choices: Sequence[str]) -> str:
    """A letter for each choice, in order."""
    return ascii_uppercase[: len(choices)]


def sheet_text(question: str, choices: Sequence[str]) -> str:
    """The question with its lettered choices, up to where the answer begins."""
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
