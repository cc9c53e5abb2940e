"""A LangGraph agent, made by LangChain's create_agent: pip install '.[langgraph]'

maseval tau2 run --domain retail --agent examples/systems/with_langgraph.py:agent --rehearse gold
"""

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from maseval.benchmark.tau2 import AgentBrief
from maseval.interface.agents.langgraph import LangGraphAgentAdapter, as_tools


def agent(brief: AgentBrief) -> LangGraphAgentAdapter:
    model = ChatOpenAI(
        model=brief.model.name, base_url=brief.model.base_url, api_key=brief.model.api_key
    )
    graph = create_agent(model, as_tools(brief.tools), system_prompt=brief.policy)
    return LangGraphAgentAdapter(graph, "agent")
