"""OpenAI Agents SDK: one agent, or several with handoffs."""

from maseval.interface.agents.openai_agents.adapter import OpenAIAgentsAdapter
from maseval.interface.agents.openai_agents.tools import as_tools

__all__ = ["OpenAIAgentsAdapter", "as_tools"]
