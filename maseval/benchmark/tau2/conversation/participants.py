"""The sides of a conversation: what the orchestrator asks of them, and sides made of any agent.

The reference agent and user speak one message at a time. All others exchange texts; an agent of
a framework calls the environment's tools while it works, and they record what it did.

After tau2-bench v0.2.0, src/tau2/orchestrator/orchestrator.py (MIT, Sierra Research).
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeGuard, runtime_checkable

from maseval.benchmark.tau2.formats.message import (
    STOP,
    SpokenMessage,
    Tau2Message,
    assistant_message,
    is_user_stop,
    to_chat,
    user_message,
)
from maseval.core.event_loop import settle
from maseval.core.exceptions import AgentError
from maseval.core.messages import MessageHistory
from maseval.core.model import MAX_ANSWER_MB
from maseval.core.user import User


class Participant(Protocol):
    """A side that answers, one message at a time.

    If it has ``stop(last)``, it is told when the simulation is over; ``last`` is what it was to
    answer, if it was its turn, and else None. If a user has ``has_ended(message)``, that decides
    after each of its messages, in the place of the stop words.
    """

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


class AnswerTooLongError(AgentError):
    """An agent's answer is longer than anything a model may answer."""


class TextAgent:
    """An agent that answers a text with a text.

    ``load`` gives it an earlier conversation, in OpenAI's form; ``name`` is that of the agent.
    """

    def __init__(
        self,
        run: Callable[[str], object],
        load: Callable[[MessageHistory], None] | None = None,
        name: str | None = None,
    ) -> None:
        self.name = name
        self._run = run
        self._load = load
        self._past = ""
        self._history: list[Tau2Message] = []
        self._recalled: list[Tau2Message] = []

    def begin(self, history: Sequence[Tau2Message]) -> None:
        """Start anew; a task's own history is sent with the first query."""
        self._history, self._recalled = list(history), []
        # It takes texts alone, so that what was said before it came is told in one.
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
        text = None if answer is None else str(answer)
        # A runaway answer would fill the memory of everybody who reads the record.
        if text is not None and len(text) > MAX_ANSWER_MB * 10**6:
            raise AnswerTooLongError(
                f"the agent answered with {len(text):,} characters; a customer reads at most "
                f"{MAX_ANSWER_MB} million",
                component=self.name,
            )
        return assistant_message(text, cost=0.0)

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
            # Its last words are said, and end the conversation at once.
            message["content"] = f"{text} {STOP}".strip()
        return message

    def is_stop(self, message: SpokenMessage) -> bool:
        return is_user_stop(message)
