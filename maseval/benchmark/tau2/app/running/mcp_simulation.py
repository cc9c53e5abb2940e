"""A simulation whose agent comes from outside, and is waited for.

It begins when the agent first reads what the customer says, since many MCP clients start their
servers long before they need them, or only to see what there is.
"""

import time
from collections.abc import Callable

from maseval.app.results.results import RunResult
from maseval.benchmark.tau2.app.running.options import OnResult
from maseval.benchmark.tau2.app.running.own_agents import AgentBrief, MakeAgent
from maseval.benchmark.tau2.app.running.simulation_thread import SimulationThread, wait_until
from maseval.core.exceptions import MASEvalError
from maseval.interface.agents.mcp import McpAgentAdapter
from maseval.interface.agents.mcp.conversation import Conversation

# How long a server stays reachable: after the last call of an agent that knows of the end, and of
# one that does not, because it was busy when its time was up.
_LINGER_SECONDS = 2.0
_ABSENCE_SECONDS = 60.0


class McpAgent:
    """Makes the agent of the run; its name is what the run's configuration says of the agent."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def __call__(self, brief: AgentBrief) -> McpAgentAdapter:
        return McpAgentAdapter(self._conversation, brief.tools, str(brief.args["name"]))


class McpSimulation:
    """The run of the task, in a thread of its own."""

    def __init__(
        self,
        run: Callable[[MakeAgent], RunResult],
        briefing: str,
        on_result: OnResult,
    ) -> None:
        self._thread = SimulationThread(
            lambda: run(McpAgent(self.conversation)),
            # A client may end this process as soon as it hears of the end.
            lambda words: self.conversation.end(words),
            on_result,
        )
        self.conversation = Conversation(self._thread.start, briefing)

    def is_long_over(self) -> bool:
        """Whether there is nothing more to be done for the agent."""
        patience = _LINGER_SECONDS if self.conversation.knows_end else _ABSENCE_SECONDS
        silence = time.monotonic() - self.conversation.last_heard
        return self._thread.is_over and silence > patience

    def leave(self, why: MASEvalError) -> None:
        """Let the simulation end if it has not; waits until it is recorded."""
        self.conversation.leave(why)
        if self.conversation.is_begun:
            wait_until(lambda: self._thread.is_over)

    def outcome(self) -> RunResult | None:
        """What became of it; raises what kept it from being run."""
        return self._thread.outcome()
