"""OutsideAgentAdapter: what agents in programs of their own have in common, whatever they speak.

Such an agent is sent the customer's words and answers with text. Its tools are served by MCP, at an
address that nobody else can guess, and answer during its turns alone. What it did is recorded here,
whether or not the benchmark records it as well. When the simulation is over, ``close`` ends it.
"""

import tempfile
from abc import abstractmethod
from collections.abc import Iterable
from contextlib import ExitStack, nullcontext
from contextvars import Context
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from secrets import token_urlsafe
from threading import Lock
from typing import Any, Self

from maseval.core.agent import AgentAdapter, AgentObserver
from maseval.core.clock import Clock
from maseval.core.event_loop import run_async
from maseval.core.exceptions import AgentError
from maseval.core.messages import MessageHistory, tool_call
from maseval.core.storage import strict_json
from maseval.core.tracing import JsonObject, now
from maseval.core.usage import TokenUsage, Usage
from maseval.core.words import excerpt
from maseval.interface.agents.framework import Tool, Tools, as_text, describe_tools
from maseval.interface.agents.mcp import ServedTools, serve_tools

SERVER = "maseval"
TURN_SECONDS = 300.0
# An agent may think aloud for hours, and its report must stay readable.
_MOST_UPDATES, _LONGEST_UPDATE = 2_000, 20_000
LONGEST_REPLY = 1_000_000

_INSTRUCTIONS = """\
You talk with a customer. The policy below holds for the whole conversation. Each message after it \
is what the customer says; the text at the end of your turn is what the customer reads. {tools}

<policy>
{policy}
</policy>"""


class OutsideAgentAdapter(AgentAdapter):
    """An agent in another program, for one simulation; a subclass knows how to talk to it.

    Args:
        agent_instance: How the agent is reached.
        name: The name in reports.
        callbacks: Notified when a turn starts and ends.
        tools: The tools of this simulation, such as ``environment.tools``.
        policy: Text that the agent must obey; it stands in the first message.
        turn_timeout: The seconds that a turn may take; None for no limit.
        priced: ``cost_calculator`` and ``model_id``, if they are known.
    """

    def __init__(
        self,
        agent_instance: object,
        name: str = "agent",
        callbacks: Iterable[AgentObserver] | None = None,
        *,
        tools: Tools = (),
        policy: str | None = None,
        turn_timeout: float | None = TURN_SECONDS,
        **priced: Any,
    ) -> None:
        super().__init__(agent_instance, name, callbacks, **priced)
        self.messages: MessageHistory = MessageHistory()
        self._recording = Lock()
        self.tools = {tool.name: self._recorded(tool) for tool in describe_tools(tools)}
        self.policy = policy
        self.turn_timeout = turn_timeout
        self.about: JsonObject = {}
        """What the agent says of itself."""
        self.used = TokenUsage()
        self._updates: list[JsonObject] = []
        self._left_out = 0
        self._served: ServedTools | None = None
        self._resources = ExitStack()
        self._is_closed = False
        if (clock := Clock.here()) is not None:
            clock.at_end(self.close)

    @abstractmethod
    def _reach(self) -> None:
        """Get ready for the first turn; ``_resources`` lets go of what that takes."""

    @abstractmethod
    def _ask(self, texts: list[str]) -> str:
        """Send texts, the last of which are the customer's words, and return the reply."""

    def _leave(self) -> None:
        """Break off a turn that is not over, before everything else is let go of."""

    def _run_agent(self, query: str) -> str:
        if self._is_closed:
            raise AgentError("the conversation with this agent is over; make a new adapter")
        is_first = not self.messages
        if is_first:
            try:
                self._reach()
            finally:
                if self._is_closed:  # by a time-out, meanwhile
                    self._resources.close()
        self.messages.add_message("user", query)
        texts = [query]
        if is_first and (self.policy is not None or self.tools):
            told = {"policy": self.policy or "", "tools": self.describe_tools()}
            texts = [_INSTRUCTIONS.format(**told), query]
        # It must not go on acting once it has replied, while the customer reads.
        with self._served.gate.turn() if self._served else nullcontext():
            reply = self._ask(texts)
        if len(reply) > LONGEST_REPLY:
            raise AgentError(f"the agent's reply has {len(reply):,} characters, which is too long")
        self.messages.add_message("assistant", reply)
        return reply

    def describe_tools(self) -> str:
        """Return the words that lead the agent to its tools."""
        return f"Your tools are those of the MCP server {SERVER!r}." if self.tools else ""

    # Its tools.

    def _serve(self) -> str | None:
        """Serve the tools until the end; return their address, None if there are none."""
        if self.tools:
            opened = serve_tools(
                {name: tool.function for name, tool in self.tools.items()},
                instructions=self.policy,
                name=SERVER,
                path=f"/mcp/{token_urlsafe(18)}",
                by_turns=True,
            )
            self._served = self._resources.enter_context(opened)
        return self._served.url if self._served else None

    def _recorded(self, tool: Tool) -> Tool:
        @wraps(tool.function)
        def call(**arguments: object) -> str:
            # Recorded if the call is broken off by anything but an Exception.
            result = "Error"
            try:
                result = as_text(tool.function(**arguments))
            except Exception as error:  # a tool called by a model: the agent reads it, and so do we
                result = f"Error: {error}"
                raise
            finally:
                # Several calls may end at once, and each has to stand beside its own result.
                with self._recording:
                    made = tool_call(tool.name, arguments, id=f"call_{len(self.messages)}")
                    self.messages.add_tool_call([made])
                    self.messages.add_tool_response(made["id"], result, name=tool.name)
            return result

        return replace(tool, function=call)

    # The end.

    def close(self) -> None:
        """Let go of the agent, its session and its tools; nothing happens the second time."""
        if self._is_closed:
            return
        self._is_closed = True
        # Everything else is let go of even if leaving fails.
        with self._resources:
            self._leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _scratch_folder(self) -> str:
        folder = tempfile.TemporaryDirectory(prefix="maseval-agent-", ignore_cleanup_errors=True)
        return str(Path(self._resources.enter_context(folder)).resolve())

    # What is told of it.

    def note(self, kind: str, **facts: object) -> None:
        """Keep something that the agent told beside its reply, such as a thought or a plan."""
        entry = {"timestamp": now(), "kind": kind, **facts}
        if len(self._updates) >= _MOST_UPDATES:
            self._left_out += 1
            return
        text = strict_json.dumps(strict_json.plain(entry))
        if len(text) > _LONGEST_UPDATE:
            entry = {"timestamp": entry["timestamp"], "kind": kind, "cut": excerpt(text, 500)}
        self._updates.append(entry)

    def _gather_usage(self) -> Usage:
        return self.used

    def gather_traces(self) -> JsonObject:
        told = {"updates": list(self._updates), "updates_left_out": self._left_out}
        if self._served is not None:
            told["asked_for_tools"] = self._served.gate.was_listed
        return {**super().gather_traces(), **told}

    def gather_config(self) -> JsonObject:
        ways = ["first message", *(["MCP prompt"] if self.tools else [])]
        return {
            **super().gather_config(),
            "about": self.about,
            "tool_names": list(self.tools),
            "policy_in": ways if self.policy is not None else [],
            "turn_timeout": self.turn_timeout,
        }


def run_without_clock(work: Any) -> Any:
    """Run async work that must be done although the simulation's time is over."""
    return Context().run(partial(run_async, work))
