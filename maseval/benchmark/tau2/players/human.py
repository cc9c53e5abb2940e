"""A person as the agent of a simulation.

A person takes part in the same loop as every model: one message at a time, a text or a tool call,
recorded and scored like any other. Whenever it is the person's turn, ``Person`` calls the function
that asks the person, in the thread that runs the simulation, with all that this side has seen; what
that function returns is the person's message.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maseval.benchmark.tau2.agent import MessageAgent, MessageAgentAdapter
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import (
    STOP,
    SpokenMessage,
    Tau2Message,
    Tau2ToolCall,
    assistant_message,
    is_tool_call,
    messages_seen_by,
)
from maseval.benchmark.tau2.players.scripted import make_call
from maseval.core.agent import HUMAN
from maseval.core.clock import Clock
from maseval.core.exceptions import ConfigurationError, RunInterruptedError
from maseval.core.task import Task


@dataclass(frozen=True)
class SeatView:
    """The person's task and what it has seen; its methods make the messages to choose from.

    ``text`` is the policy, ``tools`` are function schemas as models are sent them.
    """

    domain: str
    task_id: str
    text: str
    tools: Sequence[dict[str, Any]]
    messages: Sequence[Tau2Message] = ()

    def say(self, text: str) -> SpokenMessage:
        """Say something to the other side."""
        if not text.strip():
            raise ConfigurationError("nothing was said; write some words")
        return self._message(text)

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> SpokenMessage:
        """Call one of the side's tools."""
        known = [tool["function"]["name"] for tool in self.tools]
        if name not in known:
            raise ConfigurationError(f"there is no tool {name!r}; choose one of {', '.join(known)}")
        # Counted and not random, so that equal conversations are equal in every byte.
        made = make_call(f"human_call_{len(self.messages)}", name, arguments, "assistant")
        return self._message(None, [made])

    def finish(self, words: str = "") -> SpokenMessage:
        """End the conversation, which is then judged."""
        return self._message(f"{words.strip() or 'Goodbye.'} {STOP}")

    def _message(self, text: str | None, calls: list[Tau2ToolCall] | None = None) -> SpokenMessage:
        return assistant_message(text, tool_calls=calls, cost=0.0)


AskPerson = Callable[[SeatView], SpokenMessage]
"""Shows a person what there is and returns its message; ``KeyboardInterrupt`` if it leaves."""


class Person:
    """Somebody who plays the agent; the simulation asks for messages."""

    def __init__(self, ask: AskPerson) -> None:
        self._ask = ask
        self._see: Callable[[], SeatView] | None = None
        self._has_left = False

    @property
    def view(self) -> SeatView | None:
        """The view that the person has now; None before the simulation begins."""
        return None if self._see is None else self._see()

    def to_config(self) -> dict[str, object]:
        """Return the entry of the run's configuration; it says nothing about the person."""
        return {"player": HUMAN}

    def next_message(self) -> SpokenMessage:
        """Ask the person; one who is out of time is told so after the answer."""
        view = self.view
        assert view is not None  # the simulation has begun
        try:
            # Whoever was interrupted in another thread has left, too.
            if self._has_left:
                raise KeyboardInterrupt
            message = self._ask(view)
        except KeyboardInterrupt:
            raise RunInterruptedError("interrupted by the person who plays") from None
        if (clock := Clock.here()) is not None:
            clock.check_timeout()
        return message

    def leave(self) -> None:
        """Interrupt the simulation when it is the person's turn again."""
        self._has_left = True

    def as_agent(
        self, task: Task, environment: Tau2Environment, tools: Sequence[dict[str, Any]]
    ) -> "HumanAgentAdapter":
        """Make the person the agent of a task, who reads the policy."""
        trajectory = environment.trajectory
        told = (environment.domain, str(task.id), environment.policy, list(tools))
        self._see = lambda: SeatView(
            *told, tuple(messages_seen_by(trajectory.messages, "assistant"))
        )
        return HumanAgentAdapter(HumanAgent(self, environment.tools), HUMAN)


class HumanAgent(MessageAgent):
    """An agent that a person plays."""

    def __init__(self, person: Person, tools: Mapping[str, Callable[..., object]]) -> None:
        super().__init__(tools, max_tool_calls=None)
        self.person = person

    def _answer(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        return self.person.next_message()

    def is_stop(self, message: SpokenMessage) -> bool:
        """Return True if the person ended the conversation, which is then judged."""
        return not is_tool_call(message) and STOP in (message["content"] or "")


class HumanAgentAdapter(MessageAgentAdapter):
    """A person as the engine sees it."""

    def gather_config(self) -> dict[str, Any]:
        return {**super().gather_config(), "player": HUMAN, "model_id": HUMAN}
