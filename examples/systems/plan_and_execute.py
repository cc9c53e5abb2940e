"""Plan and execute: one model plans without tools, another one carries the plan out.

maseval tau2 run --domain retail --agent examples/systems/plan_and_execute.py:agent --rehearse gold

Whenever the customer has spoken, the planner says what to do next; it knows what the customer was
told before. The executor reads the plan beside the customer's words, and acts.
"""

from tool_loop import INSTRUCTIONS, ToolLoop

from maseval import AgentAdapter
from maseval.benchmark.tau2 import AgentBrief

PLANNING = """You plan the work of a customer service agent, who obeys this policy:

{policy}

The agent has these tools: {tools}"""
REQUEST = """{said}The customer says:
{query}

What should the agent do next, in a few short steps?"""
NOTE = "{query}\n\n(A note from your planner, which the customer does not see:\n{plan})"


class PlanAndExecute(AgentAdapter):
    """The two of them as one agent."""

    def __init__(self, planner: ToolLoop, executor: ToolLoop) -> None:
        super().__init__((planner, executor), "plan_and_execute")
        self.said = ""

    def _run_agent(self, query: str) -> str:
        planner, executor = self.agent
        plan = planner.run(REQUEST.format(said=self.said, query=query))
        answer = executor.run(NOTE.format(query=query, plan=plan))
        self.said = f"The agent told the customer:\n{answer}\n\n"
        return answer


def agent(brief: AgentBrief) -> tuple[list[AgentAdapter], dict[str, AgentAdapter]]:
    planning = PLANNING.format(policy=brief.policy, tools=", ".join(brief.tools))
    planner = ToolLoop(brief.chat_model("planner_model"), {}, planning, "planner")
    acting = INSTRUCTIONS.format(policy=brief.policy)
    executor = ToolLoop(brief.chat_model("executor_model"), brief.tools, acting, "executor")
    both = {"planner": planner, "executor": executor}
    return [PlanAndExecute(planner, executor)], both
