"""ReAct: the tool loop, with a thought written down before every action (Yao et al., 2022).

maseval tau2 run --domain retail --agent examples/systems/react.py:agent --rehearse gold

The thoughts stay in the agent's own conversation; the customer reads what stands below them.
"""

import re

from tool_loop import INSTRUCTIONS, ToolLoop

from maseval.benchmark.tau2 import AgentBrief

THINKING = """

Before everything that you do, write one line that begins with "Thought:" and says what you know,
what is missing, and what you do next. Then call tools, or write below it what the customer shall
read."""


class ReAct(ToolLoop):
    """Thinks aloud, to itself."""

    def _run_agent(self, query: str) -> str:
        text = super()._run_agent(query)
        return re.sub(r"^Thought:.*$", "", text, flags=re.M).strip()


def agent(brief: AgentBrief) -> ReAct:
    instructions = INSTRUCTIONS.format(policy=brief.policy) + THINKING
    return ReAct(brief.chat_model(), brief.tools, instructions)
