"""A ToolCallingAgent of smolagents: pip install '.[smolagents]'

maseval tau2 run --domain retail --agent examples/systems/with_smolagents.py:agent --rehearse gold
"""

from smolagents import LogLevel, OpenAIModel, ToolCallingAgent

from maseval.benchmark.tau2 import AgentBrief
from maseval.interface.agents.smolagents import SmolAgentAdapter, as_tools


def agent(brief: AgentBrief) -> SmolAgentAdapter:
    model = OpenAIModel(
        brief.model.name, api_base=brief.model.base_url, api_key=brief.model.api_key
    )
    clerk = ToolCallingAgent(
        tools=as_tools(brief.tools),
        model=model,
        instructions=brief.policy,
        max_steps=100,  # for each turn of the customer; by default 20
        verbosity_level=LogLevel.OFF,
    )
    return SmolAgentAdapter(clerk, "agent")
