"""A simulation whose agent comes from outside, and is waited for: the run of one task in a thread.

It begins when the agent first reads what the customer says, since many MCP clients start their
servers long before they need them, or only to see what there is.
"""

import threading
import time
from collections.abc import Callable

from maseval.benchmark.tau2.forms.simulation import TerminationReason
from maseval.commands.results import RunResult, SimulationLine, lines_of
from maseval.commands.tau2.options import OnResult
from maseval.commands.tau2.own_agents import AgentBrief, MakeAgent
from maseval.core.exceptions import MASEvalError
from maseval.core.report import TaskExecutionStatus
from maseval.interface.agents.mcp import McpAgentAdapter
from maseval.interface.agents.mcp.conversation import Conversation
from maseval.runs import RunFolder

# How long a server stays reachable: after the last call of an agent that knows of the end, and of
# one that does not, because it was busy when its time was up.
_LINGER_SECONDS = 2.0
_ABSENCE_SECONDS = 60.0
_TICK = 0.1


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
        self.conversation = Conversation(self._begin, briefing)
        self._run_for = run
        self._on_result = on_result
        self._result: RunResult | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="maseval-simulation")
        self._over = threading.Event()

    def _begin(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result = self._run_for(McpAgent(self.conversation))
            how = _ended(self._result)
        except Exception as error:  # for the thread that waits; this one has nobody to tell
            self._error = error
            how = "the simulation could not be run"
        words = f"The conversation is over: {how}."
        try:
            if self._result is not None:
                self._on_result(self._result, words)
        finally:
            # Last: a client may end this process as soon as it hears of the end.
            self.conversation.end(words)
            self._over.set()

    def is_long_over(self) -> bool:
        """Whether there is nothing more to be done for the agent."""
        patience = _LINGER_SECONDS if self.conversation.knows_end else _ABSENCE_SECONDS
        silence = time.monotonic() - self.conversation.last_heard
        return self._over.is_set() and silence > patience

    def leave(self, why: MASEvalError) -> None:
        """Let the simulation end if it has not; waits until it is recorded."""
        self.conversation.leave(why)
        if self.conversation.is_begun:
            wait_until(self._over.is_set)

    def outcome(self) -> RunResult | None:
        """What became of it; raises what kept it from being run."""
        if self._error is not None:
            raise self._error
        return self._result


_WAYS_TO_END = {
    TerminationReason.USER_STOP: "the customer has left",
    TerminationReason.MAX_STEPS: "the limit of steps is reached",
    TerminationReason.TOO_MANY_ERRORS: "too many tool calls have failed",
    TerminationReason.TIMEOUT: "the time for it is up",
}


def _ended(result: RunResult) -> str:
    """How it ended, for the agent, which must not learn how it was judged."""
    if not result.ran:
        return "it had been held before, and is in the run folder"
    line = _line(result)
    if line is None:
        return "it was interrupted"
    if line.status == TaskExecutionStatus.TASK_TIMEOUT.value:
        return "the time for it is up"
    failed = f"it failed ({line.error or line.status})"
    return _WAYS_TO_END.get(TerminationReason(line.ended), failed) if line.ended else failed


def _line(result: RunResult) -> SimulationLine | None:
    return next(iter(lines_of(RunFolder.read(result.folder))), None)


def wait_until(condition: Callable[[], bool]) -> None:
    """Return once it holds."""
    # In short naps: on some systems nothing but the end of a wait lets Ctrl-C through.
    while not condition():
        time.sleep(_TICK)
