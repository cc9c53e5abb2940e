"""The scripted agent: it needs no model, and acts out a script.

It takes part in the same loop, through the same adapters, and is scored by the same evaluator as
every other agent. ``gold`` carries out a task's reference solution, ``noisy`` does so with
mistakes, ``noop`` does nothing. It asks the user for an action of the user's own in words that the
scripted user reads.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from maseval.benchmark.tau2.agent import MessageAgent, MessageAgentAdapter
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import (
    STOP,
    Requestor,
    SpokenMessage,
    Tau2Message,
    Tau2ToolCall,
    assistant_message,
    is_tool_call,
    tool_calls_of,
)
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


class ScriptedAgent(MessageAgent):
    """Makes its own calls, asks the user for the user's, and then says its last words."""

    def __init__(
        self, script: Script, tools: Mapping[str, Callable[..., Any]], *, alone: bool = False
    ) -> None:
        super().__init__(tools, max_tool_calls=None)
        self.script = script
        self.alone = alone
        self._left = list(self._turns())

    def begin(self, history: Sequence[Tau2Message]) -> None:
        super().begin(history)
        self._left = list(self._turns())

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None:
        """Take over from another agent: the rest of the script remains to be done."""
        super().recall(incoming, message)
        done = next((turn for turn in self._left if _is_same(turn, message)), None)
        if done is not None:
            self._left.remove(done)

    def _answer(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        return self._left.pop(0) if self._left else self._closing()

    def is_stop(self, message: SpokenMessage) -> bool:
        """Return True for the last words of an agent that works alone."""
        return self.alone and not is_tool_call(message)

    def _turns(self) -> Iterator[SpokenMessage]:
        for number, action in enumerate(self.script.actions, start=1):
            if action.requestor == "user" and not self.alone:
                yield assistant_message(request_for(action.name, action.arguments), cost=0.0)
            else:
                made = make_call(f"call_{number}", action.name, action.arguments, "assistant")
                yield assistant_message(None, tool_calls=[made], cost=0.0)

    def _closing(self) -> SpokenMessage:
        closing = f"{self.script.closing} {STOP}" if self.alone else self.script.closing
        return assistant_message(closing, cost=0.0)


def _is_same(turn: SpokenMessage, message: SpokenMessage) -> bool:
    return turn["content"] == message["content"] and _calls_made(turn) == _calls_made(message)


def _calls_made(message: SpokenMessage) -> list[tuple[str, Mapping[str, Any]]]:
    return [(call["name"], call["arguments"]) for call in tool_calls_of(message) or ()]


class PlayerAdapter(MessageAgentAdapter):
    """A scripted agent as the engine sees it."""

    agent: ScriptedAgent

    def __init__(self, agent: ScriptedAgent, name: str = "player") -> None:
        super().__init__(agent, name)

    def gather_config(self) -> dict[str, Any]:
        script = self.agent.script
        return {**super().gather_config(), "player": script.player, **script.settings}


def make_agent(
    player: str,
    task: Task,
    environment: Tau2Environment,
    *,
    seed: int | None = None,
    error_rate: float = DEFAULT_ERROR_RATE,
) -> PlayerAdapter:
    """Return the scripted agent of that name, for one repetition of ``task``.

    ``error_rate`` is the chance that ``noisy`` gets an action wrong, and ``seed`` decides which.
    """
    if player not in PLAYERS:
        raise ConfigurationError(
            f"unknown scripted agent {player!r}; choose one of: {', '.join(PLAYERS)}"
        )
    script = PLAYERS[player](task, environment, seed, error_rate)
    return PlayerAdapter(
        ScriptedAgent(script, environment.tools_on_demand(), alone=environment.solo)
    )
