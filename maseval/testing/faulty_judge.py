"""FaultyJudge: a scripted judge that answers as badly as models and providers do."""

import os
import signal
from collections.abc import Sequence
from typing import Any

from maseval.core.call_policy import CallPolicy
from maseval.core.exceptions import ConfigurationError
from maseval.core.messages import Message
from maseval.core.provider_errors import (
    ContentFilterError,
    OverloadedError,
    ProviderError,
    ProviderTimeoutError,
)
from maseval.core.scripted import ScriptedModelAdapter, Tools

UNREADABLE = ("garbage", "half JSON", "another language", "refuses", "empty", "two answers")
WITHHELD = ("filtered",)
UNANSWERED = ("times out", "down")
KILLED = ("killed",)
"""Ends the process before it answers, as ``kill -9`` does."""

JUDGE_FAULTS = (*UNREADABLE, *WITHHELD, *UNANSWERED, *KILLED)
NO_FAULT = "none"


class FaultyJudge(ScriptedModelAdapter):
    """Answers with ``good``, or as badly as the next of ``faults`` says; then from the beginning.

    Each fault is one of ``JUDGE_FAULTS``, or ``"none"``. Failed requests are not repeated.
    """

    def __init__(self, good: str, faults: Sequence[str] = JUDGE_FAULTS, **options: Any) -> None:
        if unknown := set(faults) - {*JUDGE_FAULTS, NO_FAULT}:
            raise ConfigurationError(
                f"unknown fault {min(unknown)!r}; choose from {', '.join(JUDGE_FAULTS)}"
            )
        super().__init__(self._answer, **{"model_id": "faulty", **options})
        self.policy = CallPolicy(max_attempts=1)
        self.good = good
        self.faults = list(faults)

    def _answer(self, messages: list[Message], tools: Tools) -> str:
        fault = self.faults[(len(self.requests) - 1) % len(self.faults)]
        return spoil(self.good, fault, self.model_id)


_TEXTS = {
    "garbage": "\x00\ufffd}{ ]] lorem \u202e 0xDEADBEEF {{",
    "another language": "Das Gespräch wurde geprüft, es liegt kein Verstoß vor.",
    "refuses": "I'm sorry, but I can't help with that.",
    "empty": "",
}
_ERRORS: dict[str, tuple[type[ProviderError], str]] = {
    "filtered": (ContentFilterError, "withheld"),
    "times out": (ProviderTimeoutError, "slow"),
    "down": (OverloadedError, "busy"),
}


def spoil(good: str, fault: str, model_id: str) -> str:
    """Return an answer with a fault, or raise what a provider answers instead."""
    if fault in _ERRORS:
        kind, words = _ERRORS[fault]
        raise kind(words, provider="scripted", model_id=model_id)
    match fault:
        case "half JSON":
            return good[: len(good) // 2]
        case "two answers":
            other = good.replace("true", "false").replace("[]", "[0]")
            return f"```json\n{good}\n```\nOn second thought:\n```json\n{other}\n```"
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
    return _TEXTS.get(fault, good)
