"""Conversation: connects a benchmark that calls its agent to an agent that calls by itself."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from threading import TIMEOUT_MAX, Condition

from maseval.core.clock import Clock
from maseval.core.event_loop import in_thread
from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.messages import MessageHistory, tool_call
from maseval.interface.agents.framework import Tool, Tools, as_text, describe_tools

BEGUN_AGAIN = (
    "[The simulation failed for a technical reason and has begun again. Nothing that was said or "
    "done before counts.]"
)


class AgentOutOfTurnError(MASEvalError):
    """The agent acted out of turn; the action had no effect."""


class AgentLeftError(AgentError):
    """The agent disconnected before the conversation was over."""


class Conversation:
    """The turns of a benchmark and of an agent that calls through MCP.

    What the agent does out of turn is refused with an explanation and not recorded.

    Args:
        begin: Starts the benchmark; called when the agent first reads its customer.
        briefing: Text shown to the agent before the customer's words, such as a policy.
    """

    def __init__(self, begin: Callable[[], None], briefing: str = "") -> None:
        self.history = MessageHistory()
        self.last_active = time.monotonic()
        """The time of the agent's last action."""
        self.client: str | None = None
        """The name and version of the agent's MCP client, if known."""
        self.knows_end = False
        """True once the agent has been told that the conversation is over."""
        self._begin = begin
        self._briefing = briefing
        self._changed = Condition()
        self._tools: dict[str, Tool] = {}
        self.is_begun = False
        """True once the agent has asked for its customer."""
        self._attempts = 0
        self._query: str | None = None
        self._answer: str | None = None
        self._left: MASEvalError | None = None
        self._broken: MASEvalError | None = None
        self._over: str | None = None
        self._listeners: list[Future[str]] = []

    @property
    def has_left(self) -> bool:
        """True once the agent will not answer any more."""
        return self._left is not None

    # The benchmark's side.

    def join(self, tools: Tools) -> None:
        """Start with these tools; called again, start over."""
        with self._changed:
            self._tools = {tool.name: tool for tool in describe_tools(tools)}
            self._attempts += 1
            self._broken = None
            self.history = MessageHistory()

    def ask(self, query: str) -> str:
        """Pass the customer's words to the agent and wait for its answer."""
        clock = Clock.here()
        with self._changed:
            self._check_presence()
            # Every attempt begins with an empty history, so only its first question finds it empty.
            again = self._attempts > 1 and not len(self.history)
            self.history.add_message("user", query)
            self._query = f"{BEGUN_AGAIN}\n\n{query}" if again else query
            self._send(self._query)
            try:
                while self._answer is None:
                    self._check_presence()
                    left = None if clock is None else clock.remaining
                    # Python raises for a longer wait than the system can make.
                    self._changed.wait(None if left is None else min(left, TIMEOUT_MAX))
                    if clock is not None:
                        clock.check_timeout()
                answer = self._answer
            finally:
                self._query = self._answer = None
            self.history.add_message("assistant", answer)
            return answer

    def _check_presence(self) -> None:
        failure = self._left or self._broken
        if failure is not None:
            raise failure

    def end(self, how: str) -> None:
        """End the conversation; the agent is told how it ended."""
        with self._changed:
            self._over = how
            # Whoever waits for the customer is told now; without anybody waiting, the next call
            # tells it.
            self.knows_end = bool(self._listeners)
            self._send(how)

    def _send(self, text: str) -> None:
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            # A client may have stopped waiting, and a cancelled future takes no result.
            if listener.set_running_or_notify_cancel():
                listener.set_result(text)

    # The agent's side.

    def read(self) -> "Future[str]":
        """Return the customer's unanswered message, as soon as there is one."""
        with self._note_activity():
            if not self.is_begun:
                self.is_begun = True
                self._begin()
            return self._next()

    def reply(self, text: object) -> "Future[str]":
        """Say ``text`` to the customer; returns the customer's next message."""
        with self._note_activity():
            self._check_turn()
            if not isinstance(text, str) or not text.strip():
                raise AgentOutOfTurnError(
                    f"text is {text!r}, so nothing was said; write some words"
                )
            self._query, self._answer = None, text
            self._changed.notify_all()
            return self._next()

    def call(self, name: str, arguments: dict[str, object]) -> str:
        with self._note_activity():
            self._check_turn()
            # Nothing can be said while a tool runs, so calls are recorded before the answer.
            result = self._result(name, arguments)
            call = tool_call(name, arguments, id=f"call_{len(self.history)}")
            self.history.add_tool_call([call])
            self.history.add_tool_response(call["id"], result, name=name)
            return result

    def _result(self, name: str, arguments: dict[str, object]) -> str:
        try:
            return as_text(self._tools[name].function(**arguments))
        except MASEvalError as error:
            if not isinstance(error, AgentError):  # the benchmark would wait in vain
                self._broken = error
                self._changed.notify_all()
            raise

    def leave(self, why: MASEvalError) -> None:
        """Note that the agent will not answer any more; whoever calls it gets this error."""
        with self._changed:
            self._left = why
            self._changed.notify_all()

    def _note_activity(self) -> Condition:
        self.last_active = time.monotonic()
        return self._changed

    def _next(self) -> "Future[str]":
        future: Future[str] = Future()
        self.knows_end = self._over is not None
        said = self._over if self.knows_end else self._query
        if said is None:
            self._listeners.append(future)
        else:
            future.set_result(said)
        return future

    def _check_turn(self) -> None:
        if self._over is not None:
            self.knows_end = True
            raise AgentOutOfTurnError(f"{self._over} This was not recorded.")
        if not self.is_begun:
            raise AgentOutOfTurnError(
                "the conversation has not begun, so this was not recorded; call read_customer first"
            )
        if self._query is None or self._answer is not None:
            raise AgentOutOfTurnError(
                "it is the customer's turn, so this was not recorded; read_customer waits for what "
                "the customer says"
            )

    # The same as tools: these docstrings are the descriptions that the agent reads.

    async def read_customer(self) -> str:
        """Read what the customer says, together with the policy that you must follow.

        Call this first: it begins the conversation. Called again, it repeats the customer's latest
        message, or waits for the next one.
        """
        said = await asyncio.wrap_future(await in_thread(self.read))
        return said if said == self._over else f"{self._briefing}{said}"

    async def reply_to_customer(self, text: str) -> str:
        """Say something to the customer, and get what the customer answers.

        This is the only way to talk to the customer. The answer says when the conversation is over.

        Args:
            text: Your words.
        """
        return await asyncio.wrap_future(await in_thread(partial(self.reply, text)))
