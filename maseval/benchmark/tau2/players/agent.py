"""The scripted agent: it needs no model, and acts out a script.

It takes part in the same loop, through the same adapters, and is scored by the same evaluator as
every other agent. ``gold`` carries out a task's reference solution, ``noisy`` does so with
mistakes, ``noop`` does nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from maseval.benchmark.tau2.conversation.messages import (
    STOP,
    assistant_message,
    is_tool_call,
)
from maseval.benchmark.tau2.conversation.speakers import MessageAgent, MessageAgentAdapter
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.forms.message import SpokenMessage, Tau2Message
from maseval.benchmark.tau2.players.requests import call, request_for
from maseval.benchmark.tau2.players.scripts import DEFAULT_ERROR_RATE, PLAYERS, Script
from maseval.core.exceptions import ConfigurationError
from maseval.core.task import Task


class UnknownPlayerError(ConfigurationError):
    """There is no scripted agent of that name."""


class ScriptedAgent(MessageAgent):
    """Makes its own calls, asks the user for the user's, and then says its last words."""

    def __init__(
        self, script: Script, tools: Mapping[str, Callable[..., Any]], *, alone: bool = False
    ) -> None:
        super().__init__(tools, max_tool_calls=None)
        self.script = script
        self.alone = alone
        self._turns = self.turns()

    def begin(self, history: Sequence[Tau2Message]) -> None:
        super().begin(history)
        self._turns = self.turns()

    def _answer(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        return next(self._turns)

    def is_stop(self, message: SpokenMessage) -> bool:
        """Alone, the agent ends the conversation itself."""
        return self.alone and not is_tool_call(message)

    def turns(self) -> Iterator[SpokenMessage]:
        """What the agent says and does, turn by turn, from the beginning; it never ends."""
        for number, action in enumerate(self.script.actions, start=1):
            if action.requestor == "user" and not self.alone:
                yield assistant_message(request_for(action.name, action.arguments), cost=0.0)
            else:
                made = call(f"call_{number}", action.name, action.arguments, "assistant")
                yield assistant_message(None, tool_calls=[made], cost=0.0)
        closing = f"{self.script.closing} {STOP}" if self.alone else self.script.closing
        while True:
            yield assistant_message(closing, cost=0.0)


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
    """The scripted agent of that name, for one repetition of ``task``.

    ``error_rate`` is the chance that ``noisy`` gets an action wrong, and ``seed`` decides which.
    """
    if player not in PLAYERS:
        raise UnknownPlayerError(
            f"unknown scripted agent {player!r}; choose one of: {', '.join(PLAYERS)}"
        )
    script = PLAYERS[player](task, environment, seed, error_rate)
    return PlayerAdapter(ScriptedAgent(script, environment.tools, alone=environment.solo))
