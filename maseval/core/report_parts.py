"""The parts of a report that say one thing each: an error, a verdict, the code, a player, a cost.

Reports read from a file may lack any part that their writer left out, or any of its entries.
"""

import builtins
from typing import NamedTuple

from maseval.core.recorded import Part, Recorded, dict_of, list_of, mapping, number
from maseval.core.words import text, text_or_none

# A product of checks may miss 1 in its last digits.
TOLERANCE = 1e-6
_JUDGES = frozenset({"judge", "evaluator"})


def is_successful(reward: float) -> bool:
    return 1 - TOLERANCE <= reward <= 1 + TOLERANCE


class RecordedError(Recorded):
    """The error that a repetition or an attempt ended with; false if there was none."""

    type = Part(text_or_none, "error_type")
    message = Part(text_or_none, "error_message")
    traceback = Part(text_or_none)

    def __str__(self) -> str:
        """Return the message, with its type if that is a built-in one, whose texts say little."""
        built_in = self.type and hasattr(builtins, self.type)
        return f"{self.type}: {self.message}" if built_in else str(self.message)

    @property
    def more(self) -> dict[str, object]:
        """Whatever else was recorded of it, such as its component."""
        shown = ("error_type", "error_message", "traceback")
        return {key: value for key, value in self.raw.items() if key not in shown and value}


class RecordedEvaluation(Recorded):
    """The result of one evaluator; ``raw`` has whatever else it returned."""

    reward = Part(number)
    evaluator = Part(text_or_none)
    termination_reason = Part(text_or_none)
    reward_info = Part(mapping)
    measures = Part(mapping)

    @property
    def passed(self) -> bool | None:
        """The verdict: as it is given, else by the reward."""
        if (given := self.raw.get("passed")) is not None:
            return bool(given)
        return None if self.reward is None else is_successful(self.reward)


evaluations_in = list_of(RecordedEvaluation)


class RecordedSoftware(Recorded):
    """The code that a repetition was run by, as ``config["benchmark"]`` has it."""

    packages = Part(dict_of(text))
    python = Part(text_or_none, "python", "version")
    commit = Part(text_or_none, "git", "commit_hash_short")
    dirty = Part(bool, "git", "is_dirty")


class RecordedAgent(Recorded):
    """The settings of an agent, user or model; its ``name`` is its type, unless it is scripted."""

    model_id = Part(text_or_none)
    error_rate = Part(text_or_none)

    @property
    def name(self) -> str | None:
        return text_or_none(self.raw.get("player") or self.raw.get("agent_type"))


class ComponentUsage(NamedTuple):
    """The usage of one component in one attempt; the last attempt has no number."""

    component: str
    attempt: int | None
    cost: float | None
    input_tokens: float | None
    cached_input_tokens: float | None
    output_tokens: float | None

    @property
    def tokens(self) -> float:
        return (self.input_tokens or 0) + (self.output_tokens or 0)

    @property
    def role(self) -> str:
        """``agent``, ``user``, ``judge`` or another: by its name, as benchmarks name models."""
        category, _, name = self.component.partition(":")
        words = name.split("_") if category == "models" else [category.removesuffix("s")]
        return "judge" if _JUDGES.intersection(words) else words[0]


class RecordedAttempt(Recorded):
    status = Part(text_or_none)
    error = Part(RecordedError)
