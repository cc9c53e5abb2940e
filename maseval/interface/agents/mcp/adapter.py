"""McpAgentAdapter: an agent that connects to us as the client of an MCP server.

Claude Code, an editor or a script connects and finds the tools of its task, and two more to talk to
the customer. The benchmark calls its agent as usual; a ``Conversation`` connects the two.
"""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from maseval.core.agent import AgentAdapter, AgentObserver
from maseval.core.event_loop import in_thread
from maseval.core.exceptions import ConfigurationError
from maseval.interface.agents.mcp.conversation import Conversation
from maseval.interface.agents.mcp.tools import mcp_server
from maseval.interface.agents.mcp.transports import McpServer
from maseval.interface.agents.tools import Tools, described


class McpAgentAdapter(AgentAdapter):
    """The agent at the other end of a conversation, as the engine sees it."""

    agent: Conversation

    def __init__(
        self,
        conversation: Conversation,
        tools: Tools,
        name: str = "mcp_agent",
        callbacks: Iterable[AgentObserver] | None = None,
    ) -> None:
        super().__init__(conversation, name, callbacks)
        conversation.join(tools)
        self.messages = conversation.history

    def _run_agent(self, query: str) -> str:
        return self.agent.ask(query)

    def gather_config(self) -> dict[str, Any]:
        return {**super().gather_config(), "mcp_client": self.agent.client}


def conversation_server(
    conversation: Conversation, tools: Tools, *, name: str, instructions: str | None = None
) -> McpServer:
    """An MCP server through which an agent takes part: its tools, and two to talk to the customer.

    ``tools`` only describes the tools; calls go to those that the conversation was joined with.
    """
    talking: dict[str, Callable[..., Awaitable[str]]] = {
        "read_customer": conversation.read_customer,
        "reply_to_customer": conversation.reply_to_customer,
    }
    offered = described(tools)
    for tool in offered:
        if tool.name in talking:
            raise ConfigurationError(
                f"a tool is named {tool.name!r}, which is reserved for talking to the customer; "
                "give it another name"
            )

    async def call(name: str, arguments: dict[str, object], client: str | None) -> str:
        conversation.client = client or conversation.client
        if name in talking:
            return await talking[name](**arguments)
        return await in_thread(partial(conversation.call, name, arguments))

    return mcp_server([*described(talking), *offered], call, name=name, instructions=instructions)
