"""Perturbations: tools that fail now and then, and answers in another form.

A fault stands in the place of an answer, and its call is not made: nothing changes. Another form of
an answer means the same. Either way the message says what reached the tools, as it does where a
subclass overrides them, so that a verdict is about that alone.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal, cast

from maseval.benchmark.tau2.formats.message import (
    OVERRIDE,
    PERTURBED,
    Override,
    Tau2ToolCall,
    ToolMessage,
    tool_message,
)
from maseval.core.exceptions import ConfigurationError
from maseval.data.folder import hash_file

Kind = Literal["faults", "structure", "prompt"]
_FORMS = "faults=0.2 (a share from 0 to 1), structure, or prompt=FILE"

_FAULTS = (
    "Error: the request timed out before anything was done. Try again.",
    "Error: the service is temporarily unavailable (503). Nothing was done. Try again.",
    "Error: too many requests at the moment (429). Nothing was done. Try again.",
)


@dataclass(frozen=True)
class Perturbation:
    """The perturbation of a run: ``rate`` is that of faults, ``file`` that of rewordings."""

    kind: Kind
    rate: float | None = None
    file: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Perturbation":
        """Read what was typed; raise for anything else than the three forms."""
        kind, _, value = text.partition("=")
        if kind == "structure" and not value:
            return cls("structure")
        if kind == "prompt" and value:
            return cls("prompt", file=value)
        if kind == "faults":
            try:
                rate = float(value)
            except ValueError:
                rate = -1.0
            if 0 <= rate <= 1:
                return cls("faults", rate)
        raise ConfigurationError(f"perturb is {text!r}; give {_FORMS}")

    def to_config(self) -> dict[str, object]:
        # A file of that name may hold other words by the next run.
        hashed = hash_file(Path(self.file)) if self.file else None
        known = {
            "kind": self.kind,
            "rate": self.rate,
            "file": self.file,
            "sha256": hashed and hashed.sha256,
        }
        return {name: value for name, value in known.items() if value is not None}


class PerturbedAnswers:
    """Answers the agent's calls of one simulation; the same seed perturbs the same calls alike."""

    def __init__(self, perturbation: Perturbation, seed: int | None) -> None:
        self._perturbation, self._seed = perturbation, seed
        self._calls = 0

    def respond(
        self, call: Tau2ToolCall, make: Callable[[Tau2ToolCall], ToolMessage]
    ) -> ToolMessage:
        """Answer a call; ``make`` makes it."""
        # It is the agent whose robustness is tried.
        if call.get("requestor") != "assistant":
            return make(call)
        self._calls += 1
        # Each call draws for itself, so that what one fault draws does not move the next.
        chance = Random(f"{self._seed}/{self._calls}")
        rate = self._perturbation.rate
        if rate is not None and chance.random() < rate:
            fault = tool_message(call, (chance.choice(_FAULTS), True))
            return _mark_answer(
                fault, {"tool": call["name"], "calls": [], "wrote": False}, "faults"
            )
        answer = make(call)
        if self._perturbation.kind != "structure":
            return answer
        content = restructure(answer["content"] or "", chance)
        if content == answer["content"]:
            return answer
        reached = {name: call[name] for name in ("name", "arguments", "requestor")}
        own: Override = {
            "tool": call["name"],
            "calls": [{**reached, "content": answer["content"], "error": answer["error"]}],
            "wrote": False,
        }
        override = cast(Mapping[str, Any], answer).get(OVERRIDE, own)
        return _mark_answer({**answer, "content": content}, override, "structure")


def _mark_answer(answer: ToolMessage, override: Override, kind: Kind) -> ToolMessage:
    return cast(ToolMessage, {**answer, OVERRIDE: override, PERTURBED: kind})


def restructure(content: str, chance: Random) -> str:
    """Return the same JSON in another form: keys in another order, indented, numbers with zeros.

    Lists keep their order, which may mean something. Any other text is returned as it is.
    """
    try:
        value = json.loads(content)
    except ValueError:
        return content
    return _write_otherwise(value, chance, "\n") if isinstance(value, dict | list) else content


def _write_otherwise(value: object, chance: Random, line: str) -> str:
    deeper = f"{line}  "
    match value:
        case dict() if value:
            keys = [*value]
            chance.shuffle(keys)
            parts = (
                f"{json.dumps(key)}: {_write_otherwise(value[key], chance, deeper)}" for key in keys
            )
            return f"{{{deeper}{f',{deeper}'.join(parts)}{line}}}"
        case list() if value:
            parts = (_write_otherwise(each, chance, deeper) for each in value)
            return f"[{deeper}{f',{deeper}'.join(parts)}{line}]"
        case float() if "e" not in repr(value) and "n" not in repr(value):
            return f"{value!r}0"
    return json.dumps(value)
