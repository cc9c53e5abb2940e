"""Scripts of agents: the reference solution, that with mistakes, or nothing.

The file also defines the words in which a scripted agent asks the user for one of its own actions,
and which the scripted user reads.
"""

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
"""A scripted agent says this when it is done; the scripted user then leaves."""

DEFAULT_ERROR_RATE = 0.1


@dataclass(frozen=True)
class Script:
    """The actions and the last words of a scripted agent; ``settings`` are for the record."""

    player: str
    actions: Sequence[Action]
    closing: str
    settings: Mapping[str, Any] = field(default_factory=dict)


def _gold_script(task: Task, environment: Tau2Environment, seed: int | None, rate: float) -> Script:
    return Script("gold", TaskSpec.of(task).actions, _closing(_to_be_said(task)))


def _noop_script(task: Task, environment: Tau2Environment, seed: int | None, rate: float) -> Script:
    return Script("noop", (), "Hello, thank you for calling. What can I do for you?")


def _noisy_script(
    task: Task, environment: Tau2Environment, seed: int | None, rate: float
) -> Script:
    if not 0.0 <= rate <= 1.0:
        raise ConfigurationError(f"error_rate is {rate!r}; give a probability from 0 to 1")
    mistakes = Mistakes(environment, rate, Random(seed))
    actions = mistakes.apply_to(TaskSpec.of(task).actions)
    said = [info for info in _to_be_said(task) if not mistakes.goes_wrong()]
    return Script("noisy", actions, _closing(said), {"error_rate": rate, "seed": seed})


def _to_be_said(task: Task) -> Sequence[str]:
    return task.evaluation_data.get("communicate_info") or ()


def _closing(infos: Sequence[str]) -> str:
    return "\n".join([*(f"For your information: {info}" for info in infos), GOODBYE])


PLAYERS: dict[str, Callable[[Task, Tau2Environment, int | None, float], Script]] = {
    "gold": _gold_script,
    "noop": _noop_script,
    "noisy": _noisy_script,
}


def request_for(tool_name: str, arguments: Mapping[str, Any]) -> str:
    """Return words that ask the user for one of its own actions; ``requests_in`` reads them."""
    shown = json.dumps(arguments) if arguments else ""
    return f"Please do this on your side and tell me what you see: `{tool_name}({shown})`"


def requests_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the actions that a text asks for, written like ``tool()`` or ``tool({"x": 1})``.

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


def make_call(
    call_id: str, name: str, arguments: Mapping[str, Any], requestor: Requestor
) -> Tau2ToolCall:
    """Return a tool call, with arguments of its own."""
    return {"id": call_id, "name": name, "arguments": {**arguments}, "requestor": requestor}
