"""Whole turns of a side: text against text, with the calls on the way made and recorded.

The orchestrator asks the reference agent and user for one message at a time. A subclass may
override a method that answers a text instead: ``respond`` of a user, ``run`` of an agent, or
``run_agents`` of the benchmark. Such a side gives whole turns by that method, in the order of
MASEval's loop. The calls that it makes are recorded and answered as always; limits are checked
after the turn. An agent may also ask the user in the midst of its own turn.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from maseval.benchmark.tau2.agent import MessageAgentAdapter
from maseval.benchmark.tau2.conversation.orchestrator import (
    EmptyAgentTurnError,
    EmptyUserTurnError,
    is_empty,
)
from maseval.benchmark.tau2.conversation.participants import Participant, TextUser, takes_part
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import (
    Reply,
    SpokenMessage,
    Tau2Message,
    assistant_message,
    is_user_stop,
    tool_calls_of,
    user_message,
)
from maseval.benchmark.tau2.overrides import overrides
from maseval.benchmark.tau2.user import MessageUser
from maseval.core.clock import acting_agent
from maseval.core.event_loop import settle
from maseval.core.user import User


def answer_through(
    environment: Tau2Environment,
    incoming: Sequence[Tau2Message],
    reply: Reply,
    agent: str | None = None,
) -> SpokenMessage:
    """Return what a side says in the end; record its calls on the way, and answer them."""
    trajectory = environment.trajectory
    while True:
        answer = reply(incoming)
        if is_empty(answer):
            error = EmptyUserTurnError if answer["role"] == "user" else EmptyAgentTurnError
            raise error(environment.release.rules.loop.describe_empty(answer))
        calls = tool_calls_of(answer)
        if calls is None:
            return answer
        trajectory.add(answer, agent)
        trajectory.add_answers([environment.respond(call) for call in calls])
        # The loop checks its limits after a turn only, and within one a side may call tools for
        # ever.
        if environment.is_over:
            return {**answer, "content": environment.is_over, "tool_calls": None}
        incoming = trajectory.messages[-len(calls) :]


def ask_user(environment: Tau2Environment, text: str, reply: Reply) -> str:
    """Return the user's answer to what an agent asks in the midst of its own turn, or an error.

    An agent may ask through a tool. Questions and answers are part of the conversation: recorded
    in order, counted as steps and scored.
    """
    trajectory = environment.trajectory
    # Frameworks may run tools in several threads.
    with environment.lock:
        if why := environment.objection_to("assistant"):
            return why
        trajectory.add(assistant_message(text, cost=0.0), acting_agent())
        answer = answer_through(environment, trajectory.messages[-1:], reply)
        trajectory.add(answer)
        environment.ended_by_user = is_user_stop(answer)
        return answer["content"] or ""


class UserTurns:
    """A user whose class overrides ``respond``, or how the conversation begins.

    The greeting goes to ``respond``. If ``get_initial_query`` is overridden, it opens the
    conversation, and ``inject_greeting`` is called afterwards; an ``inject_greeting`` that is
    overridden alone says what is answered first.
    """

    def __init__(self, user: MessageUser, environment: Tau2Environment) -> None:
        self._user = user
        self._respond = user.respond if overrides(type(user), "respond") else None
        self._environment = environment
        self._has_begun = False
        self._said: SpokenMessage = user_message(None)

    def begin(self, history: Sequence[Tau2Message]) -> None:
        self._user.begin(history)
        self._has_begun = bool(history)

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None:
        self._user.recall(incoming, message)
        self._has_begun = True

    def is_stop(self, message: SpokenMessage) -> bool:
        return self._user.is_stop(message)

    def has_ended(self, message: SpokenMessage) -> bool:
        return self._user.has_ended(message)

    def reply(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        user, kind = self._user, type(self._user)
        if not self._has_begun:
            self._has_begun = True
            if overrides(kind, "get_initial_query"):
                return self._open(incoming)
            if overrides(kind, "inject_greeting"):
                user.inject_greeting(str(incoming[-1]["content"]))
                incoming, user.messages = user.messages, []
        if self._respond is None or not incoming or incoming[-1]["role"] == "tool":
            return user.reply(incoming)
        self._said = user_message(None, cost=0.0)
        text = settle(self._respond(str(incoming[-1]["content"])))
        message: SpokenMessage = {**self._said, "content": text}
        user.stopped = user.stopped or is_user_stop(message)
        return message

    def _open(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        query = user_message(settle(self._user.get_initial_query()), cost=0.0)
        self._user.inject_greeting(str(incoming[-1]["content"]))
        self._user.recall([], query)
        return query

    def listen(self, text: str, reply: Reply) -> str:
        """Answer for the user itself, as far as its own class leaves that to it."""
        self._said = answer_through(self._environment, [assistant_message(text)], reply)
        return self._said["content"] or ""


class AgentTurns:
    """An agent that ``run`` asks with a text, as one of its own hooks or ``run`` is overridden."""

    def __init__(
        self,
        adapter: MessageAgentAdapter,
        run: Callable[[str], object],
        environment: Tau2Environment,
    ) -> None:
        self.name = adapter.name
        self._adapter = adapter
        self._run = run
        self._environment = environment
        self._said: SpokenMessage = assistant_message(None)
        adapter.agent.listener = self.listen

    def begin(self, history: Sequence[Tau2Message]) -> None:
        self._adapter.begin(history)

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None:
        self._adapter.recall(incoming, message)

    def is_stop(self, message: SpokenMessage) -> bool:
        return self._adapter.is_stop(message)

    def reply(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        if incoming[-1]["role"] == "tool":  # a task's own history ends with it
            return self._adapter.reply(incoming)
        self._said = assistant_message(None, cost=0.0)
        answer = settle(self._run(str(incoming[-1]["content"])))
        # What its method returns is what the agent said; cost and usage are those of its last
        # reply.
        return {**self._said, "content": None if answer is None else str(answer)}

    def listen(self, text: str, reply: Reply) -> str:
        """Answer for the agent itself, as far as its own class leaves that to it."""
        self._said = answer_through(self._environment, [user_message(text)], reply, self.name)
        return self._said["content"] or ""


def has_text_hooks(adapter: MessageAgentAdapter) -> bool:
    """Return True if an agent is to be asked by texts: a class overrides how it answers them."""
    mine, agent = type(adapter), type(adapter.agent)
    return overrides(mine, "run") or overrides(mine, "_run_agent") or overrides(agent, "run")


def _answer(respond: Callable[[str], object], heard: Sequence[Tau2Message]) -> SpokenMessage:
    return user_message(settle(respond(str(heard[-1]["content"]))), cost=0.0)


_USER_HOOKS = ("respond", "get_initial_query", "inject_greeting")


@contextmanager
def user_side(user: User | None, environment: Tau2Environment) -> Iterator[Participant | None]:
    """Yield a user as the orchestrator asks it; what agents ask it meanwhile is recorded."""
    if user is None:
        yield None
        return
    ask, own = partial(ask_user, environment), user.respond
    side: Participant
    answer: Reply | None = None
    if not isinstance(user, MessageUser):
        side = user if takes_part(user) else TextUser(user, own)
        answer = partial(_answer, own)
    elif any(overrides(type(user), name) for name in _USER_HOOKS):
        side = turns = UserTurns(user, environment)
        if overrides(type(user), "respond"):
            answer, user.listener = turns.reply, turns.listen
    else:
        side = user
    if isinstance(user, MessageUser) and answer is None:
        user.listener = ask
    if answer is not None:
        # Its tool, whatever the framework, calls ``respond`` of this very object.
        user.respond = lambda message: ask(message, answer)  # type: ignore[method-assign]
    try:
        yield side
    finally:
        # It was set on the object alone, so that this brings back the method of its class.
        vars(user).pop("respond", None)
        if isinstance(user, MessageUser):
            user.listener = None
