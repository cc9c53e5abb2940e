"""A person as the agent or the customer of a simulation.

A person takes part in the same loop as every model: one message at a time, a text or a tool call,
recorded and scored like any other. Whenever it is the person's turn, the ``Seat`` calls the
function that asks the person, in the thread that runs the simulation, with all that this side has
seen; what that function returns is the person's move.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from maseval.benchmark.tau2.agent import MessageAgent, MessageAgentAdapter
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import (
    STOP,
    TRANSFER,
    Requestor,
    SpokenMessage,
    Tau2Message,
    Tau2ToolCall,
    assistant_message,
    messages_seen_by,
    user_message,
)
from maseval.benchmark.tau2.players.scripted import make_call
from maseval.benchmark.tau2.texts.prompts import scenario_text
from maseval.benchmark.tau2.user import MessageUser
from maseval.core.agent import HUMAN
from maseval.core.clock import Clock
from maseval.core.exceptions import (
    AgentError,
    ConfigurationError,
    RunInterruptedError,
    UserError,
)
from maseval.core.task import Task

_GOODBYE = "Goodbye."
_ENDINGS = {"stop": STOP, "transfer": TRANSFER}


class GaveUpAgentError(AgentError):
    """The person who played the agent gave up."""


class GaveUpUserError(UserError):
    """The person who played the customer gave up."""


class PlayInterruptedError(RunInterruptedError):
    """The person went away in the midst of a simulation, which can be played again."""


class Move(NamedTuple):
    """The person's next message; ``ends`` says that it ends the conversation."""

    message: SpokenMessage
    ends: bool = False


@dataclass(frozen=True)
class SeatView:
    """The person's task and what its side has seen; its methods are the moves to choose from.

    ``text`` is the policy of an agent or the instructions of a customer, ``tools`` are function
    schemas as models are sent them.
    """

    side: Requestor
    domain: str
    task_id: str
    text: str
    tools: Sequence[dict[str, Any]]
    messages: Sequence[Tau2Message] = ()

    def say(self, text: str) -> Move:
        """Say something to the other side."""
        if not text.strip():
            raise ConfigurationError("nothing was said; write some words")
        return Move(self._message(text))

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Move:
        """Call one of the side's tools."""
        known = [tool["function"]["name"] for tool in self.tools]
        if name not in known:
            raise ConfigurationError(f"there is no tool {name!r}; choose one of {', '.join(known)}")
        made = make_call(f"human_call_{len(self.messages)}", name, arguments, self.side)
        return Move(self._message(None, [made]))

    def finish(self, words: str = "", way: str = "stop") -> Move:
        """End the conversation, which is then judged; a customer may say that it is transferred."""
        if way not in _ENDINGS:
            raise ConfigurationError(f"way is {way!r}; choose one of: {', '.join(_ENDINGS)}")
        text = words.strip() or _GOODBYE
        token = "" if self.side == "assistant" else f" {_ENDINGS[way]}"
        return Move(self._message(f"{text}{token}"), ends=True)

    def give_up(self) -> Move:
        """Leave before the end: as the agent, the task is failed; as the customer, not judged."""
        error = GaveUpAgentError if self.side == "assistant" else GaveUpUserError
        raise error("the person gave up")

    def _message(self, text: str | None, calls: list[Tau2ToolCall] | None = None) -> SpokenMessage:
        make = assistant_message if self.side == "assistant" else user_message
        return make(text, tool_calls=calls, cost=0.0)


AskPerson = Callable[[SeatView], Move]
"""Shows a person what there is and returns what it does; ``KeyboardInterrupt`` if it leaves."""


class Seat:
    """The place of one person; the simulation asks it for moves."""

    def __init__(self) -> None:
        self.ask: AskPerson | None = None
        self._latest: Callable[[], SeatView] | None = None
        self._is_left = False

    @property
    def view(self) -> SeatView | None:
        """What the person sees now; None before the simulation begins."""
        return None if self._latest is None else self._latest()

    def take(
        self, side: Requestor, task: Task, environment: Tau2Environment, text: str, tools: Any
    ) -> None:
        """Begin a simulation, or begin again."""
        trajectory = environment.trajectory
        told = (side, environment.domain, str(task.id), text, list(tools))
        self._latest = lambda: SeatView(*told, tuple(messages_seen_by(trajectory.messages, side)))

    def next_move(self) -> Move:
        """Ask the person; one who is out of time is told so after the move."""
        assert self.ask is not None and self.view is not None  # the simulation has begun
        try:
            if self._is_left:
                raise KeyboardInterrupt
            move = self.ask(self.view)
        except KeyboardInterrupt:
            raise PlayInterruptedError("interrupted by the person who plays") from None
        clock = Clock.here()
        if clock is not None:
            clock.check_timeout()
        return move

    def leave(self) -> None:
        """Interrupt the simulation when it is the person's turn again."""
        self._is_left = True


class HumanAgent(MessageAgent):
    """An agent that a person plays."""

    def __init__(self, seat: Seat, tools: Mapping[str, Callable[..., object]]) -> None:
        super().__init__(tools, max_tool_calls=None)
        self.seat = seat
        self._last: SpokenMessage | None = None

    def _answer(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        move = self.seat.next_move()
        self._last = move.message if move.ends else None
        return move.message

    def is_stop(self, message: SpokenMessage) -> bool:
        """Return True if the person ended the conversation, which is then judged."""
        return self._last is not None and message["content"] == self._last["content"]


class HumanAgentAdapter(MessageAgentAdapter):
    """A person as the engine sees it."""

    agent: HumanAgent

    def __init__(self, agent: HumanAgent) -> None:
        super().__init__(agent, HUMAN)

    def gather_config(self) -> dict[str, Any]:
        return {**super().gather_config(), "player": HUMAN, "model_id": HUMAN}


class HumanUser(MessageUser):
    """A customer that a person plays."""

    def __init__(self, seat: Seat, query: str, tools: Mapping[str, Callable[..., object]]) -> None:
        super().__init__(query, tools, max_turns=None)
        self.seat = seat

    def _answer(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        return self.seat.next_move().message

    def gather_config(self) -> dict[str, Any]:
        return {**super().gather_config(), "player": HUMAN, "model_id": HUMAN}


def seat_agent(
    seat: Seat, task: Task, environment: Tau2Environment, tools: Sequence[dict[str, Any]]
) -> HumanAgentAdapter:
    """Make the person at the seat the agent of a task, who reads the policy."""
    seat.take("assistant", task, environment, environment.policy, tools)
    return HumanAgentAdapter(HumanAgent(seat, environment.tools))


def seat_user(
    seat: Seat,
    task: Task,
    environment: Tau2Environment,
    tools: Mapping[str, Callable[..., object]],
    definitions: Sequence[dict[str, Any]],
) -> HumanUser:
    """Make the person at the seat the customer of a task, who reads its instructions."""
    told = scenario_text(task.user_data.get("persona"), task.user_data.get("instructions"))
    seat.take("user", task, environment, told, definitions)
    return HumanUser(seat, task.query, tools)
