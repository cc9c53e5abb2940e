"""What a scripted agent will do: the reference solution, that with mistakes, or nothing."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import Requestor, Tau2ToolCall
from maseval.benchmark.tau2.players.mistakes import Mistakes
from maseval.benchmark.tau2.world.tasks import Action, TaskSpec
from maseval.core.exceptions import ConfigurationError
from maseval.core.task import Task

GOODBYE = "That is everything I can do for you today."
"""How a scripted agent says that it is done; the scripted user leaves when it hears this."""

DEFAULT_ERROR_RATE = 0.1


@dataclass(frozen=True)
class Script:
    """What a scripted agent will do, and its last words; ``settings`` are how it came about."""

    player: str
    actions: Sequence[Action]
    closing: str
    settings: Mapping[str, Any] = field(default_factory=dict)


def _gold(task: Task, environment: Tau2Environment, seed: int | None, rate: float) -> Script:
    return Script("gold", TaskSpec.of(task).actions, _closing(_to_be_said(task)))


def _noop(task: Task, environment: Tau2Environment, seed: int | None, rate: float) -> Script:
    return Script("noop", (), "Hello, thank you for calling. What can I do for you?")


def _noisy(task: Task, environment: Tau2Environment, seed: int | None, rate: float) -> Script:
    if not 0.0 <= rate <= 1.0:
        raise ConfigurationError(f"error_rate is {rate!r}; give a probability from 0 to 1")
    mistakes = Mistakes(environment, rate, Random(seed))
    actions = mistakes.made_in(TaskSpec.of(task).actions)
    said = [info for info in _to_be_said(task) if not mistakes.forgets()]
    return Script("noisy", actions, _closing(said), {"error_rate": rate, "seed": seed})


def _to_be_said(task: Task) -> Sequence[str]:
    return task.evaluation_data.get("communicate_info") or ()


def _closing(infos: Sequence[str]) -> str:
    return "\n".join([*(f"For your information: {info}" for info in infos), GOODBYE])


PLAYERS: dict[str, Callable[[Task, Tau2Environment, int | None, float], Script]] = {
    "gold": _gold,
    "noop": _noop,
    "noisy": _noisy,
}


def request_for(tool_name: str, arguments: Mapping[str, Any]) -> str:
    """Words that ask the user for one of its own actions; ``requests_in`` reads them."""
    shown = json.dumps(arguments) if arguments else ""
    return f"Please do this on your side and tell me what you see: `{tool_name}({shown})`"


def requests_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The actions that a text asks for, written like ``toggle_data()`` or ``name({"x": 1})``.

    They stand in backticks; the arguments are a JSON object.
    """
    found = []
    for match in re.finditer(r"`(\w+)\(", text):
        arguments, rest = _leading_object(text[match.end() :])
        if arguments is not None and rest.lstrip().startswith(")`"):
            found.append((match[1], arguments))
    return found


def _leading_object(text: str) -> tuple[dict[str, Any] | None, str]:
    if not text.startswith("{"):
        return {}, text
    try:
        arguments, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None, text
    return arguments, text[end:]


def call(
    call_id: str, name: str, arguments: Mapping[str, Any], requestor: Requestor
) -> Tau2ToolCall:
    """A tool call, with arguments of its own."""
    return {"id": call_id, "name": name, "arguments": {**arguments}, "requestor": requestor}
