"""A person as the agent or the customer of a simulation, at a terminal or a page.

The person has a ``Seat``. The simulation runs in a thread of its own and waits there for the
person's moves; the person sees the conversation as that side sees it. What is done out of turn is
refused and not recorded.

A person takes part in the same loop as every model: one message at a time, a text or a tool call,
recorded and scored like any other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import TIMEOUT_MAX, Condition
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
from maseval.core.exceptions import AgentError, ConfigurationError, MASEvalError, UserError
from maseval.core.task import Task

_GOODBYE = "Goodbye."
_ENDINGS = {"stop": STOP, "transfer": TRANSFER}
# So that a run which was stopped is noticed.
_TICK = 0.5


class GaveUpAgentError(AgentError):
    """The person who played the agent gave up."""


class GaveUpUserError(UserError):
    """The person who played the customer gave up."""


@dataclass(frozen=True)
class Briefing:
    """The policy of an agent or the instructions of a customer, read before the start."""

    side: Requestor
    domain: str
    task_id: str
    text: str
    tools: Sequence[dict[str, Any]] = ()
    """Function schemas, as models are sent them."""


class Move(NamedTuple):
    """The person's next message."""

    message: SpokenMessage
    ends: bool = False


@dataclass(frozen=True)
class SeatView:
    """The view of the person; ``version`` grows with every change."""

    version: int = 0
    briefing: Briefing | None = None
    messages: Sequence[Tau2Message] = ()
    your_turn: bool = False
    over: str | None = None


@dataclass
class Seat:
    """The place of one person."""

    view: SeatView = SeatView()
    _changed: Condition = field(default_factory=Condition)
    _move: Move | None = None
    _left: MASEvalError | None = None
    _seen: Callable[[], Sequence[Tau2Message]] = lambda: ()

    # The simulation's side.

    def take(self, briefing: Briefing, seen: Callable[[], Sequence[Tau2Message]]) -> None:
        """Begin a simulation, or begin again; ``seen`` is what the side has seen of it."""
        with self._changed:
            self._move, self._seen = None, seen
            self._show(briefing=briefing, messages=(), your_turn=False)

    def next_move(self) -> Move:
        """Show the conversation, and wait for what the person does."""
        clock = Clock.here()
        with self._changed:
            messages = tuple(self._seen())
            self._show(messages=messages, your_turn=True)
            while self._move is None:
                if self._left is not None:
                    raise self._left
                self._changed.wait(_patience(clock))
                if clock is not None:
                    clock.check_timeout()
            move, self._move = self._move, None
            self._show(messages=(*messages, move.message), your_turn=False)
            return move

    def end(self, how: str) -> None:
        """Show that the simulation is over."""
        with self._changed:
            self._show(messages=tuple(self._seen()), your_turn=False, over=how)

    def _show(self, **changes: Any) -> None:
        self.view = SeatView(**{**vars(self.view), **changes, "version": self.view.version + 1})
        self._changed.notify_all()

    # The person's side.

    def wait(self, seen: int, seconds: float) -> SeatView:
        """Wait for a view newer than ``seen``, at most so many seconds; return the view."""
        with self._changed:
            self._changed.wait_for(lambda: self.view.version > seen, seconds)
            return self.view

    def say(self, text: str) -> None:
        """Say something to the other side."""
        if not text.strip():
            raise ConfigurationError("nothing was said; write some words")
        self._play(lambda briefing: Move(_message(briefing.side, text)))

    def call_tool(self, name: str, arguments: dict[str, Any]) -> None:
        """Call one of the side's tools."""

        def move(briefing: Briefing) -> Move:
            known = [tool["function"]["name"] for tool in briefing.tools]
            if name not in known:
                raise ConfigurationError(
                    f"there is no tool {name!r}; choose one of {', '.join(known)}"
                )
            made = make_call(
                f"human_call_{len(self.view.messages)}", name, arguments, briefing.side
            )
            return Move(_message(briefing.side, None, [made]))

        self._play(move)

    def finish(self, words: str = "", way: str = "stop") -> None:
        """End the conversation, which is then judged; a customer may say that it is transferred."""
        if way not in _ENDINGS:
            raise ConfigurationError(f"way is {way!r}; choose one of: {', '.join(_ENDINGS)}")

        def move(briefing: Briefing) -> Move:
            text = words.strip() or _GOODBYE
            if briefing.side == "assistant":
                return Move(_message(briefing.side, text), ends=True)
            return Move(_message(briefing.side, f"{text} {_ENDINGS[way]}"), ends=True)

        self._play(move)

    def give_up(self) -> None:
        """Leave before the end: as the agent, the task is failed; as the customer, not judged."""
        side = self.view.briefing.side if self.view.briefing else "assistant"
        error = GaveUpAgentError if side == "assistant" else GaveUpUserError
        self.leave(error("the person gave up"))

    def leave(self, why: MASEvalError) -> None:
        """Leave for good; the simulation fails with this error."""
        with self._changed:
            self._left = self._left or why
            self._changed.notify_all()

    def _play(self, move: Callable[[Briefing], Move]) -> None:
        with self._changed:
            view = self.view
            if view.over is not None:
                raise ConfigurationError(f"the conversation is over: {view.over}")
            if not view.your_turn or self._move is not None or view.briefing is None:
                raise ConfigurationError("it is the other side's turn; wait for its answer")
            self._move = move(view.briefing)
            self._changed.notify_all()


def _message(
    side: Requestor, text: str | None, calls: list[Tau2ToolCall] | None = None
) -> SpokenMessage:
    make = assistant_message if side == "assistant" else user_message
    return make(text, tool_calls=calls, cost=0.0)


def _patience(clock: Clock | None) -> float:
    remaining = None if clock is None else clock.remaining
    return _TICK if remaining is None else min(remaining, _TICK, TIMEOUT_MAX)


Definitions = Sequence[dict[str, Any]]


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
    seat: Seat, task: Task, environment: Tau2Environment, tools: Definitions
) -> HumanAgentAdapter:
    """Make the person at the seat the agent of a task, who reads the policy."""
    _brief(seat, "assistant", task, environment, environment.policy, tools)
    return HumanAgentAdapter(HumanAgent(seat, environment.tools))


def seat_user(
    seat: Seat,
    task: Task,
    environment: Tau2Environment,
    tools: Mapping[str, Callable[..., object]],
    definitions: Definitions,
) -> HumanUser:
    """Make the person at the seat the customer of a task, who reads its instructions."""
    told = scenario_text(task.user_data.get("persona"), task.user_data.get("instructions"))
    _brief(seat, "user", task, environment, told, definitions)
    return HumanUser(seat, task.query, tools)


def _brief(
    seat: Seat,
    side: Requestor,
    task: Task,
    environment: Tau2Environment,
    text: str,
    tools: Definitions,
) -> None:
    briefing = Briefing(side, environment.domain, str(task.id), text, list(tools))
    seat.take(briefing, lambda: messages_seen_by(environment.trajectory.messages, side))
