"""A simulated user as a tool of LlamaIndex."""

from collections.abc import Callable
from typing import Any

from maseval.interface.agents.asking import AskedLLMUser
from maseval.interface.agents.llamaindex.run import as_tools


class LlamaIndexLLMUser(AskedLLMUser):
    """A simulated user that a LlamaIndex agent can ask through a tool."""

    def _as_tool(self, function: Callable[[str], str]) -> Any:
        return as_tools([function])[0]
