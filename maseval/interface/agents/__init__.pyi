from maseval.interface.agents.a2a import A2AAgentAdapter as A2AAgentAdapter
from maseval.interface.agents.acp import ACPAgentAdapter as ACPAgentAdapter
from maseval.interface.agents.camel import CamelAgentAdapter as CamelAgentAdapter
from maseval.interface.agents.camel import CamelAgentUser as CamelAgentUser
from maseval.interface.agents.camel import CamelLLMUser as CamelLLMUser
from maseval.interface.agents.camel import CamelRolePlayingTracer as CamelRolePlayingTracer
from maseval.interface.agents.camel import CamelWorkforceTracer as CamelWorkforceTracer
from maseval.interface.agents.camel import (
    camel_role_playing_execution_loop as camel_role_playing_execution_loop,
)
from maseval.interface.agents.chat_completions import (
    ChatCompletionsAgentAdapter as ChatCompletionsAgentAdapter,
)
from maseval.interface.agents.framework import AgentGaveUpError as AgentGaveUpError
from maseval.interface.agents.langgraph import LangGraphAgentAdapter as LangGraphAgentAdapter
from maseval.interface.agents.langgraph import LangGraphLLMUser as LangGraphLLMUser
from maseval.interface.agents.llamaindex import LlamaIndexAgentAdapter as LlamaIndexAgentAdapter
from maseval.interface.agents.llamaindex import LlamaIndexLLMUser as LlamaIndexLLMUser
from maseval.interface.agents.mcp import McpAgentAdapter as McpAgentAdapter
from maseval.interface.agents.mcp import serve_tools as serve_tools
from maseval.interface.agents.openai_agents import OpenAIAgentsAdapter as OpenAIAgentsAdapter
from maseval.interface.agents.pydantic_ai import PydanticAIAgentAdapter as PydanticAIAgentAdapter
from maseval.interface.agents.smolagents import SmolAgentAdapter as SmolAgentAdapter
from maseval.interface.agents.smolagents import SmolAgentLLMUser as SmolAgentLLMUser
