"""An agent of Pydantic AI: pip install '.[pydantic-ai]'

maseval tau2 run --domain retail --agent examples/systems/with_pydantic_ai.py:agent --rehearse gold
"""

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from maseval.benchmark.tau2 import AgentBrief
from maseval.interface.agents.pydantic_ai import PydanticAIAgentAdapter, as_tools


def agent(brief: AgentBrief) -> PydanticAIAgentAdapter:
    model = OpenAIChatModel(
        brief.model.name,
        provider=OpenAIProvider(base_url=brief.model.base_url, api_key=brief.model.api_key),
        profile={"json_schema_transformer": None},  # the schemas that every other agent sees
    )
    clerk = Agent(model, instructions=brief.policy, tools=as_tools(brief.tools))
    return PydanticAIAgentAdapter(clerk, "agent")
