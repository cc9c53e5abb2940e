"""tau2 with the reference agent: a model with the domain's policy and tools.

python examples/tau2_benchmark/default_agent.py --scripted
python examples/tau2_benchmark/default_agent.py --model gpt-4.1 --user-model gpt-4.1
"""

from rehearse import main

from maseval.benchmark.tau2 import AgentBrief, DefaultTau2Agent, DefaultTau2AgentAdapter


def agent(brief: AgentBrief) -> DefaultTau2AgentAdapter:
    return DefaultTau2AgentAdapter(
        DefaultTau2Agent(brief.tools, brief.policy, brief.chat_model(), {"temperature": 0.0})
    )


if __name__ == "__main__":
    main(agent)
