"""A user that a CAMEL agent can ask, and a user played by a CAMEL agent."""

from collections.abc import Callable
from typing import Any

from maseval.core.exceptions import UserError
from maseval.core.usage import Usage, UsageTrackableMixin
from maseval.core.user import User
from maseval.interface import extras
from maseval.interface.agents.asking import AskedLLMUser
from maseval.interface.agents.camel.adapter import CamelAgentAdapter
from maseval.interface.agents.camel.tools import as_tools
from maseval.interface.agents.framework import AgentGaveUpError


class CamelLLMUser(AskedLLMUser):
    """A simulated user that a CAMEL agent can ask through a ``FunctionTool``."""

    def _as_tool(self, function: Callable[[str], str]) -> Any:
        return as_tools([function])[0]


class CamelAgentUser(User, UsageTrackableMixin):
    """A user played by a ``ChatAgent``.

    It says ``initial_query`` first and is done after ``max_turns`` answers, or when one of the
    agent's terminators ends the conversation; from then on it answers with an empty text.
    """

    def __init__(
        self,
        user_agent: object,
        initial_query: str,
        name: str = "camel_agent_user",
        max_turns: int = 10,
    ) -> None:
        self.name = name
        self.initial_query = initial_query
        self.max_turns = max_turns
        self._adapter = CamelAgentAdapter(user_agent, name)
        self._turns_used = 0
        self._terminated = False

    def get_initial_query(self) -> str:
        return self.initial_query

    def respond(self, message: str) -> str:
        if self.is_done():
            return ""
        if not self._adapter.logs:
            self._remember_first_words()
        try:
            answer = str(self._adapter.run(message))
        except AgentGaveUpError as error:
            raise UserError(f"user {self.name!r}: {error.message}", component="user") from error
        self._turns_used += 1
        self._terminated = self._adapter.logs[-1]["terminated"]
        return answer

    def _remember_first_words(self) -> None:
        """Put the initial query into the agent's memory, so that it knows what it asked."""
        messages = extras.load("camel.messages", extra="camel", package="camel-ai")
        said = messages.BaseMessage.make_assistant_message(self.name, self.initial_query)
        self._adapter.agent.record_message(said)

    def is_done(self) -> bool:
        return self._terminated or self._turns_used >= self.max_turns

    def gather_usage(self) -> Usage:
        return self._adapter.gather_usage()

    def gather_traces(self) -> dict[str, Any]:
        traces = {"name": self.name, "turns_used": self._turns_used, "max_turns": self.max_turns}
        traces |= {"logs": list(self._adapter.logs), "agent_type": self._agent_type}
        return {**super().gather_traces(), **traces}

    def gather_config(self) -> dict[str, Any]:
        config = {"name": self.name, "max_turns": self.max_turns, "agent_type": self._agent_type}
        return {**super().gather_config(), **config, "initial_query": self.initial_query[:200]}

    @property
    def _agent_type(self) -> str:
        return type(self._adapter.agent).__name__
