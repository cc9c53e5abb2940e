"""The questions to a judge about a conversation: was the policy kept, and who failed.

The judge of the policy sees neither verdict nor reference solution. All evidence is checked by
comparing letters: a claim counts only if its message exists, and if its words stand in that message
and its sentence in the policy, whatever spaces are between the words.
"""

from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from typing import Literal

from pydantic import BaseModel, Field

from maseval.benchmark.tau2.texts.original import template
from maseval.core.judge import Checked, Question
from maseval.core.words import excerpt

ClaimWeight = Literal["act", "statement", "manner"]
Party = Literal["agent", "user", "task", "infrastructure"]


class PolicyClaim(BaseModel):
    """A breach that the judge claims, with its evidence."""

    message: int = Field(description="number of the message that shows it")
    weight: ClaimWeight
    policy: str = Field(description="the sentence of the policy, copied letter by letter")
    quote: str = Field(description="words of that message, copied letter by letter")
    why: str = Field(description="the reason, in one sentence")


class PolicyAnswer(BaseModel):
    """All breaches of the policy in a conversation; an empty list if there are none."""

    claims: list[PolicyClaim]


class CauseQuote(BaseModel):
    """A piece of evidence: words of a message, or of the texts given without a number."""

    message: int | None = Field(description="number of the message; null for the other texts")
    quote: str = Field(description="its words, copied letter by letter")


class CauseAnswer(BaseModel):
    """The party that failed, perhaps a second one, and the evidence."""

    first: Party
    second: Party | None = None
    claims: list[CauseQuote] = Field(description="one to four quotes that show it")
    why: str = Field(description="the reason, in one or two sentences")


class JudgedTexts:
    """The texts that evidence is compared with: ``messages`` as shown, and ``others``."""

    def __init__(self, messages: Sequence[str], others: Iterable[str]) -> None:
        self.messages = messages
        self._others = list(others)

    @cached_property
    def _squeezed_messages(self) -> list[str]:
        return [squeeze(each) for each in self.messages]

    @cached_property
    def _squeezed_others(self) -> list[str]:
        return [squeeze(each) for each in self._others]

    def fault_of_quote(self, message: int, quote: str) -> str | None:
        """Return why words are not those of a message; None if they are."""
        if not 0 <= message < len(self.messages):
            return f"there is no message {message}"
        # An empty quote stands in every message, and proves nothing.
        if squeeze(quote) and squeeze(quote) in self._squeezed_messages[message]:
            return None
        return f"message {message} does not say {excerpt(quote)!r}"

    def fault_of_other(self, quote: str) -> str | None:
        """Return why words do not stand in the other texts; None if they do."""
        if squeeze(quote) and any(squeeze(quote) in each for each in self._squeezed_others):
            return None
        return f"the policy does not say {excerpt(quote)!r}"


def squeeze(text: str) -> str:
    """Return the text with single spaces, as a model may wrap lines in another way."""
    return " ".join(text.split())


def check_policy(answer: PolicyAnswer, texts: JudgedTexts) -> Checked:
    """Keep the claims whose message, words and sentence of the policy are true."""
    # A claim without evidence does not count; why it was dropped is kept beside the answer.
    kept, dropped = [], []
    for claim in answer.claims:
        fault = texts.fault_of_quote(claim.message, claim.quote)
        fault = fault or texts.fault_of_other(claim.policy)
        if fault is None:
            kept.append(claim)
        else:
            dropped.append(f"{claim.weight}, message {claim.message}: {fault}")
    return Checked(PolicyAnswer(claims=kept), dropped)


def check_cause(answer: CauseAnswer, texts: JudgedTexts) -> Checked:
    kept, dropped = [], []
    for claim in answer.claims:
        if claim.message is None:
            fault = texts.fault_of_other(claim.quote)
        else:
            fault = texts.fault_of_quote(claim.message, claim.quote)
        if fault is None:
            kept.append(claim)
        else:
            dropped.append(fault)
    return Checked(answer.model_copy(update={"claims": kept}), dropped)


@cache
def policy_question() -> Question[PolicyAnswer]:
    return Question("policy", template("policy_question"), PolicyAnswer, check_policy)


@cache
def cause_question() -> Question[CauseAnswer]:
    return Question("cause", template("cause_question"), CauseAnswer, check_cause)
