"""The scripted user: it needs no model, and does what it is asked to do."""

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import (
    STOP,
    STOP_TOKENS,
    SpokenMessage,
    Tau2Message,
    tool_calls_of,
    user_message,
)
from maseval.benchmark.tau2.players.agent import GOODBYE, make_call, requests_in
from maseval.benchmark.tau2.user import MessageUser
from maseval.core.task import Task

_CONSENT = "Yes, please go ahead."
_PATIENCE = 3
_FAREWELL = f"Thank you, goodbye. {STOP}"


class ScriptedUser(MessageUser):
    """A customer that says why it calls, does what it is asked to do, and leaves.

    It leaves when it hears ``GOODBYE``, when it has nothing more to say and is asked for no action,
    or when it has taken ``max_actions``.
    """

    def __init__(
        self,
        reason: str,
        facts: Sequence[str] = (),
        tools: Mapping[str, Callable[..., Any]] | None = None,
        *,
        max_actions: int = 100,
    ) -> None:
        opening = _harmless(reason) or "Hello, I need your help."
        super().__init__(opening, tools, max_turns=None)
        self.facts = [text for text in map(_harmless, facts) if text]
        self.max_actions = max_actions
        self.begin([])

    def begin(self, history: Sequence[Tau2Message]) -> None:
        super().begin(history)
        told = any(message["role"] == "user" for message in history)
        lines = [*self.facts, *[_CONSENT] * _PATIENCE]
        self._lines = lines if told else [self.initial_query, *lines]
        self._actions = 0

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None:
        """Take over from another user, who has said why it calls."""
        super().recall(incoming, message)
        self._actions += len(tool_calls_of(message) or ())
        if self._lines and self._lines[0] in (message["content"], self.initial_query):
            self._next_line()

    def _next_line(self) -> str:
        return self._lines.pop(0) if self._lines else _FAREWELL

    def get_initial_query(self) -> str:
        """Return why the user calls, which it then has said."""
        return self._next_line()

    def _answer(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        last = messages[-1]
        if last["role"] == "tool":
            return user_message(_report(messages), cost=0.0)
        text = str(last["content"])
        if GOODBYE in text:
            return user_message(_FAREWELL, cost=0.0)
        wanted = [request for request in requests_in(text) if request[0] in self.tool_names]
        if wanted and self._actions < self.max_actions:
            return self._act(wanted)
        return user_message(_FAREWELL if wanted else self._next_line(), cost=0.0)

    def _act(self, wanted: Sequence[tuple[str, dict[str, Any]]]) -> SpokenMessage:
        calls = []
        for name, arguments in wanted:
            self._actions += 1
            calls.append(make_call(f"user_call_{self._actions}", name, arguments, "user"))
        return user_message(None, tool_calls=calls, cost=0.0)

    def gather_config(self) -> dict[str, Any]:
        return {
            **super().gather_config(),
            "reason": self.initial_query,
            "tools": list(self.tool_names),
        }


def _report(messages: Sequence[Tau2Message]) -> str:
    """Return the user's report of what it saw when it did what it was asked to do."""
    seen = takewhile(lambda message: message["role"] == "tool", reversed(messages))
    texts = [_harmless(str(message["content"] or "")) for message in seen]
    return "\n".join(["I have done that. I see:", *reversed(texts)])


def _harmless(text: str) -> str:
    """Return a text without the words that would end a conversation."""
    for token in STOP_TOKENS:
        text = text.replace(token, "")
    return text.strip()


def make_user(task: Task, environment: Tau2Environment) -> ScriptedUser:
    """Return a scripted user with the task's reason for the call, and the domain's user tools."""
    told = task.user_data.get("instructions")
    instructions: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    reason = instructions.get("reason_for_call") or (told if isinstance(told, str) else task.query)
    facts = (instructions.get("known_info"), instructions.get("unknown_info"))
    opening = f"Hello, this is why I am calling: {reason}" if reason else ""
    return ScriptedUser(opening, list(filter(None, facts)), environment.user_tools_on_demand())
