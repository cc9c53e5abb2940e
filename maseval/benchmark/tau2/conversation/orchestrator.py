"""The orchestrator decides who speaks next: the agent, the user, or the environment.

A step hands the last message to whom it concerns and appends the answer. ``Orchestrator`` runs
until a side must act (``next_turn``) and is then given that side's message (``take``). Who asks the
sides is free: ``run`` calls each when it is its turn, a Gymnasium environment waits for its
caller, and async code awaits a model. The orchestrator needs no thread for any of them.

The rules, the order of checks and the texts are the original's; where releases differ, the
environment's release decides.

After tau2-bench v0.2.0, src/tau2/orchestrator/orchestrator.py (MIT, Sierra Research).
"""

import time
from collections.abc import Sequence
from typing import Literal, NamedTuple

from maseval.benchmark.tau2.agent import NobodyListensError
from maseval.benchmark.tau2.conversation.participants import Participant
from maseval.benchmark.tau2.environment import OUT_OF_TURN, Tau2Environment
from maseval.benchmark.tau2.formats.message import (
    INITIAL_GREETING,
    PERTURBED,
    SpokenMessage,
    Tau2Message,
    Tau2ToolCall,
    ToolMessage,
    assistant_message,
    has_text,
    is_tool_call,
    is_user_stop,
    messages_seen_by,
    tool_calls_of,
    without_thought,
)
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.versions import RULES_0_2_0, LoopRules
from maseval.core.exceptions import AgentError, ConfigurationError, UserError

Speaker = Literal["agent", "user", "env"]


class EmptyAgentTurnError(AgentError, ValueError):
    """The agent's model answered with neither text nor tool calls."""


class EmptyUserTurnError(UserError, ValueError):
    """The user's model answered with neither text nor tool calls."""


class UnansweredCallError(AgentError, ValueError):
    """A side stopped with a message that also calls a tool."""


class Turn(NamedTuple):
    """The side that must act, and what it is to answer; see ``Participant.reply``."""

    side: Participant
    incoming: Sequence[Tau2Message]


class Orchestrator:
    """Holds one simulation, step by step, and records it in the environment's trajectory.

    ``validate_communication`` ends it when a side says nothing, or speaks and calls tools at once;
    ``timeout`` is in seconds. v0.2.0 has neither.
    """

    def __init__(
        self,
        environment: Tau2Environment,
        agent: Participant,
        user: Participant | None,
        *,
        max_steps: int = 100,
        max_errors: int = 10,
        validate_communication: bool = False,
        timeout: float | None = None,
    ) -> None:
        self.environment = environment
        self.rules = environment.release.rules.loop
        if validate_communication:
            self._require_ending(TerminationReason.AGENT_ERROR, "validate_communication")
        if timeout is not None:
            self._require_ending(TerminationReason.TIMEOUT, "timeout")
        self.trajectory = environment.trajectory
        self.agent = agent
        self.user = user
        self.max_steps = max_steps
        self.max_errors = max_errors
        self.validate_communication = validate_communication
        self.timeout = timeout
        self.num_errors = 0  # nothing in v0.2.0 ever counts one
        self.done = False
        self.from_role: Speaker | None = None
        self.to_role: Speaker | None = None
        self.incoming: list[Tau2Message] = []
        self._began: float | None = None
        self._opens_alone = False  # the agent's first message is awaited, and nobody has spoken
        self._is_open = False  # neither side has been told of the end
        environment.step_limit = max_steps

    def run(self) -> None:
        """Ask each side when it is its turn, until the simulation is over."""
        try:
            while (turn := self.next_turn()) is not None:
                self.take(turn.side.reply(turn.incoming))
        except Exception:
            if self._is_open and self.rules.goodbye_after_errors:
                self._say_goodbye(to=None)
            raise

    def next_turn(self) -> Turn | None:
        """Make the calls that wait for an answer until a side must act; None after the end.

        Called again before ``take``, it returns the same turn.
        """
        if self._began is None:
            self._began = time.perf_counter()
            self.initialize()
        while self.to_role == "env" and not self.done:
            self._answer_calls()
            self._complete_step()
        if self.done:
            self._close()
            return None
        # A thread that an agent has left behind must not act while the customer speaks.
        self.environment.refuse_agent(OUT_OF_TURN if self.to_role == "user" else None)
        if self._opens_alone:
            return Turn(self.agent, [])
        side = self.agent if self.to_role == "agent" else self.user
        if side is None:
            raise NobodyListensError(
                f"the agent wrote {self.incoming[-1]['content']!r} instead of calling a tool; "
                "without a user it can only call tools, or stop"
            )
        return Turn(side, self.incoming)

    def take(self, message: SpokenMessage) -> None:
        """Append the message of the side whose turn it is."""
        if self.done:
            raise ValueError("Simulation is done")
        self.environment.refuse_agent(OUT_OF_TURN)
        if self._opens_alone:
            self._take_opening(message)
            return
        if self.to_role == "user":
            self._take_from_user(message)
        else:
            self._take_from_agent(message)
        self._complete_step()

    def _complete_step(self) -> None:
        """Check and synchronise; a limit overrides a stop."""
        self._check_communication()
        self.environment.settle()
        if not (self.rules.answers_first and self.to_role == "env"):
            self._check_limits()

    def _close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        if not self.rules.goodbye_after_errors:  # then nobody is told of this error, either
            self._refuse_unanswered_call()
        self._say_goodbye(self.to_role)
        self._refuse_unanswered_call()

    def _require_ending(self, reason: TerminationReason, option: str) -> None:
        if reason not in self.rules.endings:
            version = self.environment.release.version
            raise ConfigurationError(
                f"{option} ends simulations as {reason.value!r}, which tau2-bench {version} does "
                "not know; leave it out, or run tasks of version 1.0.1"
            )

    def _check_limits(self) -> None:
        assert self._began is not None
        elapsed = time.perf_counter() - self._began
        if self.trajectory.steps >= self.max_steps:
            self._end(TerminationReason.MAX_STEPS)
        # Where both limits are reached at once, this one is recorded.
        if self.num_errors >= self.max_errors:
            self._end(TerminationReason.TOO_MANY_ERRORS)
        if not self.done and self.timeout is not None and elapsed >= self.timeout:
            self._end(TerminationReason.TIMEOUT)

    def _say_goodbye(self, to: Speaker | None) -> None:
        if not self.rules.says_goodbye:
            return
        for role, side in (("agent", self.agent), ("user", self.user)):
            if (stop := getattr(side, "stop", None)) is not None:
                stop(self.incoming if to == role else None)

    def _refuse_unanswered_call(self) -> None:
        # A limit may cut a conversation off before a call is answered; whoever stops it may not.
        stops = (TerminationReason.AGENT_STOP, TerminationReason.USER_STOP)
        stopped = self.trajectory.termination_reason in stops
        if self.rules.answers_first and stopped and self.to_role == "env":
            raise UnansweredCallError(
                "Environment should not receive the last message. Last message: "
                f"{self.rules.describe(self.incoming[-1])}"
            )

    def _end(self, reason: TerminationReason) -> None:
        self.done = True
        self.trajectory.end(reason.value)

    def initialize(self) -> None:
        """Begin with the greeting, or where the task's own history ends."""
        history = list(self.trajectory.messages)
        if history:
            check_history(history, self.rules)
            self._resume(history)
        elif self.user is None:
            self.agent.begin([])
            self._opens_alone = True
            return
        else:
            self.trajectory.append(self._greeting())
            greeting = [self.trajectory.messages[-1]]
            self.agent.begin(greeting if self.rules.greeting_is_seen else [])
            self.user.begin([])
            self._deliver("agent", "user", greeting)
        self._complete_beginning()

    def _complete_beginning(self) -> None:
        self._check_communication()
        self.environment.settle()
        self._is_open = True

    def _greeting(self) -> SpokenMessage:
        return assistant_message(INITIAL_GREETING, cost=0.0)

    def _take_opening(self, message: SpokenMessage) -> None:
        if self.rules.speech_alone is None:  # otherwise it ends as any first message without a call
            self._refuse_empty(message, EmptyAgentTurnError)
        self._opens_alone = False
        self.trajectory.append(message)
        stops = self.rules.speech_alone is not None and self.agent.is_stop(message)
        self._deliver("agent", "user" if stops else self._receiver(message), [message])
        self._note_agents_stop(message)
        self._complete_beginning()

    def _note_agents_stop(self, message: SpokenMessage) -> None:
        alone = self.user is None and not is_tool_call(message)
        if self.agent.is_stop(message):
            self._end(TerminationReason.AGENT_STOP)
        elif alone and self.rules.speech_alone is not None:
            self._end(self.rules.speech_alone)

    def _resume(self, history: list[Tau2Message]) -> None:
        last = history[-1]
        receiver = self._receiver(last)
        # Whoever is to answer the last message is given it then, and not as history.
        for_agent = history[:-1] if receiver == "agent" or last["role"] == "user" else history
        for_user = history[:-1] if receiver == "user" or last["role"] == "assistant" else history
        self.agent.begin(messages_seen_by(for_agent, "assistant"))
        if self.user:
            self.user.begin(messages_seen_by(for_user, "user"))
        sender: Speaker = {"assistant": "agent", "user": "user"}.get(last["role"], "env")  # type: ignore[assignment]
        self._deliver(sender, receiver, [last])
        if last["role"] == "assistant" and self.agent.is_stop(last):
            self._end(TerminationReason.AGENT_STOP)
        elif last["role"] == "user" and is_user_stop(last):
            self._end(TerminationReason.USER_STOP)

    def _receiver(self, message: Tau2Message) -> Speaker:
        if message["role"] == "tool":
            return "agent" if message.get("requestor", "assistant") == "assistant" else "user"
        if is_tool_call(message):
            return "env"
        return "user" if message["role"] == "assistant" else "agent"

    def _deliver(self, sender: Speaker, receiver: Speaker, messages: list[Tau2Message]) -> None:
        # What a model thought is for itself, and not for the other side.
        heard = messages if receiver == "env" else [without_thought(each) for each in messages]
        self.from_role, self.to_role, self.incoming = sender, receiver, heard

    def _answer_calls(self) -> None:
        calls = tool_calls_of(self.incoming[-1])
        answers = self._answers(calls or ())
        if not answers:
            # In the original, an empty list of calls goes to the environment, and the answer that
            # is not there is looked up.
            raise IndexError("list index out of range")
        self.trajectory.add_answers(answers)
        if self.rules.counts_errors:
            own = (answer for answer in answers if PERTURBED not in answer)
            self.num_errors += sum(answer.get("error", False) for answer in own)
        caller = self.from_role
        assert caller is not None
        self._deliver("env", caller, self.trajectory.messages[-len(answers) :])

    def _take_from_user(self, message: SpokenMessage) -> None:
        self._refuse_empty(message, EmptyUserTurnError)
        self._append("user", message)
        if getattr(self.user, "has_ended", is_user_stop)(message):
            self._end(TerminationReason.USER_STOP)

    def _take_from_agent(self, message: SpokenMessage) -> None:
        if self.environment.ended_by_user:  # in answer to a question that the agent asked meanwhile
            self._deliver("user", "agent", [self.trajectory.messages[-1]])
            self._end(TerminationReason.USER_STOP)
            return
        self._refuse_empty(message, EmptyAgentTurnError)
        self._append("agent", message)
        self._note_agents_stop(message)

    def _answers(self, calls: Sequence[Tau2ToolCall]) -> list[ToolMessage]:
        return [self.environment.respond(call) for call in calls]

    def _append(self, sender: Speaker, message: SpokenMessage) -> None:
        agent = getattr(self.agent, "name", None) if sender == "agent" else None
        self.trajectory.add(message, agent)
        self._deliver(sender, self._receiver(message), [self.trajectory.messages[-1]])

    def _refuse_empty(self, message: SpokenMessage, error: type[AgentError | UserError]) -> None:
        if is_empty(message):
            raise error(self.rules.describe_empty(message))

    def _check_communication(self) -> None:
        if not self.validate_communication or self.from_role == "env":
            return
        message, solo = self.incoming[-1], self.user is None
        stop = message["role"] == "assistant" and self.agent.is_stop(message)
        if not follows_protocol(message, solo=solo and not stop):
            agent = self.from_role == "agent"
            self._end(TerminationReason.AGENT_ERROR if agent else TerminationReason.USER_ERROR)


def is_empty(message: Tau2Message) -> bool:
    """Return True if a message has neither text nor calls."""
    return not has_text(message) and not is_tool_call(message)


def follows_protocol(message: Tau2Message, *, solo: bool = False) -> bool:
    """Return True if a message is either text or calls; alone, an agent may only call tools."""
    if solo:
        return is_tool_call(message) and not has_text(message)
    return has_text(message) != is_tool_call(message)


def check_history(history: Sequence[Tau2Message], rules: LoopRules = RULES_0_2_0.loop) -> None:
    """Refuse a history that could not have happened, in the original's words."""
    expected, requestor = 0, None
    for message in history:
        match message["role"]:
            case "assistant" | "user" as role:
                if is_empty(message):
                    raise ConfigurationError(rules.describe_empty(message))
                calls = message.get("tool_calls")
                if calls is not None and expected > 0:
                    raise ConfigurationError(
                        f"{expected} tool messages are missing. Got {role} message."
                    )
                requestor = None if calls is None else role
                expected = expected if calls is None else len(calls)
            case "tool":
                if not expected or requestor is None:
                    raise ConfigurationError("No tool messages expected.")
                if requestor != (answered := message.get("requestor", "assistant")):
                    raise ConfigurationError(
                        f"Got tool message from {answered}, expected {requestor}."
                    )
                expected -= 1
            case role:
                kind = f"tau2.data_model.message.{role.capitalize()}Message"
                raise ConfigurationError(f"Invalid message type: <class '{kind}'>")
