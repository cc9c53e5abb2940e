"""Pydantic AI: an ``Agent`` as the agent under evaluation."""

from maseval.interface.agents.pydantic_ai.adapter import PydanticAIAgentAdapter
from maseval.interface.agents.pydantic_ai.tools import as_tools

__all__ = ["PydanticAIAgentAdapter", "as_tools"]
