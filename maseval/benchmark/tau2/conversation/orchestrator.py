"""Who speaks next: the agent, the user, or the environment.

A step hands the last message to whom it concerns and appends the answer. The rules, the order of
checks and the texts are those of tau2-bench v0.2.0, src/tau2/orchestrator/orchestrator.py (MIT,
Sierra Research).
"""

from collections.abc import Sequence
from typing import Literal

from maseval.benchmark.tau2.conversation.chat import filtered
from maseval.benchmark.tau2.conversation.messages import (
    INITIAL_GREETING,
    assistant_message,
    has_text,
    is_tool_call,
    is_user_stop,
    message_text,
    tool_calls_of,
)
from maseval.benchmark.tau2.conversation.participants import Participant
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.forms.message import SpokenMessage, Tau2Message
from maseval.benchmark.tau2.forms.simulation import TerminationReason
from maseval.core.exceptions import AgentError, MASEvalError, UserError

Role = Literal["agent", "user", "env"]


class EmptyAgentTurnError(AgentError, ValueError):
    """The agent's model answered with neither text nor tool calls."""


class EmptyUserTurnError(UserError, ValueError):
    """The user's model answered with neither text nor tool calls."""


class NobodyListensError(AgentError, ValueError):
    """The agent answered with text in solo mode, where there is no user."""


class HistoryError(MASEvalError, ValueError):
    """A task's own message history is not a conversation."""


class Orchestrator:
    """Runs one simulation to its end and records it in the environment's trajectory."""

    def __init__(
        self,
        environment: Tau2Environment,
        agent: Participant,
        user: Participant | None,
        *,
        max_steps: int = 100,
        max_errors: int = 10,
    ) -> None:
        self.environment = environment
        self.trajectory = environment.trajectory
        self.agent = agent
        self.user = user
        self.max_steps = max_steps
        self.max_errors = max_errors
        # Kept for the original's termination rule; nothing in v0.2.0 ever counts an error.
        self.num_errors = 0
        self.done = False
        self.from_role: Role | None = None
        self.to_role: Role | None = None
        self._incoming: list[Tau2Message] = []
        environment.step_limit = max_steps

    def run(self) -> None:
        """Take steps until a side stops or the limit is reached; the limit overrides a stop."""
        self.initialize()
        while not self.done:
            self.step()
            if self.trajectory.steps >= self.max_steps:
                self._end(TerminationReason.MAX_STEPS)
            if self.num_errors >= self.max_errors:
                self._end(TerminationReason.TOO_MANY_ERRORS)

    def _end(self, reason: TerminationReason) -> None:
        self.done = True
        self.trajectory.end(reason.value)

    def initialize(self) -> None:
        """Begin with the greeting, or where the task's own history ends."""
        history = list(self.trajectory.messages)
        if history:
            check_history(history)
            self._resume(history)
        elif self.user is None:
            self._begin_solo()
        else:
            self.agent.begin([])
            self.user.begin([])
            greeting = assistant_message(INITIAL_GREETING, cost=0.0)
            self.trajectory.open_with(greeting)
            self._deliver("agent", "user", [self.trajectory.messages[-1]])
        self.environment.world.settle()

    def _begin_solo(self) -> None:
        self.agent.begin([])
        message = self._checked(self.agent.reply([]), EmptyAgentTurnError)
        self.trajectory.open_with(message)
        self._deliver("agent", self._receiver(message), [message])
        if self.agent.is_stop(message):
            self._end(TerminationReason.AGENT_STOP)

    def _resume(self, history: list[Tau2Message]) -> None:
        last = history[-1]
        receiver = self._receiver(last)
        for_agent = history[:-1] if receiver == "agent" or last["role"] == "user" else history
        for_user = history[:-1] if receiver == "user" or last["role"] == "assistant" else history
        self.agent.begin(filtered(for_agent, "assistant"))
        if self.user:
            self.user.begin(filtered(for_user, "user"))
        sender: Role = {"assistant": "agent", "user": "user"}.get(last["role"], "env")  # type: ignore[assignment]
        self._deliver(sender, receiver, [last])
        if last["role"] == "assistant" and self.agent.is_stop(last):
            self._end(TerminationReason.AGENT_STOP)
        elif last["role"] == "user" and is_user_stop(last):
            self._end(TerminationReason.USER_STOP)

    def _receiver(self, message: Tau2Message) -> Role:
        if message["role"] == "tool":
            return "agent" if message.get("requestor", "assistant") == "assistant" else "user"
        if is_tool_call(message):
            return "env"
        return "user" if message["role"] == "assistant" else "agent"

    def _deliver(self, sender: Role, receiver: Role, messages: list[Tau2Message]) -> None:
        self.from_role, self.to_role, self._incoming = sender, receiver, messages

    def step(self) -> None:
        """Deliver the waiting messages and append the answer."""
        if self.done:
            raise ValueError("Simulation is done")
        match self.to_role:
            case "env":
                self._answer_calls()
            case "user":
                self._let_user_speak()
            case "agent":
                self._let_agent_speak()
        self.environment.world.settle()

    def _answer_calls(self) -> None:
        calls = tool_calls_of(self._incoming[-1])
        answers = [self.environment.respond(call) for call in calls or ()]
        if not answers:
            raise IndexError("list index out of range")
        self.trajectory.add_answers(answers)
        caller = self.from_role
        assert caller is not None
        self._deliver("env", caller, self.trajectory.messages[-len(answers) :])

    def _let_user_speak(self) -> None:
        if self.user is None:
            raise NobodyListensError(
                f"the agent wrote {self._incoming[-1]['content']!r} instead of calling a tool; "
                "without a user it can only call tools, or stop"
            )
        message = self._checked(self.user.reply(self._incoming), EmptyUserTurnError)
        self._append("user", message)
        if is_user_stop(message):
            self._end(TerminationReason.USER_STOP)

    def _let_agent_speak(self) -> None:
        message = self._checked(self.agent.reply(self._incoming), EmptyAgentTurnError)
        self._append("agent", message)
        if self.agent.is_stop(message):
            self._end(TerminationReason.AGENT_STOP)

    def _append(self, sender: Role, message: SpokenMessage) -> None:
        self.trajectory.add(message)
        self._deliver(sender, self._receiver(message), [self.trajectory.messages[-1]])

    @staticmethod
    def _checked(message: SpokenMessage, error: type[AgentError | UserError]) -> SpokenMessage:
        problem = emptiness(message)
        if problem:
            raise error(problem)
        return message


def emptiness(message: Tau2Message) -> str | None:
    """What v0.2.0 says of a message with neither text nor calls; None for any other."""
    if has_text(message) or is_tool_call(message):
        return None
    return f"AssistantMessage must have either content or tool calls. Got {message_text(message)}"


def check_history(history: Sequence[Tau2Message]) -> None:
    """Refuse a history that could not have happened, in the original's words."""
    expected, requestor = 0, None
    for message in history:
        match message["role"]:
            case "assistant" | "user" as role:
                problem = emptiness(message)
                if problem:
                    raise HistoryError(problem)
                calls = message.get("tool_calls")
                if calls is not None:
                    if expected > 0:
                        raise HistoryError(
                            f"{expected} tool messages are missing. Got {role} message."
                        )
                    expected, requestor = len(calls), role
                else:
                    requestor = None
            case "tool":
                if expected == 0 or requestor is None:
                    raise HistoryError("No tool messages expected.")
                answered = message.get("requestor", "assistant")
                if requestor != answered:
                    raise HistoryError(f"Got tool message from {answered}, expected {requestor}.")
                expected -= 1
            case role:
                kind = f"tau2.data_model.message.{role.capitalize()}Message"
                raise HistoryError(f"Invalid message type: <class '{kind}'>")
