"""The orchestrator decides who speaks next: the agent, the user, or the environment.

A step hands the last message to whom it concerns and appends the answer. The rules, the order of
checks and the texts are those of tau2-bench, src/tau2/orchestrator/orchestrator.py (MIT, Sierra
Research); where releases differ, the environment's release decides.

The reference agent and user speak one message at a time. All others exchange texts; an agent of
a framework calls the environment's tools while it works, and they record what it did.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, Protocol, TypeGuard, runtime_checkable

from maseval.benchmark.tau2.agent import NobodyListensError
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import (
    INITIAL_GREETING,
    STOP,
    SpokenMessage,
    Tau2Message,
    Tau2ToolCall,
    ToolMessage,
    assistant_message,
    has_text,
    is_tool_call,
    is_user_stop,
    messages_seen_by,
    to_chat,
    tool_calls_of,
    user_message,
    without_thought,
)
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.user import MessageUser
from maseval.benchmark.tau2.versions import RULES_0_2_0, LoopRules
from maseval.core.event_loop import settle
from maseval.core.exceptions import AgentError, ConfigurationError, UserError
from maseval.core.messages import MessageHistory
from maseval.core.user import User


class Participant(Protocol):
    """A side that answers, one message at a time."""

    def begin(self, history: Sequence[Tau2Message]) -> None:
        """Start anew, with what this side has seen of the task's own history."""

    def reply(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        """Answer a message, or all results of the calls made before; nothing at a solo start."""

    def is_stop(self, message: SpokenMessage) -> bool:
        """Return True if this side's own message ends the conversation."""


def takes_part(side: object) -> TypeGuard[Participant]:
    """Return True if a side is a ``Participant``; to ask a protocol takes far longer."""
    return all(getattr(side, name, None) is not None for name in ("begin", "reply", "is_stop"))


@runtime_checkable
class CanRecall(Protocol):
    """A side that can take over a conversation that somebody else began."""

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None:
        """Take ``message`` for its own answer to ``incoming``."""


@runtime_checkable
class ConversationListener(Protocol):
    """A side that wants to know when the simulation is over."""

    def stop(self, last: Sequence[Tau2Message] | None) -> None:
        """Take note of the end; ``last`` is what this side was to answer, if it was its turn."""


class TextAgent:
    """An agent that answers a text with a text.

    ``load`` gives it an earlier conversation, in OpenAI's form.
    """

    def __init__(
        self, run: Callable[[str], object], load: Callable[[MessageHistory], None] | None = None
    ) -> None:
        self._run = run
        self._load = load
        self._past = ""
        self._history: list[Tau2Message] = []
        self._recalled: list[Tau2Message] = []

    def begin(self, history: Sequence[Tau2Message]) -> None:
        """Start anew; a task's own history is sent with the first query."""
        self._history, self._recalled = list(history), []
        lines = [f"{message['role']}: {message['content']}" for message in history]
        self._past = "\n".join(["The conversation so far:", *lines, "", ""]) if lines else ""

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None:
        """Take over a conversation, which is given to the agent before its first answer."""
        self._recalled += [*incoming, message]

    def reply(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        if self._recalled and self._load:
            self._load(MessageHistory(to_chat([*self._history, *self._recalled])))
            self._recalled, self._past = [], ""
        query, self._past = self._past + str(incoming[-1]["content"]), ""
        answer = settle(self._run(query))
        return assistant_message(None if answer is None else str(answer), cost=0.0)

    def is_stop(self, message: SpokenMessage) -> bool:
        """Return False: only users end such a conversation."""
        return False


class TextUser:
    """A user that answers a text with a text."""

    def __init__(self, user: User, respond: Callable[[str], object] | None = None) -> None:
        self._user = user
        self._respond = respond or user.respond
        self._begun = False

    def begin(self, history: Sequence[Tau2Message]) -> None:
        self._begun = bool(history)

    def reply(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        """Return the user's answer; the first one is the query it came with."""
        if not self._begun:  # a user with a single turn is done now, and wants to be answered
            self._begun = True
            return user_message(settle(self._user.get_initial_query()), cost=0.0)
        if self._user.is_done():
            return user_message(STOP, cost=0.0)
        text = settle(self._respond(str(incoming[-1]["content"])))
        message = user_message(text, cost=0.0)
        if self._user.is_done() and not is_user_stop(message):
            message["content"] = f"{text} {STOP}".strip()
        return message

    def is_stop(self, message: SpokenMessage) -> bool:
        return is_user_stop(message)


Speaker = Literal["agent", "user", "env"]


class EmptyAgentTurnError(AgentError, ValueError):
    """The agent's model answered with neither text nor tool calls."""


class EmptyUserTurnError(UserError, ValueError):
    """The user's model answered with neither text nor tool calls."""


class UnansweredCallError(AgentError, ValueError):
    """A side stopped with a message that also calls a tool."""


class Orchestrator:
    """Runs one simulation to its end and records it in the environment's trajectory.

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
        self._incoming: list[Tau2Message] = []
        environment.step_limit = max_steps

    def run(self) -> None:
        """Take steps until a side stops or a limit is reached; a limit overrides a stop."""
        began = time.perf_counter()
        self.initialize()
        try:
            while not self.done:
                self.step()
                if not (self.rules.answers_first and self.to_role == "env"):
                    self._check_limits(time.perf_counter() - began)
        except Exception:
            if self.rules.goodbye_after_errors:
                self._say_goodbye(to=None)
            raise
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

    def _check_limits(self, elapsed: float) -> None:
        if self.trajectory.steps >= self.max_steps:
            self._end(TerminationReason.MAX_STEPS)
        if self.num_errors >= self.max_errors:
            self._end(TerminationReason.TOO_MANY_ERRORS)
        if not self.done and self.timeout is not None and elapsed >= self.timeout:
            self._end(TerminationReason.TIMEOUT)

    def _say_goodbye(self, to: Speaker | None) -> None:
        if not self.rules.says_goodbye:
            return
        for role, side in (("agent", self.agent), ("user", self.user)):
            if isinstance(side, ConversationListener):
                side.stop(self._incoming if to == role else None)

    def _refuse_unanswered_call(self) -> None:
        stops = (TerminationReason.AGENT_STOP, TerminationReason.USER_STOP)
        stopped = self.trajectory.termination_reason in stops
        if self.rules.answers_first and stopped and self.to_role == "env":
            raise UnansweredCallError(
                "Environment should not receive the last message. Last message: "
                f"{self.rules.describe(self._incoming[-1])}"
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
            self._begin_solo()
        else:
            self.trajectory.open_with(self._greeting())
            greeting = [self.trajectory.messages[-1]]
            self.agent.begin(greeting if self.rules.greeting_is_seen else [])
            self.user.begin([])
            self._deliver("agent", "user", greeting)
        self._check_communication()
        self.environment.settle()

    def _greeting(self) -> SpokenMessage:
        return assistant_message(INITIAL_GREETING, cost=0.0)

    def _begin_solo(self) -> None:
        self.agent.begin([])
        message = self._ask(self.agent, [])
        self._refuse_empty(message, EmptyAgentTurnError)
        self.trajectory.open_with(message)
        stops = self.rules.speech_alone is not None and self.agent.is_stop(message)
        self._deliver("agent", "user" if stops else self._receiver(message), [message])
        self._note_agents_stop(message)

    def _note_agents_stop(self, message: SpokenMessage) -> None:
        alone = self.user is None and not is_tool_call(message)
        if self.agent.is_stop(message):
            self._end(TerminationReason.AGENT_STOP)
        elif alone and self.rules.speech_alone is not None:
            self._end(self.rules.speech_alone)

    def _resume(self, history: list[Tau2Message]) -> None:
        last = history[-1]
        receiver = self._receiver(last)
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
        heard = messages if receiver == "env" else [without_thought(each) for each in messages]
        self.from_role, self.to_role, self._incoming = sender, receiver, heard

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
        self._check_communication()
        self.environment.settle()

    def _answer_calls(self) -> None:
        calls = tool_calls_of(self._incoming[-1])
        answers = self._answers(calls or ())
        if not answers:
            raise IndexError("list index out of range")
        self.trajectory.add_answers(answers)
        if self.rules.counts_errors:
            self.num_errors += sum(answer.get("error", False) for answer in answers)
        caller = self.from_role
        assert caller is not None
        self._deliver("env", caller, self.trajectory.messages[-len(answers) :])

    def _let_user_speak(self) -> None:
        if self.user is None:
            raise NobodyListensError(
                f"the agent wrote {self._incoming[-1]['content']!r} instead of calling a tool; "
                "without a user it can only call tools, or stop"
            )
        message = self._ask(self.user, self._incoming)
        self._refuse_empty(message, EmptyUserTurnError)
        self._append("user", message)
        if is_user_stop(message):
            self._end(TerminationReason.USER_STOP)

    def _let_agent_speak(self) -> None:
        message = self._ask(self.agent, self._incoming)
        if self.environment.ended_by_user:  # in answer to a question that the agent asked meanwhile
            self._deliver("user", "agent", [self.trajectory.messages[-1]])
            self._end(TerminationReason.USER_STOP)
            return
        self._refuse_empty(message, EmptyAgentTurnError)
        self._append("agent", message)
        self._note_agents_stop(message)

    def _ask(self, side: Participant, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        return side.reply(incoming)

    def _answers(self, calls: Sequence[Tau2ToolCall]) -> list[ToolMessage]:
        return [self.environment.respond(call) for call in calls]

    def _append(self, sender: Speaker, message: SpokenMessage) -> None:
        self.trajectory.add(message)
        self._deliver(sender, self._receiver(message), [self.trajectory.messages[-1]])

    def _refuse_empty(self, message: SpokenMessage, error: type[AgentError | UserError]) -> None:
        if is_empty(message):
            raise error(self.rules.describe_empty(message))

    def _check_communication(self) -> None:
        if not self.validate_communication or self.from_role == "env":
            return
        message, solo = self._incoming[-1], self.user is None
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
                _check_answer(message, requestor if expected else None)
                expected -= 1
            case role:
                kind = f"tau2.data_model.message.{role.capitalize()}Message"
                raise ConfigurationError(f"Invalid message type: <class '{kind}'>")


def _check_answer(message: Tau2Message, requestor: str | None) -> None:
    if requestor is None:
        raise ConfigurationError("No tool messages expected.")
    answered = message.get("requestor", "assistant")
    if requestor != answered:
        raise ConfigurationError(f"Got tool message from {answered}, expected {requestor}.")


class TrajectoryQuestionRecorder:
    """Records the questions that an agent asks the user in the midst of its own turn.

    An agent may ask through a tool. Questions and answers are part of the conversation: recorded
    in order, counted as steps and scored.
    """

    def __init__(self, environment: Tau2Environment) -> None:
        self._environment = environment

    def ask(self, text: str, reply: Callable[[Sequence[Tau2Message]], SpokenMessage]) -> str:
        """Return the user's answer, or an error text once the simulation is over."""
        environment, trajectory = self._environment, self._environment.trajectory
        with environment.one_at_a_time():
            if environment.is_over:
                return environment.is_over
            trajectory.add(assistant_message(text, cost=0.0))
            incoming: Sequence[Tau2Message] = trajectory.messages[-1:]
            while True:
                answer = reply(incoming)
                if is_empty(answer):
                    raise EmptyUserTurnError(environment.release.rules.loop.describe_empty(answer))
                trajectory.add(answer)
                calls = tool_calls_of(answer)
                if calls is None:
                    environment.ended_by_user = is_user_stop(answer)
                    return answer["content"] or ""
                trajectory.add_answers([environment.respond(call) for call in calls])
                incoming = trajectory.messages[-len(calls) :]


@contextmanager
def record_questions(user: User, environment: Tau2Environment) -> Iterator[Callable[[str], str]]:
    """Record what is asked of a user through ``respond``; yield the user's own ``respond``."""
    recorder, own = TrajectoryQuestionRecorder(environment), user.respond
    if isinstance(user, MessageUser):
        user.listener = recorder
    else:
        # Its tool, whatever the framework, calls ``respond`` of this very object.
        user.respond = lambda message: recorder.ask(  # type: ignore[method-assign]
            message, lambda heard: user_message(settle(own(message)), cost=0.0)
        )
    try:
        yield own
    finally:
        if isinstance(user, MessageUser):
            user.listener = None
        else:
            del user.respond
