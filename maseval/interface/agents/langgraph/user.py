"""A simulated user that a graph can ask through a tool."""

from collections.abc import Callable
from typing import Any

from maseval.interface.agents.asking import AskedLLMUser
from maseval.interface.agents.langgraph.tools import as_tools


class LangGraphLLMUser(AskedLLMUser):
    """A simulated user that an agent can ask through a LangChain tool."""

    def _as_tool(self, function: Callable[[str], str]) -> Any:
        return as_tools([function])[0]
