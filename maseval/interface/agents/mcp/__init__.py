"""MCP: agents that connect as MCP clients, and tools served to any agent that speaks MCP."""

from maseval.interface.agents.mcp.adapter import McpAgentAdapter, conversation_server
from maseval.interface.agents.mcp.conversation import Conversation
from maseval.interface.agents.mcp.tools import ServedTools, serve_tools

__all__ = ["Conversation", "McpAgentAdapter", "ServedTools", "conversation_server", "serve_tools"]
