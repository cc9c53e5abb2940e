"""Two agents against one: a planner and an executor, compared with the executor alone.

    python examples/tau2_benchmark/planner_executor.py --scripted
    python examples/tau2_benchmark/planner_executor.py --model gpt-4.1 --user-model gpt-4.1

The planner has no tools. Whenever the customer has spoken it says what to do next; the executor
reads that beside the customer's words, and acts. Both systems run on the same tasks, so the
difference between them is told with its error bar.
"""

from rehearse import main

from maseval import AgentAdapter, MessageHistory, ModelAdapter
from maseval.benchmark.tau2 import AgentBrief, DefaultTau2Agent, DefaultTau2AgentAdapter

PLANNING = "You plan the work of a customer service agent, who obeys this policy:\n\n{policy}"
REQUEST = "The customer says:\n{query}\n\nWhat should the agent do next, in a few short steps?"
NOTE = "{query}\n\n(A note from your planner, which the customer does not see:\n{plan})"


class Planner(AgentAdapter):
    """A model that remembers what the customer said, and plans."""

    def __init__(self, model: ModelAdapter, policy: str) -> None:
        super().__init__(model, "planner")
        self.messages = MessageHistory()
        self.messages.add_message("system", PLANNING.format(policy=policy))

    def _run_agent(self, query: str) -> str:
        self.messages.add_message("user", REQUEST.format(query=query))
        plan = self.agent.chat(self.messages).content or ""
        self.messages.add_message("assistant", plan)
        return plan


class Pair(AgentAdapter):
    """The two of them as one agent: every turn is planned, then carried out."""

    def __init__(self, planner: Planner, executor: AgentAdapter) -> None:
        super().__init__((planner, executor), "pair")

    def _run_agent(self, query: str) -> str:
        planner, executor = self.agent
        return executor.run(NOTE.format(query=query, plan=planner.run(query)))


def single(brief: AgentBrief) -> AgentAdapter:
    model = brief.chat_model("executor_model")
    return DefaultTau2AgentAdapter(DefaultTau2Agent(brief.tools, brief.policy, model), "executor")


def pair(brief: AgentBrief) -> tuple[list[AgentAdapter], dict[str, AgentAdapter]]:
    planner, executor = Planner(brief.chat_model("planner_model"), brief.policy), single(brief)
    return [Pair(planner, executor)], {"planner": planner, "executor": executor}


if __name__ == "__main__":
    main(single, pair)
