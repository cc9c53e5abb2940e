"""An agent of the OpenAI Agents SDK: pip install '.[openai-agents]'

maseval tau2 run --domain retail --rehearse gold \\
    --agent examples/systems/with_openai_agents.py:agent
"""

from agents import Agent, OpenAIChatCompletionsModel
from openai import AsyncOpenAI

from maseval.benchmark.tau2 import AgentBrief
from maseval.interface.agents.openai_agents import OpenAIAgentsAdapter, as_tools


def agent(brief: AgentBrief) -> OpenAIAgentsAdapter:
    client = AsyncOpenAI(base_url=brief.model.base_url, api_key=brief.model.api_key)
    clerk = Agent(
        "agent",
        instructions=brief.policy,
        model=OpenAIChatCompletionsModel(brief.model.name, client),
        tools=as_tools(brief.tools),
    )
    return OpenAIAgentsAdapter(clerk, "agent")
