"""A ChatAgent of CAMEL: pip install '.[camel]'

maseval tau2 run --domain retail --agent examples/systems/with_camel.py:agent --rehearse gold
"""

from camel.agents import ChatAgent
from camel.models import ModelFactory

from maseval.benchmark.tau2 import AgentBrief
from maseval.interface.agents.camel import CamelAgentAdapter, as_tools, token_counter


def agent(brief: AgentBrief) -> CamelAgentAdapter:
    model = ModelFactory.create(
        "openai-compatible-model",
        brief.model.name,
        url=brief.model.base_url or "https://api.openai.com/v1",
        api_key=brief.model.api_key,
        token_counter=token_counter(),
    )
    model.preprocess_messages = list  # otherwise CAMEL reorders calls and results
    clerk = ChatAgent(
        brief.policy,
        model,
        tools=as_tools(brief.tools),
        token_limit=100_000,
        summarize_threshold=None,
    )
    return CamelAgentAdapter(clerk, "agent")
