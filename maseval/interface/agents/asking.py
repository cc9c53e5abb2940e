"""A simulated user that an agent can ask through a tool of its framework."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from maseval.core.user import LLMUser


class AskedLLMUser(LLMUser):
    """A user played by a model; ``get_tool`` returns it as a framework's tool ``ask_user``."""

    def get_tool(self) -> Any:
        """The user as a tool, for agents that ask questions while they work."""

        def ask_user(question: str) -> str:
            """Ask the user a question and wait for the answer.

            Args:
                question: What to ask.
            """
            return self.respond(question)

        return self._as_tool(ask_user)

    @abstractmethod
    def _as_tool(self, function: Callable[[str], str]) -> Any:
        """The function as a tool of the framework."""
