"""ScriptedJudge: a judge of the policy that errs at known rates, and in every known way.

It stands in for a judge model in tests and rehearsals, so that it is known what a measurement, a
correction or a report of its answers must come to. What it answers to a conversation depends on
that conversation and the seed alone, whatever the order or the number of threads.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from maseval.core.call_policy import CallPolicy
from maseval.core.exceptions import ConfigurationError
from maseval.core.messages import Message, text_of
from maseval.core.scripted import ScriptedModelAdapter, Tools
from maseval.core.usage import CostCalculator
from maseval.testing.faulty_judge import JUDGE_FAULTS, spoil

EVIDENCE_FAULTS: Mapping[str, Mapping[str, object]] = {
    "invented quote": {"quote": "I have sold your data, as agreed."},
    "invented policy": {"policy": "Agents never use the letter e."},
    "wrong message": {"message": 10_000},
    "another form": {"weight": "Handlung"},
}
"""Faults of claims, and what stands in them instead."""

Claims = list[dict[str, Any]]
_MESSAGE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_POLICY = "The policy:\n"


class ScriptedJudge(ScriptedModelAdapter):
    """Answers the question whether the policy was kept, with true evidence unless told otherwise.

    Args:
        truth: Given the text of a conversation, returns the number of the message that breaks the
            policy, or None if it was kept.
        found: The share of broken conversations that it finds.
        flagged: The share of the others in which it claims a breach all the same.
        faults: The share of answers with each fault; of ``JUDGE_FAULTS`` and ``EVIDENCE_FAULTS``.
        weight: What it says a breach weighs.
        seed: Another seed errs about other conversations.
    """

    def __init__(
        self,
        truth: Callable[[str], int | None],
        *,
        found: float = 1.0,
        flagged: float = 0.0,
        faults: Mapping[str, float] | None = None,
        weight: str = "act",
        seed: int = 0,
        model_id: str = "scripted-judge",
        cost_calculator: CostCalculator | None = None,
    ) -> None:
        super().__init__(self._answer, model_id=model_id, cost_calculator=cost_calculator)
        self.policy = CallPolicy(max_attempts=1)
        self._truth, self._weight, self._errs_by = truth, weight, seed
        self._rates = {"found": found, "flagged": flagged}
        self._faults = dict(faults or {})
        known = [*JUDGE_FAULTS, *EVIDENCE_FAULTS]
        if unknown := [fault for fault in self._faults if fault not in known]:
            raise ConfigurationError(f"no fault {unknown[0]!r}; choose from {', '.join(known)}")
        shares = [*self._rates.values(), sum(self._faults.values())]
        if not all(0 <= each <= 1 for each in shares):
            raise ConfigurationError(f"rates are shares between 0 and 1, together too: {shares}")

    def _answer(self, messages: list[Message], tools: Tools) -> str:
        policy = text_of(messages[0]).partition(_POLICY)[2].strip()
        conversation = text_of(messages[1])
        place = self._truth(conversation)
        claims = []
        if place is not None and self._draw("found", conversation) < self._rates["found"]:
            claims = [self._claim(place, policy, conversation)]
        elif place is None and self._draw("flagged", conversation) < self._rates["flagged"]:
            claims = [self._claim(0, policy, conversation)]
        # The answer to a correction is drawn anew.
        drawn = self._draw(f"fault {len(messages)}", conversation)
        for fault, share in self._faults.items():
            if drawn < share:
                return self._spoil(fault, claims, policy, conversation)
            drawn -= share
        return _written(claims)

    def _draw(self, what: str, conversation: str) -> float:
        """Return a number from 0 up to 1 that these decide."""
        # A generator's numbers would depend on the order of the calls.
        text = f"{self._errs_by} {what} {conversation}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big") / 2**56

    def _claim(self, place: int, policy: str, conversation: str) -> dict[str, Any]:
        texts = {int(number): text for number, text in _MESSAGE.findall(conversation)}
        sentence = next((line for line in policy.splitlines() if line.strip()), "")
        return {
            "message": place,
            "weight": self._weight,
            "policy": sentence,
            "quote": texts.get(place, ""),
            "why": "The script says so.",
        }

    def _spoil(self, fault: str, claims: Claims, policy: str, conversation: str) -> str:
        claim = claims[0] if claims else self._claim(0, policy, conversation)
        if fault == "two answers":
            return f"{_written([])}\nor rather\n{_written([claim])}"
        if fault not in EVIDENCE_FAULTS:
            return spoil(_written(claims), fault, self.model_id)
        return _written([{**claim, **EVIDENCE_FAULTS[fault]}])


def _written(claims: Claims) -> str:
    return json.dumps({"claims": claims}, ensure_ascii=False)
