"""tau2 with an agent of smolagents. Install it with: pip install '.[smolagents]'

Without a key, with a scripted model; then with a real one:

    python examples/tau2_benchmark/tau2_smolagents.py --scripted
    python examples/tau2_benchmark/tau2_smolagents.py --model gpt-4.1 --user-model gpt-4.1
"""

from rehearse import main, needing

from maseval.benchmark.tau2 import AgentBrief
from maseval.interface.agents.smolagents import SmolAgentAdapter, as_tools

with needing("smolagents"):
    from smolagents import LogLevel, OpenAIModel, ToolCallingAgent


def agent(brief: AgentBrief) -> SmolAgentAdapter:
    model = OpenAIModel(
        brief.model.name,
        api_base=brief.model.base_url,
        api_key=brief.model.api_key,
        temperature=0.0,
    )
    clerk = ToolCallingAgent(
        tools=as_tools(brief.tools),
        model=model,
        instructions=brief.policy,
        max_steps=100,  # for each turn of the customer; by default 20
        verbosity_level=LogLevel.OFF,
    )
    return SmolAgentAdapter(clerk, "smolagents")


if __name__ == "__main__":
    main(agent)
