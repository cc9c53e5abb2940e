"""LangGraph: any compiled graph whose state has ``messages``, such as LangChain's agents."""

from maseval.interface.agents.langgraph.adapter import LangGraphAgentAdapter
from maseval.interface.agents.langgraph.tools import as_tools
from maseval.interface.agents.langgraph.user import LangGraphLLMUser

__all__ = ["LangGraphAgentAdapter", "LangGraphLLMUser", "as_tools"]
