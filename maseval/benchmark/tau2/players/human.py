"""A person as the agent or the customer of a simulation.

A person takes part in the same loop as every model: one message at a time, a text or a tool call,
recorded and scored like any other.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from maseval.benchmark.tau2.agent import MessageAgent, MessageAgentAdapter
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.chat import filtered
from maseval.benchmark.tau2.formats.message import Requestor, SpokenMessage, Tau2Message
from maseval.benchmark.tau2.players.seat import Briefing, Seat
from maseval.benchmark.tau2.texts.prompts import scenario_text
from maseval.benchmark.tau2.user import MessageUser
from maseval.core.agent import HUMAN
from maseval.core.task import Task

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
        """A person may end the conversation, which is then judged."""
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
    """The person at the seat as the agent of a task, who reads the policy."""
    _brief(seat, "assistant", task, environment, environment.policy, tools)
    return HumanAgentAdapter(HumanAgent(seat, environment.tools))


def seat_user(
    seat: Seat,
    task: Task,
    environment: Tau2Environment,
    tools: Mapping[str, Callable[..., object]],
    definitions: Definitions,
) -> HumanUser:
    """The person at the seat as the customer of a task, who reads the customer's instructions."""
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
    seat.take(briefing, lambda: filtered(environment.trajectory.messages, side))
