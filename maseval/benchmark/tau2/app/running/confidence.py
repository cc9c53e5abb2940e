"""Ask an agent after the end how sure it is: outside the conversation, and never judged.

Neither the user nor the evaluator sees question or answer. Both stand in the report, in the trace
``confidence``; what the request cost is part of the agent's usage. An agent that gives no number,
or fails, has none: its verdict stays what it is.
"""

import re
from typing import Any

from maseval.benchmark.tau2.agent import MessageAgentAdapter
from maseval.core.agent import AgentAdapter
from maseval.core.context import TaskContext
from maseval.core.tracing import TraceableMixin
from maseval.core.words import excerpt

QUESTION = (
    "The conversation is over. How sure are you, from 0 to 100, that everything the customer "
    "needed was done correctly? Answer with the number alone."
)
TRACE = "confidence"
# A scale that the answer names is not the answer: 85/100, or 85 on a scale of 0 to 100.
_SCALE = re.compile(r"(?:/|out of|0 ?(?:to|and|-|\u2013)) ?100\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\d.,-])(\d{1,3}(?:\.\d{1,9})?)(?![\d,])")


class StatedConfidence(TraceableMixin):
    """The agent's answer; ``value`` is from 0 to 1, None if it gave no number."""

    def __init__(self, agent: str, answer: str, value: float | None) -> None:
        self.agent, self.answer, self.value = agent, answer, value

    def gather_traces(self) -> dict[str, Any]:
        return {
            **super().gather_traces(),
            "agent": self.agent,
            "question": QUESTION,
            "answer": self.answer,
            "value": self.value,
        }


def read_confidence(answer: str) -> float | None:
    """Return the last number in an answer as a share; None unless it is from 0 to 100.

    Below 1, it may be a share already or a hundredth of one.
    """
    # Models that explain themselves first end with the number.
    numbers = _NUMBER.findall(_SCALE.sub("", answer))
    value = float(numbers[-1]) if numbers else -1.0
    return value / 100 if value == 0 or 1 <= value <= 100 else None


def ask_confidence(agent: AgentAdapter) -> None:
    """Ask an agent, and record what it says."""
    try:
        if isinstance(agent, MessageAgentAdapter):
            answer = agent.agent.answer_apart(QUESTION)
        else:
            answer = str(agent.run(QUESTION))
    except Exception as error:  # the agent's own code, whose verdict is not at stake any more
        answer, value = excerpt(f"{type(error).__name__}: {error}"), None
    else:
        value = read_confidence(answer)
    stated = StatedConfidence(agent.name, answer, value)
    TaskContext.current().registry.register(TRACE, "agent", stated)
