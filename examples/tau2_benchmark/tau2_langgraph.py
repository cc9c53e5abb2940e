"""tau2 with a LangGraph agent, made by LangChain's create_agent.

pip install '.[langgraph]'
python examples/tau2_benchmark/tau2_langgraph.py --scripted
python examples/tau2_benchmark/tau2_langgraph.py --model gpt-4.1 --user-model gpt-4.1
"""

from rehearse import main, needing

from maseval.benchmark.tau2 import AgentBrief
from maseval.interface.agents.langgraph import LangGraphAgentAdapter, as_tools

with needing("langgraph"):
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI


def agent(brief: AgentBrief) -> LangGraphAgentAdapter:
    model = ChatOpenAI(
        model=brief.model.name, base_url=brief.model.base_url, api_key=brief.model.api_key
    )
    graph = create_agent(model, as_tools(brief.tools), system_prompt=brief.policy)
    return LangGraphAgentAdapter(graph, "agent")


if __name__ == "__main__":
    main(agent)
