"""Questions that an agent asks the user in the midst of its own turn, as by an ask-user tool.

They are part of the conversation: recorded in order, counted as steps and scored.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from maseval.benchmark.tau2.conversation.orchestrator import EmptyUserTurnError, is_empty
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import (
    SpokenMessage,
    Tau2Message,
    assistant_message,
    is_user_stop,
    tool_calls_of,
    user_message,
)
from maseval.benchmark.tau2.user import MessageUser
from maseval.core.event_loop import settle
from maseval.core.user import User


class Asides:
    """Records the questions of an agent, and the user's answers, in a simulation's trajectory."""

    def __init__(self, environment: Tau2Environment) -> None:
        self._environment = environment

    def question(self, text: str, reply: Callable[[Sequence[Tau2Message]], SpokenMessage]) -> str:
        """The user's answer; the agent reads an error once the simulation is over."""
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
def overheard(user: User, environment: Tau2Environment) -> Iterator[Callable[[str], str]]:
    """Record what is asked of a user through ``respond``; yields the user's own ``respond``."""
    asides, own = Asides(environment), user.respond
    if isinstance(user, MessageUser):
        user.listener = asides
    else:
        # Its tool, whatever the framework, calls ``respond`` of this very object.
        user.respond = lambda message: asides.question(  # type: ignore[method-assign]
            message, lambda heard: user_message(settle(own(message)), cost=0.0)
        )
    try:
        yield own
    finally:
        if isinstance(user, MessageUser):
            user.listener = None
        else:
            del user.respond
