"""CAMEL: a ``ChatAgent`` as the agent under evaluation, or as the user it talks to."""

from maseval.interface.agents.camel.adapter import CamelAgentAdapter
from maseval.interface.agents.camel.tools import as_tools, token_counter
from maseval.interface.agents.camel.user import CamelAgentUser, CamelLLMUser

__all__ = ["CamelAgentAdapter", "CamelAgentUser", "CamelLLMUser", "as_tools", "token_counter"]
