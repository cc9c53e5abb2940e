"""A simulated user that an agent can ask by a tool."""

from collections.abc import Callable
from typing import Any

from maseval.interface.agents.asking import AskedLLMUser
from maseval.interface.agents.llamaindex.run import as_tools


class LlamaIndexLLMUser(AskedLLMUser):
    """A simulated user whom an agent of LlamaIndex can ask, by one of its tools."""

    def _as_tool(self, function: Callable[[str], str]) -> Any:
        return as_tools([function])[0]
