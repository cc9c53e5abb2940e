"""smolagents: its agents, tools for them, and a user they can ask."""

from maseval.interface.agents.smolagents.adapter import SmolAgentAdapter
from maseval.interface.agents.smolagents.tools import as_tools
from maseval.interface.agents.smolagents.user import SmolAgentLLMUser

__all__ = ["SmolAgentAdapter", "SmolAgentLLMUser", "as_tools"]
