"""A simulated user that an agent can ask through smolagents' own tool."""

from collections.abc import Callable
from functools import cache
from typing import Any

from maseval.core.user import LLMUser
from maseval.interface import extras
from maseval.interface.agents.smolagents.tools import EXTRA


class SmolAgentLLMUser(LLMUser):
    """A simulated user that the agent can ask through a tool."""

    def get_tool(self) -> Any:
        """smolagents' ``user_input``, answered by this user."""
        return _user_tool_class(extras.load("smolagents", extra=EXTRA).UserInputTool)(self)


@cache
def _user_tool_class(base: type) -> Callable[[LLMUser], object]:
    class AskUserTool(base):  # type: ignore[misc]
        def __init__(self, user: LLMUser) -> None:
            super().__init__()
            self.user: LLMUser = user

        def forward(self, question: str) -> str:
            return self.user.respond(question)

    return AskUserTool
