"""LlamaIndex: agents, workflows of agents, and engines that can chat or be queried."""

from maseval.interface.agents.llamaindex.adapter import LlamaIndexAgentAdapter
from maseval.interface.agents.llamaindex.run import as_tools
from maseval.interface.agents.llamaindex.user import LlamaIndexLLMUser

__all__ = ["LlamaIndexAgentAdapter", "LlamaIndexLLMUser", "as_tools"]
