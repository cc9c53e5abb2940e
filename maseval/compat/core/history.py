"""The histories of messages and tool calls: ``maseval.core.messages``."""

from maseval.core.messages import MessageHistory, ToolInvocationHistory

__all__ = ["MessageHistory", "ToolInvocationHistory"]
